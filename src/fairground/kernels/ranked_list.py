"""Ranked list loss and its gradient; equals `RankedListLoss.formula`."""

from typing import NamedTuple

from torch import Tensor

from fairground.contracts.loss import KernelResult
from fairground.kernels.batch_pairs import BatchPairs, batch_pairs
from fairground.kernels.gradients import kernel_of_distances
from fairground.kernels.log_sums import group_sums


class RankedListSettings(NamedTuple):
    """Those of `RankedListLoss`; `differentiated` says whether the weights are."""

    alpha: float
    margin: float
    negative_weight: float
    negative_temperature: float
    positive_temperature: float
    differentiated: bool


def value_and_gradient(embeddings: Tensor, labels: Tensor, settings: RankedListSettings) -> KernelResult | None:
    """Return the mean over the batch, and its gradient; None for fewer than two samples."""
    if len(labels) < 2:
        return None
    pairs = batch_pairs(embeddings, labels, None)
    return kernel_of_distances(embeddings, lambda d: _of_distances(d, pairs, settings), normalise=True)


def _of_distances(distances: Tensor, pairs: BatchPairs, settings: RankedListSettings) -> tuple[Tensor, Tensor]:
    alpha, margin, weight, of_negative, of_positive, differentiated = settings
    pull, push = (1 - weight) / pairs.n, weight / pairs.n
    too_far = distances.take(pairs.place) - (alpha - margin)
    kept = (too_far > 0).nonzero().squeeze(1)
    pairs, too_far = pairs.where(kept), too_far.take(kept)
    positives = group_sums(of_positive * too_far, pairs.anchor, pairs.n)
    of_positives = pairs.per_anchor(positives.shares * too_far)

    too_near = pairs.keep_negatives_(alpha - distances).clamp_min_(0)
    nearest = too_near.amax(1, keepdim=True)
    shares = (too_near - nearest).mul_(of_negative).exp_().mul_(too_near.sign())
    shares /= shares.sum(1, keepdim=True).clamp_min_(1)
    of_negatives = (shares * too_near).sum(1)

    pulls, gradient = positives.shares * pull, shares * -push
    if differentiated:
        pulls *= 1 + of_positive * (too_far - of_positives.take(pairs.anchor))
        gradient *= 1 + of_negative * (too_near - of_negatives.unsqueeze(1))
    loss = pull * of_positives.sum() + push * of_negatives.sum()
    return loss, gradient.put_(pairs.place, pulls, accumulate=True)
