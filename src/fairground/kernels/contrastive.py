"""Contrastive loss and its gradient; equals `ContrastiveLoss.formula`."""

import numpy as np
import torch
from torch import Tensor

from fairground.contracts.loss import KernelResult
from fairground.contracts.tuples import Pairs, Tuples, as_pairs
from fairground.kernels.class_order import class_order
from fairground.kernels.gradients import kernel_of_distances
from fairground.kernels.listed_distances import kernel_of_listed_distances, mean_hinge
from fairground.kernels.pair_hinges import filled, hinge_gradient, row_hinges


def value_and_gradient(
    embeddings: Tensor, labels: Tensor, tuples: Tuples | None, *, upper: float, lower: float, over_active: bool
) -> KernelResult:
    """Return the mean of [d - upper]_+ over positive plus that of [lower - d]_+ over negative pairs, and its gradient.

    The means run over the hinges above 0 (`over_active`) or over all.
    """
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


def _of_listed(embeddings: Tensor, pairs: Pairs, upper: float, lower: float, over_active: bool) -> KernelResult:
    def of_distances(distances: list[np.ndarray]) -> tuple[float, list[np.ndarray]]:
        near, of_near = mean_hinge(distances[0] - upper, over_active)
        far, of_far = mean_hinge(lower - distances[1], over_active)
        return near + far, [of_near, -of_far]

    lists = (pairs.positive_anchor, pairs.positive), (pairs.negative_anchor, pairs.negative)
    return kernel_of_listed_distances(embeddings, lists, of_distances)
