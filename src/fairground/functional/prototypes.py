"""Learnable class vectors, and losses of the cosines between embeddings and them.

A *rule* takes the matrix of cosines (n, m), its own to overwrite, and returns the loss and the slope of the loss at
every cosine; where the loss depends on the embeddings' lengths too, also its slope at every length (n, 1). From the
slopes both gradients are one matrix product away, so autograd records a single step and keeps nothing larger than the
embeddings and the class vectors. A second derivative is refused, not answered wrongly.

How far apart the centres of each class are.
"""

from collections.abc import Callable
from math import pi, sin, sqrt
from typing import Any

import torch
from torch import Tensor, nn, triu_indices
from torch.autograd.function import once_differentiable

from fairground.errors import require
from fairground.functional.distances import normalize, normalize_rows, tangent_projection
from fairground.functional.reductions import zero_of

#: cosines (n, m) to the loss, its slopes (n, m), and perhaps its slopes (n, 1) by length
Rule = Callable[[Tensor], tuple[Tensor, Tensor] | tuple[Tensor, Tensor, Tensor]]
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
    """Return labels (n,) as a column (n, 1) of int64, refusing any that is not one of the classes 0..n_classes-1."""
    if len(labels):
        low, high = (int(label) for label in labels.aminmax())
        unknown = low if low < 0 else high
        require(
            low >= 0 and high < n_classes,
            f"{loss} knows the labels 0 to {n_classes - 1}, one for each of its {n_classes} classes; got {unknown}",
        )
    return labels.long().unsqueeze(1)


def by_centre(vectors: Tensor) -> Tensor:
    """Return vectors (C, K, d) as (K * C, d), first centres first.

    Cosines with them are (n, K, C) in memory, where a softmax or maximum over K is several times faster than over a
    short last axis.
    """
    return vectors.transpose(0, 1).flatten(0, 1)


def cosines(embeddings: Tensor, vectors: Tensor) -> Tensor:
    """Return the cosine of every embedding (n, d) with every class vector (m, d) as (n, m)."""
    return normalize(embeddings) @ normalize(vectors.to(embeddings.dtype)).T


def of_cosines(embeddings: Tensor, vectors: Tensor, rule: Rule) -> Tensor:
    """Return the rule's loss of the cosines; 0 for an empty batch.

    A vector shorter than 1e-12 has cosine 0 with everything, and gradient 0.
    """
    if not len(embeddings):
        return zero_of(embeddings)
    return _with_gradients(embeddings, vectors.to(embeddings.dtype), rule)


def cross_entropy_(logits: Tensor, own: Tensor, scale: float) -> tuple[Tensor, Tensor]:
    """Return the mean of -log softmax(scale * logits) at the own class, and its slopes; logits are overwritten."""
    log_shares = logits.mul_(scale).log_softmax(1)
    loss = log_shares.gather(1, own).mean().neg_()
    slopes = log_shares.exp_().scatter_add_(1, own, torch.full_like(own, -1, dtype=logits.dtype))
    return loss, slopes.mul_(scale / len(own))


def bent_cross_entropy_(cosine: Tensor, own: Tensor, scale: float, curve: Curve) -> tuple[Tensor, Tensor]:
    """Return the same with the cosine of the own class replaced by `curve` of its angle."""
    bend = bend_(cosine, own, curve)
    loss, slopes = cross_entropy_(cosine, own, scale)
    return loss, scale_own_(slopes, own, bend)


def bend_(cosine: Tensor, own: Tensor, curve: Curve) -> Tensor:
    """Replace the cosine of the own class by `curve` of its angle; return the slope (n, 1) of the new by the old."""
    # The slope of arccos is infinite at -1 and 1.
    theta = cosine.gather(1, own).clamp_(-1 + 1e-7, 1 - 1e-7).arccos_()
    value, slope = curve(theta)
    cosine.scatter_(1, own, value)
    return slope / theta.sin_().neg_()


def scale_own_(slopes: Tensor, own: Tensor, factor: Tensor) -> Tensor:
    """Multiply the slope at the own class by `factor` (n, 1)."""
    return slopes.scatter_(1, own, slopes.gather(1, own).mul_(factor))


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


class _WithGradients(torch.autograd.Function):
    """Returns a loss found together with its gradients by the embeddings and by the class vectors."""

    @staticmethod
    def forward(ctx: Any, embeddings: Tensor, vectors: Tensor, rule: Rule) -> Tensor:
        (left, shrink_left), (right, shrink_right) = normalize_rows(embeddings), normalize_rows(vectors)
        loss, slopes, *by_length = rule(left @ right.T)
        by_left = tangent_projection(slopes @ right, left, shrink_left)
        for slope in by_length:
            by_left.addcmul_(left, slope)
        ctx.save_for_backward(by_left, tangent_projection(slopes.T @ left, right, shrink_right))
        return loss

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, Tensor, None]:
        left, right = ctx.saved_tensors
        return left * upstream[0], right * upstream[0], None


# `apply` has no types of its own.
_with_gradients: Callable[[Tensor, Tensor, Rule], Tensor] = _WithGradients.apply


def centre_spread(centres: Tensor, *, per_pair: bool) -> Tensor:
    """Return sum_c sum_{k<l} ||w_ck - w_cl|| over unit centres (C, K, d), divided by C K (K - 1).

    `per_pair` divides by the number of pairs, C K (K - 1) / 2, instead. With one centre a class there is no pair and
    the spread is 0.
    """
    n_centres = centres.shape[1]
    if n_centres == 1:
        return centres.sum() * 0
    on_sphere = normalize(centres)
    products = on_sphere @ on_sphere.transpose(1, 2)
    first, second = triu_indices(n_centres, n_centres, offset=1, device=centres.device)
    # The slope of the root is infinite where two centres coincide.
    distances = (2 - 2 * products[:, first, second]).clamp_min(1e-12).sqrt()
    return distances.mean() if per_pair else distances.mean() / 2
