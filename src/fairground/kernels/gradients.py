"""A loss and its slope worked out together: one step of autograd instead of dozens.

Most losses here are a function of the (n, n) matrix that compares a batch with itself. A *rule* takes that matrix, its
own to overwrite, and returns the loss and the slope of the loss at every entry. From the slopes the gradient of the
embeddings is one matrix product away. So autograd records a single step, the rule works in place, and nothing larger
than the embeddings is kept for the backward pass.

To autograd the gradient would be a constant: asking for a second derivative is refused, not answered wrongly.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from fairground.contracts.loss import KernelResult
from fairground.errors import require
from fairground.kernels.distance_matrix import distances_from_products, gradient_by_products
from fairground.kernels.normalize import normalize_rows, tangent_projection

#: matrix (n, n) -> the loss, and its slope (n, n) at every entry of the matrix
Rule = Callable[[Tensor], tuple[Tensor, Tensor]]

#: vectors (n, d) -> the loss, and its gradient (n, d) by the vectors
Work = Callable[[Tensor], tuple[Tensor, Tensor]]


def kernel_of_products(embeddings: Tensor, rule: Rule, *, normalise: bool) -> KernelResult:
    """Return the rule's loss of x_i . x_j, the cosines if the embeddings are to be normalised, and its gradient."""
    return kernel_of_vectors(embeddings, lambda vectors: _products(vectors, rule), normalise=normalise)


def kernel_of_distances(embeddings: Tensor, rule: Rule, *, normalise: bool) -> KernelResult:
    """Return the rule's loss of ||x_i - x_j||, which it must leave as they are; a distance of 0 has a slope of 0."""
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


def of_products(embeddings: Tensor, rule: Rule, *, normalise: bool) -> Tensor:
    """Return the rule's loss of x_i . x_j, the cosines if the embeddings are to be normalised first."""
    return with_gradient(embeddings, lambda vectors: _products(vectors, rule), normalise=normalise)


def of_distances(embeddings: Tensor, rule: Rule, *, normalise: bool) -> Tensor:
    """Return the rule's loss of ||x_i - x_j||, which it must leave as they are; a distance of 0 has a slope of 0."""
    return with_gradient(embeddings, lambda vectors: _distances(vectors, rule, normalise), normalise=normalise)


def with_gradient(embeddings: Tensor, work: Work, *, normalise: bool) -> Tensor:
    """Return the loss that `work` finds, together with its gradient, for the embeddings or for their unit vectors."""
    loss: Tensor = _WithGradient.apply(embeddings, work, normalise)  # type: ignore[no-untyped-call]
    return loss


def _products(vectors: Tensor, rule: Rule) -> tuple[Tensor, Tensor]:
    loss, slopes = rule(vectors @ vectors.T)
    return loss, _plus_transposed(slopes) @ vectors


def _distances(vectors: Tensor, rule: Rule, are_units: bool) -> tuple[Tensor, Tensor]:
    matrix = vectors @ vectors.T
    if vectors.is_cpu:
        distances_from_products(matrix.numpy(), False)
        loss, slopes = rule(matrix)
        gradient_by_products(slopes.numpy(), matrix.numpy(), False)
    else:
        squares = matrix.diagonal()
        squares = (squares + squares.unsqueeze(1)).sub_(matrix, alpha=2).clamp_min_(0).fill_diagonal_(0)
        matrix = squares.sqrt()
        loss, slopes = rule(matrix)
        # 1 / d, and 0 where d is 0: the slope of sqrt is infinite there.
        inverse = matrix / squares.clamp_min_(torch.finfo(squares.dtype).tiny)
        slopes = _plus_transposed(slopes.mul_(inverse)).neg_()
    gradient = slopes @ vectors
    # The rest of it lies along the vectors, where a unit vector cannot move.
    return loss, gradient if are_units else gradient.addcmul_(slopes.sum(1, keepdim=True), vectors, value=-1)


def _plus_transposed(matrix: Tensor) -> Tensor:
    # Transposing first, which goes block by block, is three times faster than adding down the columns.
    return matrix.T.contiguous().add_(matrix)


class _WithGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, embeddings: Tensor, work: Work, normalise: bool) -> Tensor:
        if not normalise:
            loss, gradient = work(embeddings)
        else:
            units, inverse = normalize_rows(embeddings)
            loss, gradient = work(units)
            gradient = tangent_projection(gradient, units, inverse)
        ctx.save_for_backward(gradient)
        return loss

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor, None, None]:
        require(
            not torch.is_grad_enabled(),
            "this loss has no second derivative: its gradient is worked out by hand. Leave create_graph out",
        )
        (gradient,) = ctx.saved_tensors
        return gradient * upstream, None, None
