"""A loss and its slope worked out together: one step of autograd instead of dozens.

Most losses here are a function of the (n, n) matrix that compares a batch with itself. A *rule* takes that matrix, its
own to overwrite, and returns the loss and the slope of the loss at every entry. From the slopes the gradient of the
embeddings is one matrix product away. So autograd records a single step, the rule works in place, and nothing larger
than the embeddings is kept for the backward pass.

The gradient is a constant to autograd: asking for a second derivative is refused, not answered wrongly.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

#: matrix (n, n) -> the loss, and its slope (n, n) at every entry of the matrix
Rule = Callable[[Tensor], tuple[Tensor, Tensor]]

#: shorter vectors have no direction: they are taken as 0, and so is their gradient
SHORTEST = 1e-12


def of_products(embeddings: Tensor, rule: Rule, *, normalise: bool) -> Tensor:
    """Return the rule's loss of x_i . x_j, the cosines if the embeddings are to be normalised first."""
    return _WithGradient.attach(embeddings, _products, rule, normalise)


def of_distances(embeddings: Tensor, rule: Rule, *, normalise: bool) -> Tensor:
    """Return the rule's loss of ||x_i - x_j||; the slope of a distance of 0 is taken as 0."""
    return _WithGradient.attach(embeddings, _distances, rule, normalise)


def _products(vectors: Tensor, rule: Rule) -> tuple[Tensor, Tensor]:
    loss, slopes = rule(vectors @ vectors.T)
    return loss, (slopes + slopes.T) @ vectors


def _distances(vectors: Tensor, rule: Rule) -> tuple[Tensor, Tensor]:
    lengths = vectors.square().sum(1)
    squares = (vectors @ vectors.T).mul_(-2).add_(lengths).add_(lengths.unsqueeze(1)).clamp_min_(0)
    squares.fill_diagonal_(0)
    distances = squares.sqrt()
    # 1 / d, and 0 where d is 0: the slope of sqrt is infinite there.
    inverse = distances / squares.clamp_min_(torch.finfo(squares.dtype).tiny)
    loss, slopes = rule(distances)
    pulls = inverse.mul_(slopes)
    pulls = pulls + pulls.T
    return loss, torch.addcmul(-(pulls @ vectors), pulls.sum(1, keepdim=True), vectors)


class _WithGradient(torch.autograd.Function):
    """Returns a loss found together with its gradient by the embeddings, or by their unit vectors."""

    @classmethod
    def attach(
        cls,
        embeddings: Tensor,
        matrix: Callable[[Tensor, Rule], tuple[Tensor, Tensor]],
        rule: Rule,
        normalise: bool,
    ) -> Tensor:
        loss: Tensor = cls.apply(embeddings, matrix, rule, normalise)  # type: ignore[no-untyped-call]
        return loss

    @staticmethod
    def forward(
        ctx: Any,
        embeddings: Tensor,
        matrix: Callable[[Tensor, Rule], tuple[Tensor, Tensor]],
        rule: Rule,
        normalise: bool,
    ) -> Tensor:
        if not normalise:
            loss, gradient = matrix(embeddings, rule)
        else:
            lengths = torch.linalg.vector_norm(embeddings, dim=1, keepdim=True)
            inverse = lengths.reciprocal().masked_fill_(lengths < SHORTEST, 0)
            unit = embeddings * inverse
            loss, gradient = matrix(unit, rule)
            # The gradient by x, given the one by x / |x|: without its part along x, over |x|.
            along = (gradient * unit).sum(1, keepdim=True)
            gradient = gradient.addcmul_(unit, along, value=-1).mul_(inverse)
        ctx.save_for_backward(gradient)
        return loss

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor, None, None, None]:
        (gradient,) = ctx.saved_tensors
        return gradient * upstream, None, None, None
