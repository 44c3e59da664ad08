"""Neighbourhood components analysis and its gradient; equals `NcaLoss.formula`.

With D_ik = |z_i|^2 + |z_k|^2 - 2 z_i.z_k, what belongs to the anchor cancels: scale (2 z_i.z_k - |z_k|^2) is the logit.
The gradient of |z_k|^2 lies along z_k, where a unit vector cannot move.
"""

import torch
from torch import Tensor

from fairground.contracts.loss import KernelResult
from fairground.functional.logsumexp import softplus
from fairground.kernels.batch_pairs import BatchPairs, batch_pairs
from fairground.kernels.gradients import kernel_of_products
from fairground.kernels.log_sums import group_sums, row_sums_


def value_and_gradient(embeddings: Tensor, labels: Tensor, *, scale: float) -> KernelResult | None:
    """Return the mean over anchors with positives, and its gradient; None without a positive or without a negative."""
    pairs = batch_pairs(embeddings, labels, None)
    if not pairs.are_complete:
        return None
    return kernel_of_products(embeddings, lambda s: _of_products(s, pairs, scale), normalise=True)


def _of_products(products: Tensor, pairs: BatchPairs, scale: float) -> tuple[Tensor, Tensor]:
    lengths = products.diagonal() * scale
    logits = products.mul_(2 * scale).sub_(lengths)
    positives = group_sums(logits.take(pairs.place), pairs.anchor, pairs.n, within=3 * scale)
    negatives = row_sums_(pairs.keep_negatives_(logits), within=3 * scale)
    has_positive = positives.log > -torch.inf
    gap = torch.where(has_positive, negatives.log - positives.log, -torch.inf)
    n_anchors = has_positive.sum()
    push = gap.sigmoid().mul_(2 * scale).div_(n_anchors)
    gradient = negatives.shares_(push)
    pull = push.take(pairs.anchor) * positives.shares
    return softplus(gap).sum() / n_anchors, gradient.put_(pairs.place, -pull, accumulate=True)
