"""Sums of hinges over all pairs or all triplets of a batch, and their slopes, without ever listing a triplet.

The slope of a hinge is 0 or 1, so the slope of a sum of them is a count; both are found together, exactly, in O(n^2)
memory. The matrix may hold any comparison of row and column; the row is the anchor.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from fairground.functional.pairs import Positives

#: from this many positives a row on, one binary search per entry beats one comparison per entry and positive
_MANY = 64
#: how many entries are searched together: the answers are 64-bit
_BLOCK = 2**22


class TupleHinges(NamedTuple):
    """The sum of all hinges, how many are above 0, and the slope (n, n) of the sum at every entry of the matrix."""

    total: Tensor
    n_active: Tensor
    slopes: Tensor

    def mean(self, n: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return the sum over `n` hinges, those above 0 by default, and its slopes, in the place of the old ones."""
        n = (self.n_active if n is None else n).clamp_min(1)
        return self.total / n, self.slopes.div_(n)


class PairHinges(NamedTuple):
    """`near` (n, k) and `far` (n, n): the hinges of positive pairs and of negative pairs, 0 for all other entries."""

    near: Tensor
    far: Tensor

    def slopes(self, positives: Positives, pull: Tensor, push: Tensor) -> Tensor:
        """Return the slopes (n, n) of a loss that weighs hinges by `pull` and `push`, in the place of the hinges.

        The weights are one number, or one (n, 1) for each row.
        """
        return self.far.sign_().mul_(-push).scatter_add_(1, positives.rows, self.near.sign_().mul_(pull))


def pair_hinges(matrix: Tensor, positives: Positives, upper: Tensor | float, lower: Tensor | float) -> PairHinges:
    """Return [matrix - upper]_+ at positive pairs and [lower - matrix]_+ at negative pairs; borders may be (n, 1)."""
    near = torch.where(positives.exists, matrix.gather(1, positives.rows) - upper, 0).relu_()
    return PairHinges(near, (lower - negatives_only(matrix, positives)).relu_())


def triplet_hinges(matrix: Tensor, positives: Positives, margin: float) -> TupleHinges:
    """Return the sum of [matrix_ap - matrix_an + margin]_+ over all triplets."""
    # A negative takes part in as many active triplets as there are thresholds d_ap + margin above it.
    thresholds = torch.where(positives.exists, matrix.gather(1, positives.rows) + margin, -torch.inf)
    count = _count_few if thresholds.shape[1] < _MANY else _count_many
    total, n_below, n_above = count(thresholds, negatives_only(matrix, positives))
    return TupleHinges(total, n_below.sum(), n_above.neg_().scatter_add_(1, positives.rows, n_below))


def negatives_only(matrix: Tensor, positives: Positives) -> Tensor:
    """Return a copy with infinity wherever row and column are of one class."""
    return matrix.scatter(1, positives.rows, torch.inf).fill_diagonal_(torch.inf)


def _count_few(thresholds: Tensor, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the sum of [threshold - value]_+ within rows, values below each threshold, thresholds above each value."""
    total = values.new_zeros(())
    n_below = torch.empty_like(thresholds)
    n_above = torch.zeros_like(values)
    for j in range(thresholds.shape[1]):
        hinges = (thresholds[:, j : j + 1] - values).relu_()
        total += hinges.sum()
        n_above += hinges.sign_()
        torch.sum(hinges, 1, out=n_below[:, j])
    return total, n_below, n_above


def _count_many(thresholds: Tensor, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return what `_count_few` does, by searching every value among the sorted thresholds of its row."""
    k = thresholds.shape[1]
    ordered, order = thresholds.sort(1)
    n_below = torch.empty_like(thresholds)
    n_above = torch.empty_like(values)
    step = max(1, _BLOCK // values.shape[1])
    for first in range(0, len(values), step):
        block = slice(first, first + step)
        n_passed = torch.searchsorted(ordered[block], values[block], right=True)
        n_above[block] = k - n_passed
        # A threshold is above all the values that pass no more thresholds than come before it.
        m = len(n_passed)
        n_passed += torch.arange(m, device=values.device).unsqueeze(1) * (k + 1)
        histogram = torch.bincount(n_passed.view(-1), minlength=m * (k + 1)).view(m, k + 1)
        n_below[block] = histogram[:, :k].cumsum(1)
    above = torch.where(n_below > 0, ordered * n_below, 0).sum(1)
    below = torch.where(n_above > 0, values * n_above, 0).sum(1)
    return (above - below).sum(), torch.empty_like(n_below).scatter_(1, order, n_below), n_above
