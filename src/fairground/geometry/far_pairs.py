"""Hinges between every positive pair and every pair of two further classes, exact, without ever listing a quadruplet.

A batch has up to n^4 quadruplets (a, p, n, l). They are counted by searching each distance d_nl among the thresholds
d_ap + margin of all classes, and taking back what it passes among those of its own two: O(n^2 log n) time, O(n^2)
memory.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from fairground.geometry.hinges import TupleHinges
from fairground.geometry.masks import class_groups
from fairground.geometry.positives import Positives

#: how many pairs are searched together: the answers are 64-bit
_BLOCK = 2**20


def far_pair_hinges(matrix: Tensor, labels: Tensor, positives: Positives, margin: float) -> TupleHinges:
    """Return the sum of [matrix_ap - matrix_nl + margin]_+ over all quadruplets.

    a and p are of one class, n and l of two others, n and l in one order only. `matrix` (n, n) is symmetric.
    """
    group, class_sizes = class_groups(labels)
    anchor, column = positives.exists.nonzero(as_tuple=True)
    positive = positives.rows[anchor, column]
    values, order = (matrix[anchor, positive] + margin).sort()
    anchor, positive = anchor[order], positive[order]
    own = group[anchor]
    keys, by_key = (own * (len(own) + 1) + torch.arange(len(own), device=own.device)).sort()
    size = torch.bincount(own, minlength=len(class_sizes))
    thresholds = _Thresholds(values, keys, size.cumsum(0) - size, size)

    slopes = torch.zeros_like(matrix)
    below_all, below_own, cost = _count_pairs(matrix, group, thresholds, slopes)
    n_below = below_all.index_add_(0, by_key, below_own, alpha=-1)
    slopes[anchor, positive] = n_below.to(slopes.dtype)
    return TupleHinges((values * n_below).sum() - cost, n_below.sum(), slopes)


class _Thresholds(NamedTuple):
    """`ordered` (t,): all thresholds. `keys` (t,): class * (t + 1) + rank of each, sorted, so that one search finds a
    place within a class. `first`, `size` (c,): where a class begins among the keys, and how many it has.
    """

    ordered: Tensor
    keys: Tensor
    first: Tensor
    size: Tensor

    def passed_of(self, group: Tensor, n_passed: Tensor) -> Tensor:
        """Return how many thresholds of a class are among the lowest `n_passed` of all."""
        return torch.searchsorted(self.keys, group * (len(self.keys) + 1) + n_passed) - self.first[group]


def _count_pairs(
    matrix: Tensor, group: Tensor, thresholds: _Thresholds, slopes: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Return, for every threshold, the pairs below it, and those of them that touch its class (by key).

    Subtracts from `slopes` the number of active quadruplets of each pair; also returns the sum of that times distance.
    """
    n, t, c = len(matrix), len(thresholds.ordered), len(thresholds.size)
    passed = group.new_zeros(t + 1)
    passed_own = group.new_zeros(t + c)
    cost = matrix.new_zeros(())
    step = max(1, _BLOCK // max(1, n))
    for start in range(0, n, step):
        # The later columns of these rows: every pair once.
        first, second = torch.triu_indices(min(step, n - start), n, offset=start + 1, device=group.device)
        first += start
        differs = group[first] != group[second]
        first, second = first[differs], second[differs]
        values = matrix[first, second]
        n_passed = torch.searchsorted(thresholds.ordered, values, right=True)
        n_above = t - n_passed
        passed += torch.bincount(n_passed, minlength=t + 1)
        for own in (group[first], group[second]):
            own_passed = thresholds.passed_of(own, n_passed)
            n_above -= thresholds.size[own] - own_passed
            # One place more for each class: to have passed all of one is not to have passed none of the next.
            passed_own += torch.bincount(thresholds.first[own] + own + own_passed, minlength=t + c)
        weights = n_above.to(matrix.dtype)
        cost += (weights * values).sum()
        slopes[first, second] = -weights
    # A threshold is above all the pairs that pass no more thresholds than come before it.
    return passed.cumsum(0)[:t], _cumulative_by_class(passed_own, thresholds), cost


def _cumulative_by_class(passed: Tensor, thresholds: _Thresholds) -> Tensor:
    """Return the cumulative sums (t,) within each class, given (t + c,) with one place more for each class."""
    c = len(thresholds.size)
    own = torch.repeat_interleave(thresholds.size)
    sums = passed.cumsum(0)
    first = thresholds.first + torch.arange(c, device=passed.device)
    before = sums[first] - passed[first]
    return sums[torch.arange(len(own), device=passed.device) + own] - before[own]
