"""Hinges between every positive pair and every pair of two further classes, exact, without ever listing a quadruplet.

A batch has up to n^4 quadruplets (a, p, n, l). They are counted by searching each distance d_nl among the thresholds
d_ap + margin of all classes, and taking back what it passes among those of its own two: O(n^2 log n) time, O(n^2)
memory.
"""

from typing import NamedTuple

import numba
import numpy as np
import torch
from torch import Tensor

from fairground.functional.pairs import Positives, class_groups
from fairground.kernels.hinges import TupleHinges

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
    thresholds = _Thresholds(values, values[by_key], keys, size.cumsum(0) - size, size)

    slopes = torch.zeros_like(matrix)
    count = _count_compiled if matrix.is_cpu else _count
    passed, passed_own, cost = count(matrix, group, thresholds, slopes)
    # A threshold is above all the pairs that pass no more thresholds than come before it.
    n_below = passed.cumsum(0)[: len(own)]
    n_below.index_add_(0, by_key, _cumulative_by_class(passed_own, thresholds), alpha=-1)
    slopes[anchor, positive] = n_below.to(slopes.dtype)
    return TupleHinges((values * n_below).sum() - cost, n_below.sum(), slopes)


class _Thresholds(NamedTuple):
    """`ordered` (t,): all thresholds. `by_class` (t,): the same, class by class.

    `keys` (t,): class * (t + 1) + rank of each, sorted, so that one search finds a place within a class. `first`,
    `size` (c,): where a class begins among `by_class` and `keys`, and how many it has.
    """

    ordered: Tensor
    by_class: Tensor
    keys: Tensor
    first: Tensor
    size: Tensor

    def passed_of(self, group: Tensor, n_passed: Tensor) -> Tensor:
        """Return how many thresholds of a class are among the lowest `n_passed` of all."""
        return torch.searchsorted(self.keys, group * (len(self.keys) + 1) + n_passed) - self.first[group]


def _count(matrix: Tensor, group: Tensor, thresholds: _Thresholds, slopes: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return how many pairs pass so many thresholds (t + 1,), and so many of a class of their own (t + c,).

    Each class has one place more than thresholds: to have passed all of one is not to have passed none of the next.
    Writes minus the number of active quadruplets of each pair into `slopes`, and returns its sum times the distance.
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
            passed_own += torch.bincount(thresholds.first[own] + own + own_passed, minlength=t + c)
        weights = n_above.to(matrix.dtype)
        cost += (weights * values).sum()
        slopes[first, second] = -weights
    return passed, passed_own, cost


def _count_compiled(
    matrix: Tensor, group: Tensor, thresholds: _Thresholds, slopes: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Do what `_count` does, pair by pair."""
    ordered, by_class, _, first, size = (part.numpy() for part in thresholds)
    passed = group.new_zeros(len(ordered) + 1)
    passed_own = group.new_zeros(len(ordered) + len(size))
    cost = _search_pairs(
        matrix.numpy(),
        group.numpy(),
        ordered,
        by_class,
        first,
        size,
        passed.numpy(),
        passed_own.numpy(),
        slopes.numpy(),
    )
    return passed, passed_own, matrix.new_full((), cost)


def _cumulative_by_class(passed: Tensor, thresholds: _Thresholds) -> Tensor:
    """Return the cumulative sums (t,) within each class, given (t + c,) with one place more for each class."""
    c = len(thresholds.size)
    own = torch.repeat_interleave(thresholds.size)
    sums = passed.cumsum(0)
    first = thresholds.first + torch.arange(c, device=passed.device)
    before = sums[first] - passed[first]
    return sums[torch.arange(len(own), device=passed.device) + own] - before[own]


@numba.njit(nogil=True, cache=True)
def _search_pairs(
    matrix: np.ndarray,
    group: np.ndarray,
    ordered: np.ndarray,
    by_class: np.ndarray,
    first: np.ndarray,
    size: np.ndarray,
    passed: np.ndarray,
    passed_own: np.ndarray,
    slopes: np.ndarray,
) -> float:
    t = len(ordered)
    cost = 0.0
    for i in range(len(matrix) if t > 0 else 0):
        for j in range(i + 1, len(matrix)):
            value = matrix[i, j]
            # Most pairs of a trained network are farther apart than any threshold, and count nowhere.
            if group[i] == group[j] or value >= ordered[t - 1]:
                continue
            n_passed = _n_up_to(ordered, 0, t, value)
            passed[n_passed] += 1
            n_above = t - n_passed
            for c in (group[i], group[j]):
                n_own = _n_up_to(by_class, first[c], first[c] + size[c], value)
                passed_own[first[c] + c + n_own] += 1
                n_above -= size[c] - n_own
            cost += n_above * float(value)
            slopes[i, j] = -n_above
    return cost


@numba.njit(nogil=True, cache=True)
def _n_up_to(ordered: np.ndarray, start: int, stop: int, value: float) -> int:
    """Return how many of ordered[start:stop] are at most `value`."""
    low, high = start, stop
    while low < high:
        middle = (low + high) >> 1
        if ordered[middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low - start
