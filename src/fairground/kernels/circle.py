"""Circle loss and its gradient; equals `CircleLoss.formula`."""

from functools import partial

from torch import Tensor

from fairground.contracts.loss import KernelResult
from fairground.contracts.tuples import Tuples
from fairground.functional.logsumexp import softplus
from fairground.kernels.batch_pairs import BatchPairs
from fairground.kernels.log_sums import group_sums, row_sums_
from fairground.kernels.pair_blocks import kernel_of_pairs


def value_and_gradient(
    embeddings: Tensor, labels: Tensor, tuples: Tuples | None, *, margin: float, gamma: float
) -> KernelResult | None:
    """Return the mean over anchors with l_a > 0, and its gradient; None without a positive or without a negative."""
    return kernel_of_pairs(embeddings, labels, tuples, partial(_of_cosines, margin=margin, gamma=gamma), complete=True)


def _of_cosines(cosines: Tensor, pairs: BatchPairs, *, margin: float, gamma: float) -> tuple[Tensor, Tensor, Tensor]:
    positive = cosines.take(pairs.place)
    positive_rate = (1 + margin - positive).clamp_min_(0).mul_(-gamma)
    positives = group_sums(positive_rate * (positive - 1 + margin), pairs.anchor, pairs.n)
    negative_rate = (cosines + margin).clamp_min_(0).mul_(gamma)
    negatives = row_sums_(pairs.keep_negatives_(cosines.sub_(margin).mul_(negative_rate)))
    # Minus infinity, and so a term of 0, where an anchor lacks either.
    pressure = positives.log + negatives.log
    terms = softplus(pressure)
    n_active = (terms > 0).sum()
    push = pressure.sigmoid() / n_active.clamp_min(1)
    gradient = negatives.shares_(push).mul_(negative_rate)
    pull = push.take(pairs.anchor) * positives.shares * positive_rate
    mean = terms.sum() / n_active.clamp_min(1)
    return mean, gradient.put_(pairs.place, pull, accumulate=True), n_active
