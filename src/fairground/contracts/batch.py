"""One batch on its way through a training step, and samples mixed with partners inside a model."""

from collections.abc import Callable, Collection
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


class Mixing(NamedTuple):
    """Sample i becomes `weight` * i + (1 - weight) * `partner[i]`, before trained stage `stage` of the trunk.

    Stages are counted from the first that trains: 0 mixes images where all do.

    `gather` finds the partners where a batch is shared by several processes: it returns the full batch of each share.
    """

    weight: float
    partner: Tensor
    stage: int
    gather: Callable[[Tensor], Tensor] | None = None


def mix(hidden: Tensor, mixing: Mixing) -> Tensor:
    """Return every hidden state mixed with its partner's."""
    batch = hidden if mixing.gather is None else mixing.gather(hidden)
    return mixing.weight * hidden + (1 - mixing.weight) * batch[mixing.partner]
