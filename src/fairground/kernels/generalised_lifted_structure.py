"""Generalised lifted structure loss and its gradient; equals `GeneralisedLiftedStructureLoss.formula`."""

from math import inf

import torch
from torch import Tensor

from fairground.contracts.loss import KernelResult
from fairground.contracts.tuples import Tuples
from fairground.kernels.batch_pairs import BatchPairs, batch_pairs
from fairground.kernels.gradients import kernel_of_distances
from fairground.kernels.log_sums import group_sums, row_sums_


def value_and_gradient(
    embeddings: Tensor,
    labels: Tensor,
    tuples: Tuples | None,
    *,
    margin: float,
    normalise: bool,
    over_anchors: bool,
) -> KernelResult | None:
    """Return the mean or sum over anchors, and its gradient; None without a positive or without a negative."""
    pairs = batch_pairs(embeddings, labels, tuples)
    if not pairs.are_complete:
        return None
    within = abs(margin) + 2 if normalise else inf

    def of_distances(distances: Tensor) -> tuple[Tensor, Tensor]:
        return _of_distances(distances, pairs, margin, over_anchors, within)

    return kernel_of_distances(embeddings, of_distances, normalise=normalise)


def _of_distances(
    distances: Tensor, pairs: BatchPairs, margin: float, over_anchors: bool, within: float
) -> tuple[Tensor, Tensor]:
    positives = group_sums(distances.take(pairs.place), pairs.anchor, pairs.n, within=within)
    negatives = row_sums_(pairs.keep_negatives_(margin - distances), within=within)
    # Minus infinity, and so 0, where an anchor lacks either.
    violation = positives.log + negatives.log
    eligible = (violation > -torch.inf).sum().clamp_min_(1) if over_anchors else 1
    pull = (violation > 0).to(violation.dtype) / eligible
    gradient = negatives.shares_(-pull)
    gradient.put_(pairs.place, positives.shares * pull.take(pairs.anchor), accumulate=True)
    return violation.clamp_min_(0).sum() / eligible, gradient
