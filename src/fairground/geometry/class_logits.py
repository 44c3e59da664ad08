"""Learnable class vectors, the cosines of embeddings to them, and margins on the logit of a sample's own class."""

from collections.abc import Callable
from math import pi, sin, sqrt
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from fairground.errors import require

#: angles theta (n, 1) to new values in the place of cos(theta), and the slopes of these values by theta
Curve = Callable[[Tensor], tuple[Tensor, Tensor]]


def class_vectors(shape: tuple[int, ...], initialisation: str, loss: str) -> nn.Parameter:
    """Return a parameter of shape (n_classes, embedding_dim) or (n_classes, n_centres, embedding_dim).

    `normal` is N(0, 1), `small_normal` N(0, 1) / 8, `uniform` U(-1, 1) / sqrt(embedding_dim). All three point in
    random directions; they differ in length, and a short vector turns faster under the same step.
    """
    names = ("n_classes", "embedding_dim") if len(shape) == 2 else ("n_classes", "n_centres", "embedding_dim")
    for name, size in zip(names, shape, strict=True):
        require(size >= 1, f"{loss}.{name} must be at least 1; got {size}")
    vectors = torch.empty(shape)
    if initialisation == "uniform":
        bound = 1 / sqrt(shape[-1])
        nn.init.uniform_(vectors, -bound, bound)
    else:
        known = {"normal": 1.0, "small_normal": 1 / 8}
        require(
            initialisation in known,
            f"{loss}.initialisation must be 'normal', 'small_normal' or 'uniform'; got '{initialisation}'",
        )
        nn.init.normal_(vectors, std=known[initialisation])
    return nn.Parameter(vectors)


def class_indices(labels: Tensor, n_classes: int, loss: str) -> Tensor:
    """Return labels (n,) as int64, refusing any that is not one of the classes 0..n_classes-1."""
    if len(labels):
        low, high = (int(label) for label in labels.aminmax())
        unknown = low if low < 0 else high
        require(
            low >= 0 and high < n_classes,
            f"{loss} knows the labels 0 to {n_classes - 1}, one for each of its {n_classes} classes; got {unknown}",
        )
    return labels.long()


def cosines(embeddings: Tensor, vectors: Tensor) -> Tensor:
    """Return the cosine of every embedding (n, d) with every class vector (m, d) as (n, m).

    A vector shorter than 1e-12 has cosine 0 with everything, and gradient 0.
    """
    return _fused_cosines(embeddings, vectors.to(embeddings.dtype))


def mean_cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    """Return the mean over samples of -log softmax at the label; 0 for an empty batch."""
    return functional.cross_entropy(logits, labels) if len(labels) else logits.sum()


def target_of(logits: Tensor, labels: Tensor) -> Tensor:
    """Return each sample's logit of its own class as (n, 1)."""
    return logits.gather(1, labels.unsqueeze(1))


def lower_target(logits: Tensor, labels: Tensor, margin: float) -> Tensor:
    """Return the logits (n, C) with `margin` taken off each sample's own class."""
    return logits.scatter_add(1, labels.unsqueeze(1), logits.new_full((len(labels), 1), -margin))


def bend_target(cosine: Tensor, labels: Tensor, curve: Curve) -> Tensor:
    """Return the cosines (n, C) with each sample's own replaced by `curve` of its angle theta.

    The angle is kept away from 0 and pi, where the slope of arccos is infinite.
    """
    return _bent_target(cosine, labels.unsqueeze(1), curve)


def widened_angle(theta: Tensor, margin: float, *, fallback: bool) -> tuple[Tensor, Tensor]:
    """Return cos(theta + margin) and its slope by theta, margin in radians.

    Past theta = pi - margin that cosine grows again, and would pull the sample away from its class; `fallback`
    continues with cos(theta) - margin * sin(margin), which keeps falling.
    """
    widened = theta + margin
    value, slope = widened.cos(), -widened.sin()
    if not fallback:
        return value, slope
    is_past = widened > pi
    value = torch.where(is_past, theta.cos() - margin * sin(margin), value)
    return value, torch.where(is_past, -theta.sin(), slope)


class _Cosines(torch.autograd.Function):
    """Normalise both sides and multiply, with the gradient written out; it cannot be differentiated twice.

    Autograd through two normalisations takes about twice as many passes over the arrays as the closed form: the
    gradient of x / |x| is the incoming one without its part along x, over |x|.
    """

    @staticmethod
    def forward(ctx: Any, embeddings: Tensor, vectors: Tensor) -> Tensor:
        shrink_left, shrink_right = _inverse_lengths(embeddings), _inverse_lengths(vectors)
        left, right = embeddings * shrink_left, vectors * shrink_right
        ctx.save_for_backward(left, right, shrink_left, shrink_right)
        return left @ right.T

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor | None]:
        (gradient,) = gradients
        left, right, shrink_left, shrink_right = ctx.saved_tensors
        needs_left, needs_right = ctx.needs_input_grad
        return (
            _across(gradient @ right, left, shrink_left) if needs_left else None,
            _across(gradient.T @ left, right, shrink_right) if needs_right else None,
        )


class _BentTarget(torch.autograd.Function):
    """Exchange one logit a row for a function of it, with the gradient written out; not differentiable twice."""

    @staticmethod
    def forward(ctx: Any, cosine: Tensor, own: Tensor, curve: Curve) -> Tensor:
        theta = cosine.gather(1, own).clamp(-1 + 1e-7, 1 - 1e-7).arccos()
        value, slope = curve(theta)
        ctx.save_for_backward(own, -slope / theta.sin())
        return cosine.scatter(1, own, value)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        (gradient,) = gradients
        own, slope_by_cosine = ctx.saved_tensors
        return gradient.scatter(1, own, gradient.gather(1, own) * slope_by_cosine), None, None


_fused_cosines: Callable[[Tensor, Tensor], Tensor] = _Cosines.apply
_bent_target: Callable[[Tensor, Tensor, Curve], Tensor] = _BentTarget.apply


def _inverse_lengths(vectors: Tensor) -> Tensor:
    """Return 1 / |v| as (n, 1), and 0 where a vector is too short to have a direction."""
    lengths: Tensor = torch.linalg.vector_norm(vectors, dim=1, keepdim=True)
    return functional.threshold(lengths, 1e-12, torch.inf).reciprocal_()


def _across(gradient: Tensor, unit: Tensor, shrink: Tensor) -> Tensor:
    """Return the gradient by x of a function of the unit vector x / |x|."""
    along = (gradient * unit).sum(1, keepdim=True)
    return torch.addcmul(gradient, unit, along, value=-1).mul_(shrink)
