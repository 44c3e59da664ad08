"""Supervised contrastive loss and its gradient; equals `SupConLoss.formula`."""

from functools import partial
from math import inf

import torch
from torch import Tensor

from fairground.contracts.loss import KernelResult
from fairground.contracts.tuples import Tuples
from fairground.kernels.batch_pairs import BatchPairs
from fairground.kernels.log_sums import row_sums_
from fairground.kernels.pair_blocks import kernel_of_pairs


def value_and_gradient(
    embeddings: Tensor, labels: Tensor, tuples: Tuples | None, *, temperature: float
) -> KernelResult | None:
    """Return the mean over anchors with positives, and its gradient; None without a positive or without a negative."""
    rule = partial(_of_cosines, temperature=temperature)
    return kernel_of_pairs(embeddings, labels, tuples, rule, complete=True)


def _of_cosines(cosines: Tensor, pairs: BatchPairs, *, temperature: float) -> tuple[Tensor, Tensor, Tensor]:
    logits = cosines.div_(temperature)
    n_positives = pairs.n_positives(logits)
    # 0 / 0 where an anchor has no positive.
    mean_positive = pairs.per_anchor(logits.take(pairs.place)) / n_positives
    # Of a row with one pair alone, which a miner may leave, the term must be 0 and not what log(exp(.)) leaves of it.
    within = 1 / temperature if pairs.log_counts is None else inf
    everyone = row_sums_(pairs.keep_pairs_(logits), within=within)
    terms = torch.where(n_positives > 0, everyone.log - mean_positive, 0)
    is_active = terms > 0
    n_active = is_active.sum()
    weights = is_active.to(terms.dtype) / n_active.clamp_min(1)
    pull = weights / n_positives / temperature
    gradient = everyone.shares_(weights / temperature)
    return terms @ weights, gradient.put_(pairs.place, -pull.take(pairs.anchor), accumulate=True), n_active
