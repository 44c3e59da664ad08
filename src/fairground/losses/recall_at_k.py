"""Recall@k surrogate: how many positives reach the first k places, with sigmoids for the ranks and for the cut.

Formula
    r(a, p) = 1 + sum_{j not in {a, p}} sigmoid((s_aj - s_ap) / rank_temperature),  with s the cosine
    R_k(a) = min(k, sum_p sigmoid((k - r(a, p)) / count_temperature)) / min(k, |P(a)|)
    L = mean over anchors with positives, and over the values of k, of  1 - R_k(a)

Paper
    Patel, Tolias and Matas, "Recall@k Surrogate Loss with Large Batches and Similarity Mixup", CVPR 2022, section 3.

Departures from the paper
    Division by min(k, |P(a)|) and the cap at k are those of the authors' code. That code leaves the query in the
    ranking (`query_in_ranking`), where it stands above every positive, so that each rank is one too high. Similarity
    mixup is not part of the loss.
"""

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor

from fairground.contracts.loss import Loss
from fairground.contracts.tuples import Tuples
from fairground.errors import require
from fairground.functional.pairs import BatchPairs, batch_pairs
from fairground.functional.reductions import zero_of
from fairground.functional.soft_rank import SoftRanks
from fairground.kernels.gradients import of_products
from fairground.spec.space import LogReal


class RecallAtKLoss(Loss):
    """`ks` are the lengths of the list; the temperatures soften the comparison of two cosines and the cut after k."""

    tunable: ClassVar[dict[str, LogReal]] = {
        "rank_temperature": LogReal(low=1e-3, high=1),
        "count_temperature": LogReal(low=0.1, high=10),
    }

    def __init__(
        self,
        *,
        ks: Sequence[int] = (1, 2, 4, 8, 16),
        rank_temperature: float = 0.01,
        count_temperature: float = 1.0,
        query_in_ranking: bool = False,
    ) -> None:
        super().__init__()
        require(len(ks) > 0 and all(k >= 1 for k in ks), f"recall_at_k.ks must be whole numbers from 1 on; got {ks}")
        require(rank_temperature > 0, f"recall_at_k.rank_temperature must be above 0; got {rank_temperature}")
        require(count_temperature > 0, f"recall_at_k.count_temperature must be above 0; got {count_temperature}")
        self.ks = tuple(ks)
        self.rank_temperature = rank_temperature
        self.count_temperature = count_temperature
        self.query_in_ranking = query_in_ranking

    def formula(
        self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, *, generator: torch.Generator | None
    ) -> Tensor:
        """Return the mean over anchors with positives; 0 without a positive or without a negative."""
        pairs = batch_pairs(embeddings, labels, tuples)
        if not pairs.are_complete:
            return zero_of(embeddings)
        return of_products(embeddings, lambda cosines: self._loss_and_slopes(cosines, pairs), normalise=True)

    def _loss_and_slopes(self, cosines: Tensor, pairs: BatchPairs) -> tuple[Tensor, Tensor]:
        ks = cosines.new_tensor(self.ks)
        ranking = SoftRanks(cosines, pairs, self.rank_temperature, self.query_in_ranking)
        ranks, _ = ranking.ranks()
        is_within = ((ks - ranks.unsqueeze(1)) / self.count_temperature).sigmoid_()
        n_within = cosines.new_zeros(pairs.n, len(ks)).index_add_(0, pairs.anchor, is_within)
        n_positives = pairs.n_positives(cosines).unsqueeze(1)
        # An anchor without positives has a recall of 0 / 0, and no part in the mean.
        weights = torch.where(n_positives > 0, 1 / torch.minimum(ks, n_positives), 0) / (pairs.n_anchors * len(ks))
        recall = (torch.minimum(n_within, ks) * weights).sum()
        rate = (weights * (n_within <= ks))[pairs.anchor] * (is_within - is_within.square())
        return 1 - recall, ranking.slopes(rate.sum(1) / self.count_temperature, None, None)

    def known_bugs(self) -> tuple[str, ...]:
        """Return what `query_in_ranking` does."""
        if not self.query_in_ranking:
            return ()
        return (
            "recall_at_k.query_in_ranking counts the query above every positive, as the authors' code does: each rank "
            "is one too high",
        )
