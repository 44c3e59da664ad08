"""One batch on its way through a training step."""

from typing import NamedTuple

from torch import Tensor


class Batch(NamedTuple):
    """`images` (b, c, h, w) for the trunk, `labels` (b,) as 0..C-1, `rows` (b,) positions in the training split."""

    images: Tensor
    labels: Tensor
    rows: Tensor
