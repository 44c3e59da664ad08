"""[m_ap - upper_a]_+ of all positive and [lower_a - m_an]_+ of all negative pairs of a matrix, and its gradient.

A batch of a hundred is so small that the time of a loss is the number of calls it makes, not the work they do: one
compiled loop in the place of twenty calls is several times faster. The inner loops run over contiguous rows without
branches, which the compiler turns into vector instructions. A hinge that is not a number counts as above 0, so that a
loss that has diverged says so. Equals the hinges in the formulas of the contrastive, the margin and the SNR loss.
"""

from typing import NamedTuple

import numba
import numpy as np

from fairground.kernels.class_order import ClassOrder
from fairground.kernels.distance_matrix import SUMS


class RowHinges(NamedTuple):
    """Row by row (n,): the sum of hinges of positive (`near`) and negative pairs (`far`), and how many are above 0."""

    near: np.ndarray
    far: np.ndarray
    n_near: np.ndarray
    n_far: np.ndarray


def row_hinges(matrix: np.ndarray, order: ClassOrder, upper: np.ndarray, lower: np.ndarray) -> RowHinges:
    """Return the hinges of a matrix (n, n), with one border (n,) of each kind a row."""
    return RowHinges(*_sum(matrix, *order, upper, lower))


def hinge_gradient(
    matrix: np.ndarray,
    order: ClassOrder,
    upper: np.ndarray,
    lower: np.ndarray,
    pull: np.ndarray,
    push: np.ndarray,
) -> np.ndarray:
    """Return the gradient (n, n) of sum_a pull_a near_a + push_a far_a by the matrix."""
    return _weigh(matrix, *order, upper, lower, pull.astype(matrix.dtype), push.astype(matrix.dtype))


def filled(value: float, like: np.ndarray) -> np.ndarray:
    """Return one and the same number for all rows of a matrix."""
    return np.full(len(like), value, like.dtype)


@numba.njit(nogil=True, cache=True, fastmath=SUMS)
def _sum(
    matrix: np.ndarray, rows: np.ndarray, start: np.ndarray, stop: np.ndarray, upper: np.ndarray, lower: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    n = len(matrix)
    zero, one = matrix.dtype.type(0), matrix.dtype.type(1)
    near, far, n_near, n_far = np.empty((4, n))
    negatives = np.empty(n, matrix.dtype)
    for a in range(n):
        row = matrix[a]
        negatives[:] = row
        hinges, count = zero, zero
        for k in range(start[a], stop[a]):
            negatives[rows[k]] = np.inf
            hinge = row[rows[k]] - upper[a]
            if rows[k] != a and not hinge <= zero:
                hinges += hinge
                count += one
        near[a], n_near[a] = hinges, count
        hinges, count = zero, zero
        for j in range(n):
            hinge = lower[a] - negatives[j]
            hinges += zero if hinge <= zero else hinge
            count += zero if hinge <= zero else one
        far[a], n_far[a] = hinges, count
    return near, far, n_near, n_far


@numba.njit(nogil=True, cache=True, fastmath=SUMS)
def _weigh(
    matrix: np.ndarray,
    rows: np.ndarray,
    start: np.ndarray,
    stop: np.ndarray,
    upper: np.ndarray,
    lower: np.ndarray,
    pull: np.ndarray,
    push: np.ndarray,
) -> np.ndarray:
    zero = matrix.dtype.type(0)
    gradient = np.empty_like(matrix)
    for a in range(len(matrix)):
        row, slots = matrix[a], gradient[a]
        for j in range(len(row)):
            slots[j] = zero if lower[a] - row[j] <= zero else -push[a]
        for k in range(start[a], stop[a]):
            slots[rows[k]] = zero if row[rows[k]] - upper[a] <= zero else pull[a]
        slots[a] = zero
    return gradient
