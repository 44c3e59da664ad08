"""Lifted structure loss and its gradient; equals `LiftedStructureLoss.formula`."""

import torch
from torch import Tensor

from fairground.contracts.loss import KernelResult
from fairground.contracts.tuples import Tuples
from fairground.kernels.batch_pairs import BatchPairs, batch_pairs
from fairground.kernels.gradients import kernel_of_distances
from fairground.kernels.log_sums import row_sums_


def value_and_gradient(
    embeddings: Tensor, labels: Tensor, tuples: Tuples | None, *, margin: float
) -> KernelResult | None:
    """Return the mean over positive pairs, and its gradient; None without a positive or without a negative."""
    pairs = batch_pairs(embeddings, labels, tuples, repeats=True)
    if not pairs.are_complete:
        return None
    return kernel_of_distances(embeddings, lambda d: _of_distances(d, pairs, margin), normalise=True)


def _of_distances(distances: Tensor, pairs: BatchPairs, margin: float) -> tuple[Tensor, Tensor]:
    apart = distances.take(pairs.place)
    negatives = row_sums_(pairs.keep_negatives_(margin - distances), within=abs(margin) + 2)
    at_anchor, at_positive = negatives.log.take(pairs.anchor), negatives.log.take(pairs.positive)
    violation = (torch.logaddexp(at_anchor, at_positive) + apart).clamp_min_(0)
    pull = violation / len(apart)
    # How much of the sum of a pair comes from its anchor's negatives; 0 / 0 where neither end has any.
    from_anchor = (at_anchor - at_positive).sigmoid().nan_to_num_()
    push = pairs.per_anchor(pull * from_anchor).index_add_(0, pairs.positive, pull * (1 - from_anchor))
    gradient = negatives.shares_(-push)
    return violation.square().mean() / 2, gradient.put_(pairs.place, pull, accumulate=True)
