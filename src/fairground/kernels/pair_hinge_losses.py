"""Losses on hinges of pair distances (contrastive, margin, SNR) by compiled loops, with their gradients.

A batch of a hundred is so small that the time of a loss is the number of calls it makes: one compiled loop instead of
twenty calls is several times faster. A hinge that is not a number counts as above 0, so a diverged loss shows it.
"""

from collections.abc import Callable
from typing import NamedTuple

import numba
import numpy as np
import torch
from torch import Tensor

from fairground.contracts.loss import KernelResult, Pairs, Triplets, Tuples, as_pairs
from fairground.functional.reductions import is_held
from fairground.kernels.batch_pairs import BatchPairs, ClassOrder, ClassPairs, class_order, kernel_in_blocks
from fairground.kernels.tuple_hinge_losses import triplet_hinges
from fairground.kernels.vector_gradients import (
    SUMS,
    distances_from_products,
    kernel_of_distances,
    kernel_of_listed_distances,
    kernel_of_vectors,
    mean_hinge,
)


class RowHinges(NamedTuple):
    """Row by row (n,): the sum of hinges of positive (`near`) and negative pairs (`far`), and how many are above 0."""

    near: np.ndarray
    far: np.ndarray
    n_near: np.ndarray
    n_far: np.ndarray


def row_hinges(matrix: np.ndarray, order: ClassOrder, upper: np.ndarray, lower: np.ndarray) -> RowHinges:
    """Return the hinges of a matrix (n, n), with one border (n,) of each kind per row."""
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


def contrastive(
    embeddings: Tensor, labels: Tensor, tuples: Tuples | None, *, upper: float, lower: float, over_active: bool
) -> KernelResult:
    """Return the mean of [d - upper]_+ over positive plus that of [lower - d]_+ over negative pairs, and its gradient.

    The means run over the hinges above 0 (`over_active`) or over all.
    """
    if tuples is None and not is_held(len(labels), len(labels)):
        return _in_blocks(embeddings, labels, upper, lower, over_active)
    if tuples is None:
        return _of_all(embeddings, labels, upper, lower, over_active)
    return _of_listed(embeddings, as_pairs(tuples), upper, lower, over_active)


def _of_all(embeddings: Tensor, labels: Tensor, upper: float, lower: float, over_active: bool) -> KernelResult:
    order = class_order(labels)

    def of_distances(distances: Tensor) -> tuple[Tensor, Tensor]:
        matrix = distances.numpy()
        borders = filled(upper, matrix), filled(lower, matrix)
        hinges = row_hinges(matrix, order, *borders)
        n_near = max(1.0, (hinges.n_near if over_active else order.n_positives).sum())
        n_far = max(1.0, (hinges.n_far if over_active else order.n_negatives).sum())
        loss = hinges.near.sum() / n_near + hinges.far.sum() / n_far
        weights = filled(1 / n_near, matrix), filled(1 / n_far, matrix)
        gradient = hinge_gradient(matrix, order, *borders, *weights)
        return distances.new_tensor(loss), torch.from_numpy(gradient)

    return kernel_of_distances(embeddings, of_distances, normalise=True)


def _in_blocks(embeddings: Tensor, labels: Tensor, upper: float, lower: float, over_active: bool) -> KernelResult:
    """Return the same of a batch whose matrix is too large to hold."""

    def near(cosines: Tensor, pairs: BatchPairs) -> tuple[Tensor, Tensor, Tensor]:
        distances = _distances_(cosines.take(pairs.place))
        hinges = (distances - upper).relu_()
        n_hinges = (hinges > 0).sum() if over_active else hinges.new_tensor(len(hinges))
        pull = torch.where(hinges * distances > 0, -1 / (distances * n_hinges), 0)
        return hinges.sum() / n_hinges.clamp_min(1), cosines.zero_().put_(pairs.place, pull), n_hinges

    def far(cosines: Tensor, pairs: BatchPairs) -> tuple[Tensor, Tensor, Tensor]:
        distances = _distances_(cosines)
        # Pairs of one class are infinitely far apart here.
        distances.view(-1).index_fill_(0, pairs.own, torch.inf)
        hinges = (lower - distances).relu_()
        n_hinges = (hinges > 0).sum() if over_active else hinges.new_tensor(hinges.numel() - len(pairs.own))
        total = hinges.sum() / n_hinges.clamp_min(1)
        # Between identical vectors there is no direction to move in.
        push = (
            hinges.sign_().mul_(distances > 0).div_(distances.mul_(n_hinges).clamp_min_(torch.finfo(hinges.dtype).tiny))
        )
        return total, push, n_hinges

    return kernel_in_blocks(embeddings, ClassPairs.of(labels), [near, far])


def _distances_(cosines: Tensor) -> Tensor:
    """Overwrite the cosines of unit vectors by their distances."""
    return cosines.mul_(-2).add_(2).clamp_min_(0).sqrt_()


def _of_listed(embeddings: Tensor, pairs: Pairs, upper: float, lower: float, over_active: bool) -> KernelResult:
    def of_distances(distances: list[np.ndarray]) -> tuple[float, list[np.ndarray]]:
        near, of_near = mean_hinge(distances[0] - upper, over_active)
        far, of_far = mean_hinge(lower - distances[1], over_active)
        return near + far, [of_near, -of_far]

    lists = (pairs.positive_anchor, pairs.positive), (pairs.negative_anchor, pairs.negative)
    return kernel_of_listed_distances(embeddings, lists, of_distances)


class MarginResult(NamedTuple):
    """The loss with its gradient (n, d) by the embeddings, and that by the beta of each row or of each triplet."""

    loss: KernelResult
    beta_gradient: Tensor


def margin(
    embeddings: Tensor, labels: Tensor, beta: Tensor, *, margin: float, beta_weight: float, by_tuples: bool
) -> MarginResult:
    """Return the sum over triplets over K plus the price of `beta` (n,), and the gradients.

    K counts active terms, or with `by_tuples` triplets that have any.
    """
    order = class_order(labels)
    n_positives, n_negatives = order.n_positives, order.n_negatives
    n_triplets = n_positives * n_negatives
    mean_weight = beta_weight * n_triplets / max(1, n_triplets.sum())
    upper, lower = (beta - margin).numpy(), (beta + margin).numpy()
    beta_gradient = torch.empty_like(beta)

    def of_distances(distances: Tensor) -> tuple[Tensor, Tensor]:
        matrix = distances.numpy()
        near, far, n_near, n_far = row_hinges(matrix, order, upper, lower)
        if by_tuples:
            n_active = n_triplets - (n_positives - n_near) * (n_negatives - n_far)
        else:
            n_active = n_near * n_negatives + n_far * n_positives
        k = max(1.0, n_active.sum())
        pull, push = n_negatives / k, n_positives / k
        beta_gradient.copy_(torch.from_numpy(push * n_far - pull * n_near + mean_weight))
        loss = (pull * near + push * far).sum() + (mean_weight * beta.numpy()).sum()
        gradient = hinge_gradient(matrix, order, upper, lower, pull, push)
        return distances.new_tensor(loss), torch.from_numpy(gradient)

    return MarginResult(kernel_of_distances(embeddings, of_distances, normalise=True), beta_gradient)


def of_listed(
    embeddings: Tensor, triplets: Triplets, beta: Tensor, *, margin: float, beta_weight: float, by_tuples: bool
) -> MarginResult:
    """Return the same over listed triplets with their `beta` (t,)."""
    anchor, positive, negative = triplets
    mean_weight = beta_weight / max(1, triplets.size)
    beta_gradient = torch.empty_like(beta)

    def of_distances(distances: list[np.ndarray]) -> tuple[float, list[np.ndarray]]:
        near = distances[0] - beta.numpy() + margin
        far = beta.numpy() - distances[1] + margin
        # A hinge that is not a number counts as above 0, so that a loss that has diverged says so.
        is_near, is_far = ~(near <= 0), ~(far <= 0)
        k = max(1, (is_near | is_far).sum() if by_tuples else is_near.sum() + is_far.sum())
        pull, push = is_near.astype(near.dtype) / k, is_far.astype(far.dtype) / k
        beta_gradient.copy_(torch.from_numpy(push - pull + mean_weight))
        total = near[is_near].sum(dtype=np.float64) + far[is_far].sum(dtype=np.float64)
        return total / k + mean_weight * beta.sum().item(), [pull, -push]

    result = kernel_of_listed_distances(embeddings, ((anchor, positive), (anchor, negative)), of_distances)
    return MarginResult(result, beta_gradient)


#: the ratios (n, n) -> the loss, and its gradient (n, n) by them
OfRatios = Callable[[np.ndarray], tuple[float, np.ndarray]]


class Penalty(NamedTuple):
    """The least signal an anchor is taken to have, and the weight of the mean |sum_m z_im|."""

    least_signal: float
    zero_mean_weight: float


def of_pairs(
    embeddings: Tensor, labels: Tensor, borders: tuple[float, float], penalty: Penalty, *, over_active: bool
) -> KernelResult:
    """Return the contrastive form, its penalty over all samples, and its gradient."""
    order = class_order(labels)

    def of_ratios(ratios: np.ndarray) -> tuple[float, np.ndarray]:
        upper, lower = (filled(border, ratios) for border in borders)
        hinges = row_hinges(ratios, order, upper, lower)
        n_near = max(1.0, (hinges.n_near if over_active else order.n_positives).sum())
        n_far = max(1.0, (hinges.n_far if over_active else order.n_negatives).sum())
        weights = filled(1 / n_near, ratios), filled(1 / n_far, ratios)
        loss = hinges.near.sum() / n_near + hinges.far.sum() / n_far
        return loss, hinge_gradient(ratios, order, upper, lower, *weights)

    counted = torch.full((len(labels),), float(len(labels) > 1), dtype=embeddings.dtype)
    return _of_ratios(embeddings, of_ratios, penalty, counted)


def of_triplets(
    embeddings: Tensor, labels: Tensor, margin: float, penalty: Penalty, *, over_active: bool
) -> KernelResult:
    """Return the triplet form, its penalty over anchors, and its gradient."""
    order = class_order(labels)
    n_triplets = order.n_positives * order.n_negatives

    def of_ratios(ratios: np.ndarray) -> tuple[float, np.ndarray]:
        return triplet_hinges(ratios, order, margin).mean(None if over_active else float(n_triplets.sum()))

    counted = torch.from_numpy(n_triplets > 0).to(embeddings.dtype)
    return _of_ratios(embeddings, of_ratios, penalty, counted)


def _of_ratios(embeddings: Tensor, of_ratios: OfRatios, penalty: Penalty, counted: Tensor) -> KernelResult:
    """Return the loss of the ratios plus the penalty over the rows that count (n,), and its gradient."""
    least_signal, zero_mean_weight = penalty
    sum_weights = zero_mean_weight * counted / counted.sum().clamp_min(1)

    def of_vectors(z: Tensor) -> tuple[Tensor, Tensor]:
        centred = z - z.mean(1, keepdim=True)
        ratios = centred @ centred.T
        signal = ratios.diagonal().clamp_min(least_signal).unsqueeze(1)
        distances_from_products(ratios.numpy(), True)
        ratios.div_(signal)
        loss, found = of_ratios(ratios.numpy())
        # A constant anchor has no direction to move in.
        by_square = torch.from_numpy(found).div_(signal).mul_(signal > least_signal)
        by_signal = -(by_square * ratios).sum(1, keepdim=True)
        both = by_square.T.contiguous().add_(by_square)
        by_centred = centred * (both.sum(1, keepdim=True) + by_signal) - both @ centred
        gradient = 2 * (by_centred - by_centred.mean(1, keepdim=True))
        sums = z.sum(1)
        gradient += (sum_weights * sums.sign()).unsqueeze(1)
        return loss + sum_weights @ sums.abs(), gradient

    return kernel_of_vectors(embeddings, of_vectors, normalise=True)
