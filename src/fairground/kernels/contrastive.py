"""Contrastive loss and its gradient; equals `ContrastiveLoss.formula`."""

import numpy as np
import torch
from torch import Tensor

from fairground.contracts.loss import KernelResult
from fairground.contracts.tuples import Pairs, Tuples, as_pairs
from fairground.functional.blocks import is_held
from fairground.kernels.batch_pairs import BatchPairs, ClassPairs
from fairground.kernels.class_order import class_order
from fairground.kernels.gradients import kernel_of_distances
from fairground.kernels.listed_distances import kernel_of_listed_distances, mean_hinge
from fairground.kernels.pair_blocks import kernel_in_blocks
from fairground.kernels.pair_hinges import filled, hinge_gradient, row_hinges


def value_and_gradient(
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
        # Pairs of one class lie infinitely far apart here.
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
