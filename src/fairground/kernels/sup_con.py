"""Supervised contrastive loss and its gradient; equals `SupConLoss.formula`."""

from math import inf

import torch
from torch import Tensor

from fairground.contracts.loss import KernelResult
from fairground.contracts.tuples import Tuples
from fairground.kernels.batch_pairs import BatchPairs, batch_pairs
from fairground.kernels.gradients import kernel_of_products
from fairground.kernels.log_sums import row_sums_


def value_and_gradient(
    embeddings: Tensor, labels: Tensor, tuples: Tuples | None, *, temperature: float
) -> KernelResult | None:
    """Return the mean over anchors with positives, and its gradient; None without a positive or without a negative."""
    pairs = batch_pairs(embeddings, labels, tuples)
    if not pairs.are_complete:
        return None
    return kernel_of_products(embeddings, lambda s: _of_cosines(s, pairs, temperature), normalise=True)


def _of_cosines(cosines: Tensor, pairs: BatchPairs, temperature: float) -> tuple[Tensor, Tensor]:
    logits = cosines.div_(temperature)
    n_positives = pairs.n_positives(logits)
    # 0 / 0 where an anchor has no positive.
    mean_positive = pairs.per_anchor(logits.take(pairs.place)) / n_positives
    # Of a row with one pair alone, which a miner may leave, the term must be 0 and not what log(exp(.)) leaves of it.
    within = 1 / temperature if pairs.log_counts is None else inf
    everyone = row_sums_(pairs.keep_pairs_(logits), within=within)
    terms = torch.where(n_positives > 0, everyone.log - mean_positive, 0)
    is_active = terms > 0
    weights = is_active.to(terms.dtype) / is_active.sum().clamp_min_(1)
    pull = weights / n_positives / temperature
    gradient = everyone.shares_(weights / temperature)
    return terms @ weights, gradient.put_(pairs.place, -pull.take(pairs.anchor), accumulate=True)
