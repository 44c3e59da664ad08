"""Softmax over cosines in which the angle to the own class is changed: ArcFace, sub-centre ArcFace and SphereFace.

Equals `functional.prototypes.mean_cross_entropy` of cosines whose own entry is a function of `angles`.
"""

from collections.abc import Callable
from functools import partial
from math import pi, sin

import torch
from torch import Tensor

from fairground.contracts.loss import KernelResult
from fairground.functional.distances import norms
from fairground.functional.prototypes import CLEARANCE
from fairground.kernels.cosines import cross_entropy_, kernel_of_centre_cosines, kernel_of_cosines

#: angles theta (n, 1) to new values in the place of cos(theta), and their derivatives by theta
Curve = Callable[[Tensor], tuple[Tensor, Tensor]]


def arc_face(
    embeddings: Tensor,
    weights: Tensor,
    labels: Tensor,
    *,
    scale: float,
    margin: float,
    fallback: bool,
    clamp_min: float | None,
) -> KernelResult:
    """Return the mean cross-entropy of scale * cos(theta + margin [own class]), cosines at least `clamp_min`."""
    own = labels.unsqueeze(1)
    curve = partial(widened_angle, margin=margin, fallback=fallback)

    def rule(cosine: Tensor) -> tuple[Tensor, Tensor]:
        if clamp_min is None:
            return _bent_cross_entropy_(cosine, own, scale, curve)
        is_clamped = cosine < clamp_min
        value, slopes = _bent_cross_entropy_(cosine.clamp_min_(clamp_min), own, scale, curve)
        return value, slopes.masked_fill_(is_clamped, 0)

    return kernel_of_cosines(embeddings, weights, rule)


def sub_centre_arc_face(
    embeddings: Tensor, centres: Tensor, labels: Tensor, *, scale: float, margin: float, fallback: bool
) -> KernelResult:
    """Return that of the nearest centre of each class; centres equally near share the derivative."""
    own = labels.unsqueeze(1)
    curve = partial(widened_angle, margin=margin, fallback=fallback)

    def rule(cosine: Tensor) -> tuple[Tensor, Tensor]:
        nearest = cosine.amax(1, keepdim=True)
        shares = cosine.eq_(nearest)
        value, slopes = _bent_cross_entropy_(nearest.squeeze(1), own, scale, curve)
        return value, shares.mul_(slopes.unsqueeze(1) / shares.sum(1, keepdim=True))

    return kernel_of_centre_cosines(embeddings, centres, rule)


def sphere_face(
    embeddings: Tensor, weights: Tensor, labels: Tensor, *, scale: float, margin: int, cosine_weight: float
) -> KernelResult:
    """Return the mean cross-entropy of scale * |x| * cosines, the own angle multiplied by `margin`, in part."""
    own = labels.unsqueeze(1)
    lengths = torch.linalg.vector_norm(embeddings, dim=1, keepdim=True)
    if lengths.isinf().any():
        lengths = norms(embeddings)

    def rule(cosine: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        bend = _bend_(cosine, own, partial(multiplied_angle, margin=margin, cosine_weight=cosine_weight))
        value, slopes = cross_entropy_(cosine * lengths, own, scale)
        # A length multiplies all logits of its row.
        by_length = cosine.mul_(slopes).sum(1, keepdim=True)
        return value, _scale_own_(slopes.mul_(lengths), own, bend), by_length

    return kernel_of_cosines(embeddings, weights, rule)


def widened_angle(theta: Tensor, margin: float, *, fallback: bool) -> tuple[Tensor, Tensor]:
    """Return `functional.prototypes.widened_cosine` and its derivative by theta."""
    widened = theta + margin
    value, slope = widened.cos(), -widened.sin()
    if not fallback:
        return value, slope
    is_past = widened > pi
    value = torch.where(is_past, theta.cos() - margin * sin(margin), value)
    return value, torch.where(is_past, -theta.sin(), slope)


def multiplied_angle(theta: Tensor, margin: int, cosine_weight: float) -> tuple[Tensor, Tensor]:
    """Return psi = (-1)^k cos(margin * theta) - 2k, k = floor(margin * theta / pi), and its derivative by theta.

    Both are averaged with those of cos(theta), which counts `cosine_weight` times.
    """
    turned = theta * margin
    k = (turned / pi).floor_()
    sign = 1 - 2 * (k % 2)
    value, slope = sign * turned.cos() - 2 * k, sign * turned.sin() * -margin
    if cosine_weight == 0:
        return value, slope
    both = 1 + cosine_weight
    return (value + cosine_weight * theta.cos()) / both, (slope - cosine_weight * theta.sin()) / both


def _bent_cross_entropy_(cosine: Tensor, own: Tensor, scale: float, curve: Curve) -> tuple[Tensor, Tensor]:
    bend = _bend_(cosine, own, curve)
    value, slopes = cross_entropy_(cosine, own, scale)
    return value, _scale_own_(slopes, own, bend)


def _bend_(cosine: Tensor, own: Tensor, curve: Curve) -> Tensor:
    """Replace the own cosine by `curve` of its angle; return the derivative (n, 1) of the new by the old."""
    before = cosine.gather(1, own)
    clamped = before.clamp(-1 + CLEARANCE, 1 - CLEARANCE)
    theta = clamped.arccos()
    value, slope = curve(theta)
    cosine.scatter_(1, own, value)
    return slope.div_(theta.sin_().neg_()).mul_(before == clamped)


def _scale_own_(slopes: Tensor, own: Tensor, factor: Tensor) -> Tensor:
    return slopes.scatter_(1, own, slopes.gather(1, own).mul_(factor))
