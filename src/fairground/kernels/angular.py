"""Angular loss and its gradient; equals `AngularLoss.formula` without the price of the norm."""

from typing import NamedTuple

import torch
from torch import Tensor

from fairground.contracts.loss import KernelResult
from fairground.contracts.tuples import Tuples
from fairground.kernels import n_pair
from fairground.kernels.batch_pairs import BatchPairs, batch_pairs, one_random_positive
from fairground.kernels.gradients import kernel_of_products
from fairground.kernels.log_sums import row_sums_


class AngularSettings(NamedTuple):
    """Those of `AngularLoss`, with `t2` for tan^2 of its angle."""

    t2: float
    angular_weight: float
    npair_weight: float
    one_random: bool
    normalise: bool


def value_and_gradient(
    embeddings: Tensor,
    labels: Tensor,
    tuples: Tuples | None,
    settings: AngularSettings,
    generator: torch.Generator | None,
) -> KernelResult | None:
    """Return the weighted parts, and their gradient; None without a positive or without a negative."""
    pairs = batch_pairs(embeddings, labels, tuples, repeats=True)
    if not pairs.are_complete:
        return None
    if settings.one_random:
        pairs = one_random_positive(pairs, generator)
    # All pairs come in both orders, with one and the same term.
    half = pairs.where(pairs.anchor < pairs.positive) if tuples is None and not settings.one_random else pairs
    t2, weight = settings.t2, settings.angular_weight
    result = kernel_of_products(embeddings, lambda s: _of_cosines(s, half, t2, weight), normalise=True)
    if settings.npair_weight == 0:
        return result
    npair = n_pair.of_pairs(embeddings, pairs, normalise=settings.normalise)
    value = result.value + settings.npair_weight * npair.value
    return KernelResult(value, result.gradient.add_(npair.gradient, alpha=settings.npair_weight))


def _of_cosines(cosines: Tensor, pairs: BatchPairs, t2: float, weight: float) -> tuple[Tensor, Tensor]:
    share = weight / len(pairs.anchor)
    closeness = 2 * (1 + t2) * cosines.take(pairs.place)
    by_positive = cosines.mul_(4 * t2)
    by_anchor = pairs.keep_negatives_(by_positive.clone())
    loss, gradient = cosines.new_zeros(()), torch.zeros_like(cosines)
    # As many pairs at a time as the batch has rows: no block is larger than the matrix of cosines.
    for first in range(0, len(pairs.anchor), pairs.n):
        block = slice(first, first + pairs.n)
        anchor, positive = pairs.anchor[block], pairs.positive[block]
        exponents = by_anchor.index_select(0, anchor).add_(by_positive.index_select(0, positive))
        exponents.sub_(closeness[block].unsqueeze(1))
        sums = row_sums_(exponents, plus_one=True, within=10 * t2 + 2)
        loss += sums.log.sum()
        shares = sums.shares_(torch.full_like(sums.log, share))
        closer = shares.sum(1)
        gradient.index_add_(0, anchor, shares, alpha=4 * t2).index_add_(0, positive, shares, alpha=4 * t2)
        gradient.put_(pairs.place[block], closer.mul_(-2 * (1 + t2)), accumulate=True)
    return loss * share, gradient
