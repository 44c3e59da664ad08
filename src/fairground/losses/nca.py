"""Neighbourhood components analysis: the chance that a random neighbour, near ones likelier, is of the anchor's class.

Formula
    L = mean over anchors i with positives of  -log( sum_p e^(-scale D_ip) / sum_{k != i} e^(-scale D_ik) )
    with D the squared Euclidean distance of unit vectors.

Paper
    Goldberger, Roweis, Hinton and Salakhutdinov, "Neighbourhood Components Analysis", NIPS 2004, section 2.

Departures from the paper
    The mean logarithm of the chance instead of its sum (the paper offers both), and distances of unit vectors, where
    D = 2 - 2 s: the constant cancels and 2 * scale * cosine is the logit.
"""

from typing import ClassVar

import torch
from torch import Tensor

from fairground.contracts.loss import Loss
from fairground.contracts.tuples import Tuples
from fairground.errors import require
from fairground.functional.logsumexp import group_sums, row_sums_, softplus
from fairground.functional.pairs import BatchPairs, batch_pairs
from fairground.functional.reductions import zero_of
from fairground.kernels.gradients import of_products
from fairground.spec.space import LogReal


class NcaLoss(Loss):
    """`scale` multiplies squared distances: the larger, the fewer samples count as near."""

    tunable: ClassVar[dict[str, LogReal]] = {"scale": LogReal(low=0.01, high=100)}

    def __init__(self, *, scale: float = 1.0) -> None:
        super().__init__()
        require(scale > 0, f"nca.scale must be above 0; got {scale}")
        self.scale = scale

    def compute(
        self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, *, generator: torch.Generator | None
    ) -> Tensor:
        """Return the mean over anchors with positives; 0 without a positive or without a negative."""
        pairs = batch_pairs(embeddings, labels, tuples)
        if not pairs.are_complete:
            return zero_of(embeddings)
        return of_products(embeddings, lambda cosines: self._loss_and_slopes(cosines, pairs), normalise=True)

    def _loss_and_slopes(self, cosines: Tensor, pairs: BatchPairs) -> tuple[Tensor, Tensor]:
        logits = cosines.mul_(2 * self.scale)
        positives = group_sums(logits.take(pairs.place), pairs.anchor, pairs.n, within=2 * self.scale)
        negatives = row_sums_(pairs.keep_negatives_(logits), within=2 * self.scale)
        has_positive = positives.log > -torch.inf
        gap = torch.where(has_positive, negatives.log - positives.log, -torch.inf)
        n_anchors = has_positive.sum()
        push = gap.sigmoid().mul_(2 * self.scale).div_(n_anchors)
        slopes = negatives.shares_(push)
        pull = push.take(pairs.anchor) * positives.shares
        return softplus(gap).sum() / n_anchors, slopes.put_(pairs.place, -pull, accumulate=True)
