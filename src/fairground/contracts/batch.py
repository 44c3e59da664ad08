"""One batch on its way through a training step."""

from collections.abc import Collection
from typing import NamedTuple

import torch
from torch import Tensor


class Batch(NamedTuple):
    """`labels` (b,) are 0..C-1, `rows` (b,) positions in the training split.

    `chunks` are the images for the trunk, (k, c, h, w) each: all of them in one chunk, or several that are made when
    they are asked for, the same each time.
    """

    chunks: Collection[Tensor]
    labels: Tensor
    rows: Tensor

    @property
    def images(self) -> Tensor:
        """The images (b, c, h, w) in one piece."""
        pieces = list(self.chunks)
        return pieces[0] if len(pieces) == 1 else torch.cat(pieces)
