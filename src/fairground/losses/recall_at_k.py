"""Recall@k surrogate: how many positives reach the first k places, with sigmoids for the ranks and for the cut.

Formula
    r(a, p) = 1 + sum_{j not in {a, p}} sigmoid((s_aj - s_ap) / rank_temperature),  with s the cosine
    R_k(a) = min(k, sum_p sigmoid((k - r(a, p)) / count_temperature)) / min(k, |P(a)|)
    L = mean over anchors with positives, and over the values of k, of  1 - R_k(a)

Paper
    Patel, Tolias and Matas, "Recall@k surrogate loss with large batches and similarity mixup", CVPR 2022, section 3.

Departures from the paper
    Division by min(k, |P(a)|) and the cap at k are those of the authors' code. That code leaves the query in the
    ranking (`query_in_ranking`), where it stands above every positive, so that each rank is one too high. Similarity
    mixup is not part of the loss.
"""

from collections.abc import Sequence

from torch import Generator, Tensor, minimum, ones_like, stack, where

from fairground.contracts.loss import LogReal, Loss, Tuples, require
from fairground.functional import mean_where, normalize, pair_masks, soft_ranks
from fairground.kernels import ranking_losses


class RecallAtKLoss(Loss):
    """`ks` are the lengths of the list; the temperatures soften the comparison of two cosines and the cut after k."""

    takes_label_sets = True
    tunable = {"rank_temperature": LogReal(low=1e-3, high=1), "count_temperature": LogReal(low=0.1, high=10)}
    bounds = {"rank_temperature": "(0, inf)", "count_temperature": "(0, inf)"}
    kernel = ranking_losses.recall_at_k

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
        self.ks, self.query_in_ranking = tuple(ks), query_in_ranking
        self.rank_temperature, self.count_temperature = rank_temperature, count_temperature

    def formula(self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, generator: Generator | None) -> Tensor:
        z, ks = normalize(embeddings), embeddings.new_tensor(self.ks)
        positive, negative = pair_masks(labels)
        n_positives = positive.sum(1, keepdim=True)
        among = ones_like(positive)
        if not self.query_in_ranking:
            among = among.fill_diagonal_(False)
        (rank,) = soft_ranks(z @ z.T, among.to(z.dtype).unsqueeze(0), self.rank_temperature)
        is_within = (positive * ((k - rank) / self.count_temperature).sigmoid() for k in self.ks)
        n_within = stack([some.sum(1) for some in is_within], 1)
        recall = minimum(n_within, ks) / minimum(ks, n_positives).clamp_min(1)
        loss = 1 - mean_where((n_positives > 0).expand_as(recall), recall)
        return where(positive.any() & negative.any(), loss, 0)

    def known_bugs(self) -> tuple[str, ...]:
        bug = "recall_at_k.query_in_ranking: queries are ranked too, each rank is one too high, as in the authors' code"
        return (bug,) if self.query_in_ranking else ()
