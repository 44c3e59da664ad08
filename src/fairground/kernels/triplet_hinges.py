"""[m_ap - m_an + margin]_+ summed over all triplets of a matrix, and its gradient, without ever listing a triplet.

The derivative of a hinge is 0 or 1, so the gradient of a sum of them is a count; both are found together, exactly, in
O(n^2) memory. A hinge that is not a number counts as above 0. Equals `functional.hinges.triplet_hinges`.
"""

from typing import NamedTuple

import numba
import numpy as np

from fairground.kernels.class_order import ClassOrder
from fairground.kernels.distance_matrix import SUMS

#: from this class size on, searching among the sorted positives beats comparing every negative with each
MANY = 128


class TupleHinges(NamedTuple):
    """The sum of all hinges, how many are above 0, and the gradient (n, n) of the sum by the matrix."""

    total: float
    n_active: float
    gradient: np.ndarray

    def mean(self, n: float | None = None) -> tuple[float, np.ndarray]:
        """Return the sum over `n` hinges, those above 0 by default, and its gradient, in the place of the old one."""
        n = max(1.0, self.n_active if n is None else n)
        return self.total / n, np.divide(self.gradient, n, out=self.gradient)


def triplet_hinges(matrix: np.ndarray, order: ClassOrder, margin: float) -> TupleHinges:
    """Return the sum over all triplets; the matrix may hold any comparison of row and column, the row is the anchor."""
    return TupleHinges(*_count(matrix, *order, margin, MANY))


def looped_triplets(matrix: np.ndarray, order: ClassOrder, margin: float, *, swap: bool, smooth: bool) -> TupleHinges:
    """Return the sum with the smaller of m_an and m_pn (`swap`) or of log(1 + e^x) (`smooth`), triplet by triplet."""
    return TupleHinges(*_loop(matrix, *order, margin, swap, smooth))


@numba.njit(nogil=True, cache=True)
def _count(
    matrix: np.ndarray, rows: np.ndarray, start: np.ndarray, stop: np.ndarray, margin: float, many: int
) -> tuple[float, float, np.ndarray]:
    gradient = np.zeros_like(matrix)
    total, n_active = 0.0, 0.0
    for a in range(len(matrix)):
        own = rows[start[a] : stop[a]]
        gap = matrix.dtype.type(margin)
        if len(own) <= many:
            hinges, active = _compare_row(matrix[a], own, a, gap, gradient[a])
        else:
            hinges, active = _search_row(matrix[a], own, a, gap, gradient[a])
        total += hinges
        n_active += active
    return total, n_active, gradient


@numba.njit(nogil=True, cache=True, fastmath=SUMS)
def _compare_row(row: np.ndarray, own: np.ndarray, a: int, margin: float, gradient: np.ndarray) -> tuple[float, float]:
    """Return the sum and number of hinges above 0 of one anchor, every negative compared with each positive."""
    zero, one = row.dtype.type(0), row.dtype.type(1)
    far = row.copy()
    for p in own:
        far[p] = np.inf
    total, n_active = 0.0, 0.0
    for p in own:
        if p != a:
            hinges, count = zero, zero
            for j in range(len(far)):
                # In this order, a margin is not lost beside large numbers.
                hinge = row[p] - far[j] + margin
                hinges += zero if hinge <= zero else hinge
                count += zero if hinge <= zero else one
                gradient[j] -= zero if hinge <= zero else one
            gradient[p] = count
            total += hinges
            n_active += count
    return total, n_active


@numba.njit(nogil=True, cache=True)
def _search_row(row: np.ndarray, own: np.ndarray, a: int, margin: float, gradient: np.ndarray) -> tuple[float, float]:
    """Return the same, every negative searched among the sorted thresholds of the positives."""
    positives = own[own != a]
    order = np.argsort(row[positives], kind="mergesort")
    thresholds = row[positives][order] + margin
    is_negative = np.ones(len(row), np.bool_)
    is_negative[own] = False
    k = len(thresholds)
    # How many negatives, and what sum of them, lie above exactly so many thresholds.
    n_passing, sum_passing = np.zeros(k + 1), np.zeros(k + 1)
    for j in range(len(row)):
        if is_negative[j]:
            n_passed = np.searchsorted(thresholds, row[j], side="right")
            n_passing[n_passed] += 1
            sum_passing[0 if np.isnan(row[j]) else n_passed] += row[j]
            gradient[j] = n_passed - k
    total, n_active, n_below, sum_below = 0.0, 0.0, 0.0, 0.0
    for r in range(k):
        n_below += n_passing[r]
        sum_below += sum_passing[r]
        total += n_below * thresholds[r] - sum_below
        n_active += n_below
        gradient[positives[order[r]]] = n_below
    return total, n_active


@numba.njit(nogil=True, cache=True)
def _loop(
    matrix: np.ndarray,
    rows: np.ndarray,
    start: np.ndarray,
    stop: np.ndarray,
    margin: float,
    swap: bool,
    smooth: bool,
) -> tuple[float, float, np.ndarray]:
    gradient = np.zeros_like(matrix)
    is_negative = np.ones(len(matrix), np.bool_)
    total, n_active = 0.0, 0.0
    for a in range(len(matrix)):
        own = rows[start[a] : stop[a]]
        is_negative[own] = False
        for p in own:
            threshold = matrix[a, p] + matrix.dtype.type(margin)
            for n in range(len(matrix) if p != a else 0):
                if not is_negative[n]:
                    continue
                # How much of the smaller distance is m_an: a tie is shared by both.
                share = 1.0
                far = matrix[a, n]
                if swap and not matrix[p, n] > far:
                    share = 0.5 if matrix[p, n] == far else 0.0
                    far = matrix[p, n]
                hinge, weight = _hinge(threshold - far, smooth)
                total += hinge
                n_active += weight > 0
                gradient[a, p] += weight
                gradient[a, n] -= weight * share
                gradient[p, n] -= weight * (1 - share)
        is_negative[own] = True
    return total, n_active, gradient


@numba.njit(nogil=True, cache=True)
def _hinge(excess: float, smooth: bool) -> tuple[float, float]:
    """Return [x]_+ or log(1 + e^x), and its derivative."""
    if smooth:
        # On the sphere the excess is at most 8: its exponential is safe.
        odds = np.exp(excess)
        return np.log1p(odds), odds / (odds + 1)
    return (0.0, 0.0) if excess <= 0 else (excess, 1.0)
