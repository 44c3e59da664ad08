"""Contrastive loss and its gradient; equals `ContrastiveLoss.formula`."""

import torch
from torch import Tensor

from fairground.contracts.loss import KernelResult
from fairground.contracts.tuples import Pairs, Tuples, as_pairs
from fairground.kernels.class_order import class_order
from fairground.kernels.gradients import kernel_of_distances, kernel_of_vectors
from fairground.kernels.listed_hinges import add_gradient, as_arrays, products_and_lengths, sum_hinges
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
    a, p, b, n = as_arrays(pairs)

    def of_vectors(z: Tensor) -> tuple[Tensor, Tensor]:
        products, lengths = products_and_lengths(z, (pairs.positive_anchor, pairs.negative_anchor))
        near = sum_hinges(products.numpy(), lengths.numpy(), a, p, upper, is_upper=True)
        far = sum_hinges(products.numpy(), lengths.numpy(), b, n, lower, is_upper=False)
        n_near = max(1.0, near.n_active if over_active else len(a))
        n_far = max(1.0, far.n_active if over_active else len(b))
        by_product = torch.zeros_like(products)
        add_gradient(by_product, near, a, p, upper, 1 / n_near, is_upper=True)
        add_gradient(by_product, far, b, n, lower, 1 / n_far, is_upper=False)
        m = len(products)
        gradient = by_product.T @ z[:m]
        gradient[:m] += by_product @ z
        return z.new_tensor(near.total / n_near + far.total / n_far), gradient

    return kernel_of_vectors(embeddings, of_vectors, normalise=True)
