"""Circle loss and its gradient; equals `CircleLoss.formula`."""

from torch import Tensor

from fairground.contracts.loss import KernelResult
from fairground.contracts.tuples import Tuples
from fairground.functional.logsumexp import softplus
from fairground.kernels.batch_pairs import BatchPairs, batch_pairs
from fairground.kernels.gradients import kernel_of_products
from fairground.kernels.log_sums import group_sums, row_sums_


def value_and_gradient(
    embeddings: Tensor, labels: Tensor, tuples: Tuples | None, *, margin: float, gamma: float
) -> KernelResult | None:
    """Return the mean over anchors with l_a > 0, and its gradient; None without a positive or without a negative."""
    pairs = batch_pairs(embeddings, labels, tuples)
    if not pairs.are_complete:
        return None
    return kernel_of_products(embeddings, lambda s: _of_cosines(s, pairs, margin, gamma), normalise=True)


def _of_cosines(cosines: Tensor, pairs: BatchPairs, margin: float, gamma: float) -> tuple[Tensor, Tensor]:
    positive = cosines.take(pairs.place)
    positive_rate = (1 + margin - positive).clamp_min_(0).mul_(-gamma)
    positives = group_sums(positive_rate * (positive - 1 + margin), pairs.anchor, pairs.n)
    negative_rate = (cosines + margin).clamp_min_(0).mul_(gamma)
    negatives = row_sums_(pairs.keep_negatives_(cosines.sub_(margin).mul_(negative_rate)))
    # Minus infinity, and so a term of 0, where an anchor lacks either.
    pressure = positives.log + negatives.log
    terms = softplus(pressure)
    n_active = (terms > 0).sum().clamp_min_(1)
    push = pressure.sigmoid() / n_active
    gradient = negatives.shares_(push).mul_(negative_rate)
    pull = push.take(pairs.anchor) * positives.shares * positive_rate
    return terms.sum() / n_active, gradient.put_(pairs.place, pull, accumulate=True)
