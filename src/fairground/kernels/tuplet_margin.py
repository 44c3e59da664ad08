"""Tuplet margin loss and its gradient; equals `TupletMarginLoss.formula`."""

from torch import Tensor

from fairground.contracts.loss import KernelResult
from fairground.contracts.tuples import Tuples
from fairground.kernels.batch_pairs import BatchPairs, batch_pairs
from fairground.kernels.gradients import kernel_of_products
from fairground.kernels.tuplets import tuplets_


def value_and_gradient(
    embeddings: Tensor, labels: Tensor, tuples: Tuples | None, *, margin: float, scale: float
) -> KernelResult | None:
    """Return the mean over positive pairs, `margin` being in radians, and its gradient.

    None without a positive or without a negative.
    """
    pairs = batch_pairs(embeddings, labels, tuples, repeats=True)
    if not pairs.are_complete:
        return None
    return kernel_of_products(embeddings, lambda s: _of_cosines(s, pairs, margin, scale), normalise=True)


def _of_cosines(cosines: Tensor, pairs: BatchPairs, margin: float, scale: float) -> tuple[Tensor, Tensor]:
    cosine = cosines.take(pairs.place)
    kept = cosine.clamp(-1 + 1e-7, 1 - 1e-7)
    theta = kept.arccos()
    eased = theta - margin
    tuplets = tuplets_(cosines.mul_(scale), scale * eased.cos(), pairs, within=scale)
    push = tuplets.pull * (scale / len(cosine))
    # d cos(theta - margin) / d cos(theta)
    rate = eased.sin() / theta.sin() * (kept == cosine)
    return tuplets.terms.mean(), tuplets.gradient_(push, push * rate)
