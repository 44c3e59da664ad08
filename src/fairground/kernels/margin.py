"""Margin loss and its gradients, by the embeddings and by beta; equals `MarginLoss.formula`.

A positive pair stands in as many triplets as its anchor has negatives, a negative pair in as many as it has positives.
"""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from fairground.contracts.loss import KernelResult
from fairground.contracts.tuples import Triplets
from fairground.kernels.class_order import class_order
from fairground.kernels.gradients import kernel_of_distances
from fairground.kernels.listed_distances import kernel_of_listed_distances
from fairground.kernels.pair_hinges import hinge_gradient, row_hinges


class MarginResult(NamedTuple):
    """The loss with its gradient (n, d) by the embeddings, and that by the beta of each row or of each triplet."""

    loss: KernelResult
    beta_gradient: Tensor


def value_and_gradient(
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
