"""SNR loss over all pairs or triplets and its gradient; equals `SnrLoss.formula`.

With c the centred unit vectors and S_i = |c_i|^2, the ratios are R_ij = |c_i - c_j|^2 / S_i. Given the gradient G by R,
that by the squared distance is H = G / S, and that by S is -sum_j G_ij R_ij / S_i; centring is its own transpose.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from fairground.contracts.loss import KernelResult
from fairground.kernels.class_order import class_order
from fairground.kernels.distance_matrix import distances_from_products
from fairground.kernels.gradients import kernel_of_vectors
from fairground.kernels.pair_hinges import filled, hinge_gradient, row_hinges
from fairground.kernels.triplet_hinges import triplet_hinges

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
