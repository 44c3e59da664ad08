"""Quadruplet loss over all quadruplets and its gradient; equals `QuadrupletLoss.formula`."""

import torch
from torch import Tensor

from fairground.contracts.loss import KernelResult
from fairground.kernels.class_order import ClassOrder, class_order
from fairground.kernels.gradients import kernel_of_distances
from fairground.kernels.quadruplet_hinges import quadruplet_hinges
from fairground.kernels.triplet_hinges import triplet_hinges


def value_and_gradient(
    embeddings: Tensor, labels: Tensor, *, margin: float, second_margin: float, over_active: bool
) -> KernelResult:
    """Return the mean over triplets plus that over quadruplets, and its gradient; a kind without tuples costs 0."""
    order = class_order(labels)
    n_triplets, n_quadruplets = (None, None) if over_active else _counts(order)

    def of_distances(distances: Tensor) -> tuple[Tensor, Tensor]:
        matrix = distances.numpy()
        first, gradient = triplet_hinges(matrix, order, margin).mean(n_triplets)
        second, more = quadruplet_hinges(matrix, order, second_margin).mean(n_quadruplets)
        gradient += more
        return distances.new_tensor(first + second), torch.from_numpy(gradient)

    return kernel_of_distances(embeddings, of_distances, normalise=True)


def _counts(order: ClassOrder) -> tuple[float, float]:
    """Return the number of triplets and of quadruplets of a batch, n and l of these in one order only."""
    n_positives, n_negatives = order.n_positives, order.n_negatives
    # All pairs of two classes, less those with a row of the anchor's class.
    n_apart = n_negatives.sum() // 2 - (n_positives + 1) * n_negatives
    return float((n_positives * n_negatives).sum()), float((n_positives * n_apart).sum())
