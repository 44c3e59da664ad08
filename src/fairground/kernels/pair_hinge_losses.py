"""Losses on hinges of pair distances (contrastive, margin, SNR) by compiled loops, with their gradients.

A batch of a hundred is so small that the time of a loss is the number of calls it makes: one compiled loop instead of
twenty calls is several times faster. A hinge that is not a number counts as above 0, so a diverged loss shows it.
"""

from typing import Any

import numba
import numpy as np
import torch
from torch import Tensor

from fairground.contracts import KernelResult, LossInputs, Pairs, Triplets, as_pairs
from fairground.functional.memory_blocks import is_held
from fairground.kernels import ClassOrder, class_order, vector_gradients
from fairground.kernels.vector_gradients import SUMS, kernel_of_distances, kernel_of_listed_distances, kernel_of_vectors

#: the least sum of squares that the SNR loss takes a centred anchor to have
LEAST_SIGNAL = 1e-12


@numba.njit(nogil=True, cache=True, fastmath=SUMS)
def row_hinges(
    matrix: np.ndarray, rows: np.ndarray, start: np.ndarray, stop: np.ndarray, upper: np.ndarray, lower: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return, row by row (n,), the sum of the hinges of positive and of negative pairs, and how many are above 0.

    The matrix (n, n) has a class order, and one border (n,) of each kind per row.
    """
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
def hinge_gradient(
    matrix: np.ndarray,
    rows: np.ndarray,
    start: np.ndarray,
    stop: np.ndarray,
    upper: np.ndarray,
    lower: np.ndarray,
    pull: np.ndarray,
    push: np.ndarray,
) -> np.ndarray:
    """Return the gradient (n, n) of sum_a pull_a near_a + push_a far_a by the matrix."""
    kind = matrix.dtype.type
    zero = kind(0)
    gradient = np.empty_like(matrix)
    for a in range(len(matrix)):
        row, slots = matrix[a], gradient[a]
        near, far = kind(pull[a]), -kind(push[a])
        for j in range(len(row)):
            slots[j] = zero if lower[a] - row[j] <= zero else far
        for k in range(start[a], stop[a]):
            slots[rows[k]] = zero if row[rows[k]] - upper[a] <= zero else near
        slots[a] = zero
    return gradient


def contrastive(loss: Any, inputs: LossInputs) -> KernelResult | None:
    """Return the mean hinge of positive plus that of negative pairs, and its gradient; not of too large a batch."""
    embeddings, labels, tuples, _ = inputs
    if tuples is not None:
        return _contrastive_of_listed(loss, embeddings, as_pairs(tuples))
    if not is_held(len(labels), len(labels)):
        return None
    order = class_order(labels)

    def of_distances(distances: Tensor) -> tuple[Tensor, Tensor]:
        value, gradient = _mean_pair_hinges(loss, distances.numpy(), order)
        return distances.new_tensor(value), torch.from_numpy(gradient)

    return kernel_of_distances(embeddings, of_distances, normalise=True)


def _mean_pair_hinges(loss: Any, matrix: np.ndarray, order: ClassOrder) -> tuple[float, np.ndarray]:
    """Return the contrastive loss of a matrix (n, n) of any comparison, and its gradient."""

    def filled(value: float) -> np.ndarray:
        return np.full(len(matrix), value, matrix.dtype)

    borders = filled(loss.positive_margin), filled(loss.negative_margin)
    near, far, n_near, n_far = row_hinges(matrix, *order, *borders)
    if loss.reduction == "mean_all":
        n_near, n_far = order.n_positives, order.n_negatives
    all_near, all_far = max(1.0, n_near.sum()), max(1.0, n_far.sum())
    gradient = hinge_gradient(matrix, *order, *borders, filled(1 / all_near), filled(1 / all_far))
    return near.sum() / all_near + far.sum() / all_far, gradient


def _contrastive_of_listed(loss: Any, embeddings: Tensor, pairs: Pairs) -> KernelResult:
    over_active = loss.reduction == "mean_nz"

    def of_distances(distances: list[np.ndarray]) -> tuple[float, list[np.ndarray]]:
        near, of_near = vector_gradients.mean_hinge(distances[0] - loss.positive_margin, over_active)
        far, of_far = vector_gradients.mean_hinge(loss.negative_margin - distances[1], over_active)
        return near + far, [of_near, -of_far]

    lists = (pairs.positive_anchor, pairs.positive), (pairs.negative_anchor, pairs.negative)
    return kernel_of_listed_distances(embeddings, lists, of_distances)


def margin(loss: Any, inputs: LossInputs) -> KernelResult | None:
    """Return the sum over triplets over K plus the price of beta, and the gradients; not of too large a batch."""
    embeddings, labels, tuples, _ = inputs
    if tuples is None and not is_held(len(labels), len(labels)):
        return None
    beta = loss.borders(labels, embeddings.dtype)
    own = torch.zeros_like(labels) if loss.n_classes is None else labels
    if isinstance(tuples, Triplets):
        beta, own = beta[tuples.anchor], own[tuples.anchor]
        result, by_own = _margin_of_listed(loss, embeddings, tuples, beta)
    else:
        result, by_own = _margin_of_all(loss, embeddings, labels, beta)
    by_beta = torch.zeros_like(loss.beta, dtype=by_own.dtype).index_add_(0, own, by_own)
    return KernelResult(result.value, result.gradient, (by_beta,))


def _margin_of_all(loss: Any, embeddings: Tensor, labels: Tensor, beta: Tensor) -> tuple[KernelResult, Tensor]:
    """Return the loss, and its gradient by the beta (n,) of each row."""
    order = class_order(labels)
    n_positives, n_negatives = order.n_positives, order.n_negatives
    n_triplets = n_positives * n_negatives
    mean_weight = loss.beta_weight * n_triplets / max(1, n_triplets.sum())
    borders = (beta - loss.margin).numpy(), (beta + loss.margin).numpy()
    beta_gradient = torch.empty_like(beta)

    def of_distances(distances: Tensor) -> tuple[Tensor, Tensor]:
        matrix = distances.numpy()
        near, far, n_near, n_far = row_hinges(matrix, *order, *borders)
        if loss.count == "tuples":
            n_active = n_triplets - (n_positives - n_near) * (n_negatives - n_far)
        else:
            n_active = n_near * n_negatives + n_far * n_positives
        k = max(1.0, n_active.sum())
        pull, push = n_negatives / k, n_positives / k
        beta_gradient.copy_(torch.from_numpy(push * n_far - pull * n_near + mean_weight))
        value = (pull * near + push * far).sum() + (mean_weight * beta.numpy()).sum()
        gradient = hinge_gradient(matrix, *order, *borders, pull, push)
        return distances.new_tensor(value), torch.from_numpy(gradient)

    return kernel_of_distances(embeddings, of_distances, normalise=True), beta_gradient


def _margin_of_listed(loss: Any, embeddings: Tensor, triplets: Triplets, beta: Tensor) -> tuple[KernelResult, Tensor]:
    """Return the same over listed triplets with their `beta` (t,)."""
    anchor, positive, negative = triplets
    mean_weight = loss.beta_weight / max(1, triplets.size)
    beta_gradient = torch.empty_like(beta)

    def of_distances(distances: list[np.ndarray]) -> tuple[float, list[np.ndarray]]:
        near = distances[0] - beta.numpy() + loss.margin
        far = beta.numpy() - distances[1] + loss.margin
        # A hinge that is not a number counts as above 0, so that a loss that has diverged says so.
        is_near, is_far = ~(near <= 0), ~(far <= 0)
        k = max(1, (is_near | is_far).sum() if loss.count == "tuples" else is_near.sum() + is_far.sum())
        pull, push = is_near.astype(near.dtype) / k, is_far.astype(far.dtype) / k
        beta_gradient.copy_(torch.from_numpy(push - pull + mean_weight))
        total = near[is_near].sum(dtype=np.float64) + far[is_far].sum(dtype=np.float64)
        return total / k + mean_weight * beta.sum().item(), [pull, -push]

    result = kernel_of_listed_distances(embeddings, ((anchor, positive), (anchor, negative)), of_distances)
    return result, beta_gradient


def snr(loss: Any, inputs: LossInputs) -> KernelResult | None:
    """Return the contrastive form plus its penalty, and its gradient; not of mined tuples."""
    loss.refuse_one_dimension(inputs.embeddings)
    order, n = class_order(inputs.labels), len(inputs.labels)
    if inputs.tuples is not None or loss.form == "triplet":
        return None
    rows = inputs.embeddings.new_full((n,), float(n > 1))
    sum_weights = loss.zero_mean_weight * rows / rows.sum().clamp_min(1)

    def of_vectors(z: Tensor) -> tuple[Tensor, Tensor]:
        centred = z - z.mean(1, keepdim=True)
        ratios = centred @ centred.T
        signal = ratios.diagonal().clamp_min(LEAST_SIGNAL).unsqueeze(1)
        vector_gradients.distances_from_products(ratios.numpy(), True)
        ratios.div_(signal)
        value, found = _mean_pair_hinges(loss, ratios.numpy(), order)
        # A constant anchor has no direction to move in.
        by_square = torch.from_numpy(found).div_(signal).mul_(signal > LEAST_SIGNAL)
        by_signal = -(by_square * ratios).sum(1, keepdim=True)
        both = by_square.T.contiguous().add_(by_square)
        by_centred = centred * (both.sum(1, keepdim=True) + by_signal) - both @ centred
        gradient = 2 * (by_centred - by_centred.mean(1, keepdim=True))
        sums = z.sum(1)
        gradient += (sum_weights * sums.sign()).unsqueeze(1)
        return value + sum_weights @ sums.abs(), gradient

    return kernel_of_vectors(inputs.embeddings, of_vectors, normalise=True)
