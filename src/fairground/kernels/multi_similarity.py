"""Multi-similarity loss and its gradient; equals `MultiSimilarityLoss.formula`."""

from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor

from fairground.contracts.loss import KernelResult
from fairground.contracts.tuples import Tuples
from fairground.kernels.batch_pairs import BatchPairs
from fairground.kernels.log_sums import group_sums, row_sums_
from fairground.kernels.pair_blocks import kernel_of_pairs


class MultiSimilaritySettings(NamedTuple):
    """Those of `MultiSimilarityLoss`."""

    alpha: float
    beta: float
    base: float
    epsilon: float | None
    empty: str
    self_positive_bug: bool


def value_and_gradient(
    embeddings: Tensor, labels: Tensor, tuples: Tuples | None, settings: MultiSimilaritySettings
) -> KernelResult | None:
    """Return the reduced terms, and their gradient; None for an empty batch."""
    if len(labels) == 0:
        return None
    return kernel_of_pairs(embeddings, labels, tuples, partial(_of_cosines, settings=settings), complete=False)


def _of_cosines(
    cosines: Tensor, pairs: BatchPairs, *, settings: MultiSimilaritySettings
) -> tuple[Tensor, Tensor, Tensor]:
    alpha, beta, base, epsilon, empty, self_positive_bug = settings
    if self_positive_bug:
        pairs = pairs.with_own()
    positive = cosines.take(pairs.place)
    negative = pairs.keep_negatives_(cosines)
    if epsilon is not None:
        pairs, positive = _mine_(negative, positive, pairs, epsilon)
    weights, count = _weights(negative, pairs, empty)
    widest = 1 + abs(base)
    positives = group_sums(alpha * (base - positive), pairs.anchor, pairs.n, plus_one=True, within=alpha * widest)
    negatives = row_sums_(negative.sub_(base).mul_(beta), plus_one=True, within=beta * widest)
    terms = positives.log / alpha + negatives.log / beta
    gradient = negatives.shares_(weights)
    gradient.put_(pairs.place, -positives.shares * weights.take(pairs.anchor), accumulate=True)
    return terms @ weights, gradient, count


def _mine_(negative: Tensor, positive: Tensor, pairs: BatchPairs, epsilon: float) -> tuple[BatchPairs, Tensor]:
    """Return the positive pairs to keep and their cosines; negatives not to keep become minus infinity."""
    hardest = negative.amax(1)
    weakest = positive.new_full((pairs.n,), torch.inf).scatter_reduce_(0, pairs.anchor, positive, "amin")
    negative.masked_fill_(negative + epsilon <= weakest.unsqueeze(1), -torch.inf)
    kept = positive - epsilon < hardest.take(pairs.anchor)
    return pairs.where(kept), positive[kept]


def _weights(negative: Tensor, pairs: BatchPairs, empty: str) -> tuple[Tensor, Tensor]:
    """Return the weight (n,) of each anchor in the mean, and over how many it is taken."""
    everyone = negative.new_tensor(pairs.n)
    if empty == "halves":
        return negative.new_full((pairs.n,), 1 / pairs.n), everyone
    survives = (negative.amax(1) > -torch.inf) * pairs.n_positives(negative).clamp_max_(1)
    count = survives.sum() if empty == "survivors" else everyone
    return survives / count.clamp_min(1), count
