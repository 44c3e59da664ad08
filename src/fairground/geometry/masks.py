"""Which pairs of a batch belong together: boolean matrices over ordered pairs."""

from typing import NamedTuple

import torch
from torch import Tensor


class PairMasks(NamedTuple):
    """`positive` (n, n): same label, not the same row. `negative` (n, n): other label."""

    positive: Tensor
    negative: Tensor


def pair_masks(labels: Tensor) -> PairMasks:
    """Return the positive and negative ordered pairs of a batch with itself."""
    same = labels.unsqueeze(1) == labels
    negative = ~same
    positive = same
    positive.fill_diagonal_(False)
    return PairMasks(positive, negative)


def class_groups(labels: Tensor) -> tuple[Tensor, Tensor]:
    """Return each row's class as 0..k-1 in sorted order of label, and the k class sizes."""
    _, group, sizes = torch.unique(labels, return_inverse=True, return_counts=True)
    return group, sizes
