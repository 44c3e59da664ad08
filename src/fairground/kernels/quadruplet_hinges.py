"""[m_ap - m_nl + margin]_+ summed over every positive pair and every pair of two further classes, and its gradient.

A batch has up to n^4 quadruplets (a, p, n, l). They are counted by searching each value m_nl among the thresholds
m_ap + margin of all classes, and taking back what it passes among those of its own two: O(n^2 log n) time, O(n^2)
memory. Equals `functional.hinges.quadruplet_hinges`.
"""

import numba
import numpy as np

from fairground.kernels.class_order import ClassOrder
from fairground.kernels.triplet_hinges import TupleHinges


def quadruplet_hinges(matrix: np.ndarray, order: ClassOrder, margin: float) -> TupleHinges:
    """Return the sum over all quadruplets, n and l in one order only, for a symmetric matrix."""
    anchor, positive = _positive_pairs(*order)
    thresholds = matrix[anchor, positive] + matrix.dtype.type(margin)
    ascending = np.argsort(thresholds, kind="stable")
    anchor, positive = anchor[ascending], positive[ascending]
    # A class goes by the place where it starts.
    return TupleHinges(*_count(matrix, order.start, order.start[anchor], thresholds[ascending], anchor, positive))


@numba.njit(nogil=True, cache=True)
def _positive_pairs(rows: np.ndarray, start: np.ndarray, stop: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return every ordered pair of different rows of one class."""
    n_pairs = int(np.sum(stop - start - 1))
    anchor, positive = np.empty(n_pairs, np.int64), np.empty(n_pairs, np.int64)
    pair = 0
    for a in range(len(rows)):
        for p in rows[start[a] : stop[a]]:
            if p != a:
                anchor[pair], positive[pair] = a, p
                pair += 1
    return anchor, positive


@numba.njit(nogil=True, cache=True)
def _count(
    matrix: np.ndarray,
    group: np.ndarray,
    own: np.ndarray,
    thresholds: np.ndarray,
    anchor: np.ndarray,
    positive: np.ndarray,
) -> tuple[float, float, np.ndarray]:
    """Return sum, number above 0 and gradient, given the class of every row and of every threshold, ascending."""
    t = len(thresholds)
    gradient = np.zeros_like(matrix)
    by_class, rank, first, size = _sort_by_class(thresholds, own, len(matrix))
    # How many values pass exactly so many thresholds, of all and of a class of their own. Each class has one slot more
    # than it has thresholds: to have passed all of one is not to have passed none of the next.
    n_passing, n_passing_own = np.zeros(t + 1, np.int64), np.zeros(t + len(matrix), np.int64)
    total = 0.0
    for i in range(len(matrix) if t > 0 else 0):
        for j in range(i + 1, len(matrix)):
            value = matrix[i, j]
            # Most pairs of a trained network are farther apart than any threshold, and count nowhere.
            if group[i] == group[j] or value >= thresholds[t - 1]:
                continue
            n_passed = _n_up_to(thresholds, 0, t, value)
            n_passing[n_passed] += 1
            n_above = t - n_passed
            for c in (group[i], group[j]):
                n_own = _n_up_to(by_class, first[c], first[c] + size[c], value)
                n_passing_own[first[c] + c + n_own] += 1
                n_above -= size[c] - n_own
            total -= n_above * float(value)
            gradient[i, j] = -n_above
    n_below = _below(n_passing, n_passing_own, rank, first, size)
    for r in range(t):
        total += n_below[r] * float(thresholds[r])
        gradient[anchor[r], positive[r]] = n_below[r]
    return total, float(np.sum(n_below)), gradient


@numba.njit(nogil=True, cache=True)
def _sort_by_class(
    thresholds: np.ndarray, own: np.ndarray, n_groups: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the thresholds class by class, their ranks among all, and where each class starts and its size."""
    size = np.zeros(n_groups, np.int64)
    for c in own:
        size[c] += 1
    first = np.cumsum(size) - size
    filled = first.copy()
    by_class, rank = np.empty_like(thresholds), np.empty(len(thresholds), np.int64)
    for r in range(len(thresholds)):
        by_class[filled[own[r]]] = thresholds[r]
        rank[filled[own[r]]] = r
        filled[own[r]] += 1
    return by_class, rank, first, size


@numba.njit(nogil=True, cache=True)
def _below(
    n_passing: np.ndarray, n_passing_own: np.ndarray, rank: np.ndarray, first: np.ndarray, size: np.ndarray
) -> np.ndarray:
    """Return how many values of two further classes lie below each threshold."""
    # A threshold is above all the values that pass no more thresholds than come before it.
    n_below = np.cumsum(n_passing)[: len(rank)]
    for c in range(len(first)):
        n_own = 0
        for k in range(size[c]):
            n_own += n_passing_own[first[c] + c + k]
            n_below[rank[first[c] + k]] -= n_own
    return n_below


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
