"""Triplet and quadruplet loss over all tuples of a batch or listed triplets, by compiled loops, with gradients."""

from typing import Any

import numba
import numpy as np
import torch
from numpy import ndarray

from fairground import kernels
from fairground.contracts import KernelResult, LossInputs, Triplets
from fairground.functional.memory_blocks import is_held
from fairground.kernels import SUMS, kernel_of_distances, kernel_of_listed_distances, vector_gradients

#: the sum of all hinges, how many are above 0, and the gradient (n, n) of the sum by the matrix
TupleHinges = tuple[float, float, ndarray]


def mean_of(hinges: TupleHinges, n: float | None) -> tuple[float, ndarray]:
    """Return the mean over `n` hinges, None for those above 0, and its gradient, in the place of the old one."""
    total, n_active, gradient = hinges
    n = max(1.0, n_active if n is None else n)
    return total / n, np.divide(gradient, n, out=gradient)


@numba.njit(nogil=True, cache=True)
def triplet_hinges(matrix: ndarray, rows: ndarray, start: ndarray, stop: ndarray, margin: float) -> TupleHinges:
    """Return the sum over all triplets; the matrix may hold any comparison of row and column, the row is the anchor."""
    gradient = np.zeros_like(matrix)
    total, n_active = 0.0, 0.0
    for a in range(len(matrix)):
        own = rows[start[a] : stop[a]]
        hinges, active = _compare_row(matrix[a], own, a, matrix.dtype.type(margin), gradient[a])
        total += hinges
        n_active += active
    return total, n_active, gradient


@numba.njit(nogil=True, cache=True, fastmath=SUMS)
def _compare_row(row: ndarray, own: ndarray, a: int, margin: float, gradient: ndarray) -> tuple[float, float]:
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


def triplet(loss: Any, inputs: LossInputs) -> KernelResult | None:
    """Return the mean over all or mined triplets, and its gradient; 0 without a triplet.

    Not with `swap` or `smooth`, nor for a batch too large to hold or with large classes.
    """
    embeddings, labels, tuples, _ = inputs
    if loss.swap or loss.smooth:
        return None
    if isinstance(tuples, Triplets):
        return _triplet_of_listed(loss, embeddings, tuples)
    order = kernels.class_order(labels)
    if order.has_large_class or not is_held(len(labels), len(labels)):
        return None
    n = None if loss.reduction == "mean_nz" else float((order.n_positives * order.n_negatives).sum())

    def of_distances(distances: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        value, gradient = mean_of(triplet_hinges(distances.numpy(), *order, loss.margin), n)
        return distances.new_tensor(value), torch.from_numpy(gradient)

    return kernel_of_distances(embeddings, of_distances, normalise=True, squared=loss.power == 2)


def _triplet_of_listed(loss: Any, embeddings: torch.Tensor, triplets: Triplets) -> KernelResult:
    anchor, positive, negative = triplets
    over_active = loss.reduction == "mean_nz"

    def of_distances(distances: list[ndarray]) -> tuple[float, list[ndarray]]:
        near, far = distances
        if loss.power == 1:
            value, weights = vector_gradients.mean_hinge(near - far + loss.margin, over_active)
            return value, [weights, -weights]
        value, weights = vector_gradients.mean_hinge(near**2 - far**2 + loss.margin, over_active)
        return value, [2 * near * weights, -2 * far * weights]

    return kernel_of_listed_distances(embeddings, ((anchor, positive), (anchor, negative)), of_distances)


def quadruplet_hinges(matrix: ndarray, order: "kernels.ClassOrder", margin: float) -> TupleHinges:
    """Return the sum over all quadruplets, n and l in one order only, for a symmetric matrix."""
    pairs = order.pairs_of(np.arange(len(matrix)))
    anchor, positive = pairs.anchor.numpy(), pairs.positive.numpy()
    thresholds = matrix[anchor, positive] + matrix.dtype.type(margin)
    ascending = np.argsort(thresholds, kind="stable")
    anchor, positive = anchor[ascending], positive[ascending]
    # A class goes by the place where it starts.
    return _quadruplet_hinges(matrix, order.start, order.start[anchor], thresholds[ascending], anchor, positive)


@numba.njit(nogil=True, cache=True)
def _quadruplet_hinges(
    matrix: ndarray, group: ndarray, own: ndarray, thresholds: ndarray, anchor: ndarray, positive: ndarray
) -> TupleHinges:
    """Return sum, number above 0 and gradient, given the class of every row and of every threshold, ascending."""
    t = len(thresholds)
    gradient = np.zeros_like(matrix)
    # The thresholds class by class, their ranks among all, and where each class starts and its size.
    size = np.zeros(len(matrix), np.int64)
    for c in own:
        size[c] += 1
    first = np.cumsum(size) - size
    filled = first.copy()
    by_class, rank = np.empty_like(thresholds), np.empty(t, np.int64)
    for r in range(t):
        by_class[filled[own[r]]] = thresholds[r]
        rank[filled[own[r]]] = r
        filled[own[r]] += 1
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
    # A threshold is above all the values that pass no more thresholds than come before it, its own class aside.
    n_below = np.cumsum(n_passing)[:t]
    for c in range(len(first)):
        n_own = 0
        for k in range(size[c]):
            n_own += n_passing_own[first[c] + c + k]
            n_below[rank[first[c] + k]] -= n_own
    for r in range(t):
        total += n_below[r] * float(thresholds[r])
        gradient[anchor[r], positive[r]] = n_below[r]
    return total, float(np.sum(n_below)), gradient


@numba.njit(nogil=True, cache=True)
def _n_up_to(ordered: ndarray, start: int, stop: int, value: float) -> int:
    """Return how many of ordered[start:stop] are at most `value`."""
    low, high = start, stop
    while low < high:
        middle = (low + high) >> 1
        if ordered[middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low - start


def quadruplet(loss: Any, inputs: LossInputs) -> KernelResult | None:
    """Return the mean over triplets plus that over quadruplets, and its gradient; a kind without tuples costs 0.

    Not for mined triplets, nor for large classes.
    """
    order = kernels.class_order(inputs.labels)
    if inputs.tuples is not None or order.has_large_class:
        return None
    loss.refuse_roth_code()
    n_positives, n_negatives = order.n_positives, order.n_negatives
    # Of quadruplets, n and l in one order only: all pairs of two classes, less those with a row of the anchor's class.
    n_apart = n_negatives.sum() // 2 - (n_positives + 1) * n_negatives
    counts: tuple[float | None, ...] = (None, None)
    if loss.reduction != "mean_nz":
        counts = float((n_positives * n_negatives).sum()), float((n_positives * n_apart).sum())

    def of_distances(distances: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        matrix = distances.numpy()
        first, gradient = mean_of(triplet_hinges(matrix, *order, loss.margin), counts[0])
        second, more = mean_of(quadruplet_hinges(matrix, order, loss.second_margin), counts[1])
        gradient += more
        return distances.new_tensor(first + second), torch.from_numpy(gradient)

    return kernel_of_distances(inputs.embeddings, of_distances, normalise=True)
