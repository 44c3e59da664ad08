"""From the gradient by a matrix that compares a batch with itself to the gradient by the embeddings.

Most losses here are a function of such an (n, n) matrix. A *rule* takes that matrix, its own to overwrite, and returns
the loss and its gradient (n, n) by the matrix. From there the gradient by the embeddings is one matrix product away. So
the rule works in place, and nothing larger than the embeddings is kept for the backward pass.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from fairground.contracts.loss import KernelResult
from fairground.kernels.distance_matrix import distances_from_products, gradient_by_products
from fairground.kernels.normalize import normalize_rows, tangent_projection

#: matrix (n, n) -> the loss, and its gradient (n, n) by the matrix
Rule = Callable[[Tensor], tuple[Tensor, Tensor]]

#: vectors (n, d) -> the loss, and its gradient (n, d) by the vectors
Work = Callable[[Tensor], tuple[Tensor, Tensor]]


def kernel_of_products(embeddings: Tensor, rule: Rule, *, normalise: bool) -> KernelResult:
    """Return the rule's loss of x_i . x_j, the cosines if the embeddings are to be normalised, and its gradient."""
    return kernel_of_vectors(embeddings, lambda vectors: _products(vectors, rule), normalise=normalise)


def kernel_of_distances(embeddings: Tensor, rule: Rule, *, normalise: bool) -> KernelResult:
    """Return the rule's loss of ||x_i - x_j||, which it must leave as they are; a distance of 0 has a gradient of 0."""
    return kernel_of_vectors(embeddings, lambda vectors: _distances(vectors, rule, normalise), normalise=normalise)


def kernel_of_vectors(embeddings: Tensor, work: Work, *, normalise: bool) -> KernelResult:
    """Return the loss that `work` finds for the embeddings or for their unit vectors, and its gradient."""
    if not normalise:
        return KernelResult(*work(embeddings))
    units, inverse = normalize_rows(embeddings)
    value, gradient = work(units)
    return KernelResult(value, tangent_projection(gradient, units, inverse))


def no_gradient(embeddings: Tensor) -> KernelResult:
    """Return 0 with a zero gradient: what a loss says when there is nothing to learn from."""
    return KernelResult(embeddings.new_zeros(()), torch.zeros_like(embeddings))


def _products(vectors: Tensor, rule: Rule) -> tuple[Tensor, Tensor]:
    loss, by_product = rule(vectors @ vectors.T)
    return loss, _plus_transposed(by_product) @ vectors


def _distances(vectors: Tensor, rule: Rule, are_units: bool) -> tuple[Tensor, Tensor]:
    matrix = vectors @ vectors.T
    distances_from_products(matrix.numpy(), False)
    loss, by_product = rule(matrix)
    gradient_by_products(by_product.numpy(), matrix.numpy(), False)
    gradient = by_product @ vectors
    # The rest of it lies along the vectors, where a unit vector cannot move.
    return loss, gradient if are_units else gradient.addcmul_(by_product.sum(1, keepdim=True), vectors, value=-1)


def _plus_transposed(matrix: Tensor) -> Tensor:
    # Transposing first, which goes block by block, is three times faster than adding down the columns.
    return matrix.T.contiguous().add_(matrix)
