"""Supervised contrastive loss: an anchor should find its positives, on average, among all other samples.

Formula
    l_a = -1/|P(a)| sum_{p in P(a)} log( e^(s_ap/T) / sum_{k != a} e^(s_ak/T) ),  with s the cosine
    L = mean over anchors with positives of l_a (those with l_a > 0)

Paper
    Khosla et al., "Supervised Contrastive Learning", NeurIPS 2020, equation 2 (the mean outside the logarithm).

Departures from the paper
    Pairs come from labels, not from two views of an image. With a miner's pairs, k runs over those of the anchor. The
    factor T / T_base of the authors' code, which only scales the step, is left out.
"""

from typing import ClassVar

import torch
from torch import Tensor

from fairground.contracts.loss import Loss
from fairground.contracts.tuples import Pairs, Triplets, Tuples
from fairground.errors import require
from fairground.functional.logsumexp import row_sums_
from fairground.functional.pairs import BatchPairs, batch_pairs
from fairground.functional.reductions import zero_of
from fairground.kernels.gradients import of_products
from fairground.spec.space import LogReal


class SupConLoss(Loss):
    """`temperature` divides the cosines: the smaller, the more the hardest samples count."""

    accepts = (Pairs, Triplets)
    tunable: ClassVar[dict[str, LogReal]] = {"temperature": LogReal(low=1e-3, high=10)}

    def __init__(self, *, temperature: float = 0.1) -> None:
        super().__init__()
        require(temperature > 0, f"sup_con.temperature must be above 0; got {temperature}")
        self.temperature = temperature

    def compute(
        self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, *, generator: torch.Generator | None
    ) -> Tensor:
        """Return the mean over anchors with positives; 0 without a positive or without a negative."""
        pairs = batch_pairs(embeddings, labels, tuples)
        if not pairs.are_complete:
            return zero_of(embeddings)
        return of_products(embeddings, lambda cosines: self._loss_and_slopes(cosines, pairs), normalise=True)

    def _loss_and_slopes(self, cosines: Tensor, pairs: BatchPairs) -> tuple[Tensor, Tensor]:
        logits = cosines.div_(self.temperature)
        n_positives = pairs.n_positives(logits)
        # 0 / 0 where an anchor has no positive.
        mean_positive = pairs.per_anchor(logits.take(pairs.place)) / n_positives
        everyone = row_sums_(pairs.keep_pairs_(logits), within=1 / self.temperature)
        terms = torch.where(n_positives > 0, everyone.log - mean_positive, 0)
        is_active = terms > 0
        weights = is_active.to(terms.dtype) / is_active.sum().clamp_min_(1)
        pull = weights / n_positives / self.temperature
        slopes = everyone.shares_(weights / self.temperature)
        return terms @ weights, slopes.put_(pairs.place, -pull.take(pairs.anchor), accumulate=True)
