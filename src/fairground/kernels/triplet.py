"""Triplet loss and its gradient; equals `TripletLoss.formula`."""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from fairground.contracts.loss import KernelResult
from fairground.contracts.tuples import Triplets
from fairground.kernels.class_order import class_order
from fairground.kernels.distance_matrix import distances_from_products, gradient_by_products
from fairground.kernels.gradients import kernel_of_vectors
from fairground.kernels.listed_distances import kernel_of_listed_distances, mean_hinge
from fairground.kernels.triplet_hinges import looped_triplets, triplet_hinges


class TripletSettings(NamedTuple):
    """Those of `TripletLoss`; `over_active` takes the mean over triplets above 0."""

    margin: float
    squared: bool
    over_active: bool
    swap: bool
    smooth: bool


def value_and_gradient(embeddings: Tensor, labels: Tensor, settings: TripletSettings) -> KernelResult:
    """Return the mean over all triplets, and its gradient; 0 without a triplet."""
    order = class_order(labels)
    margin, squared, over_active, swap, smooth = settings
    n = None if over_active and not smooth else float((order.n_positives * order.n_negatives).sum())

    def of_vectors(z: Tensor) -> tuple[Tensor, Tensor]:
        matrix = (z @ z.T).numpy()
        distances_from_products(matrix, squared)
        if swap or smooth:
            hinges = looped_triplets(matrix, order, margin, swap=swap, smooth=smooth)
        else:
            hinges = triplet_hinges(matrix, order, margin)
        loss, gradient = hinges.mean(n)
        gradient_by_products(gradient, matrix, squared)
        return z.new_tensor(loss), torch.from_numpy(gradient) @ z

    return kernel_of_vectors(embeddings, of_vectors, normalise=True)


def of_listed(embeddings: Tensor, triplets: Triplets, settings: TripletSettings) -> KernelResult:
    """Return the mean over listed triplets, without `swap` and `smooth`, and its gradient; 0 for none."""
    anchor, positive, negative = triplets

    def of_distances(distances: list[np.ndarray]) -> tuple[float, list[np.ndarray]]:
        near, far = distances
        if not settings.squared:
            loss, weights = mean_hinge(near - far + settings.margin, settings.over_active)
            return loss, [weights, -weights]
        loss, weights = mean_hinge(near**2 - far**2 + settings.margin, settings.over_active)
        return loss, [2 * near * weights, -2 * far * weights]

    return kernel_of_listed_distances(embeddings, ((anchor, positive), (anchor, negative)), of_distances)
