"""Smooth-AP: average precision of each anchor's ranking, with a sigmoid for every comparison.

Formula
    rank_S(a, p) = 1 + sum_{j in S, j != p} sigmoid((s_aj - s_ap) / temperature),  with s the cosine
    L = mean over anchors with positives of  1 - 1/|P(a)| sum_{p in P(a)} rank_{P(a)}(a, p) / rank_{all but a}(a, p)

Paper
    Brown, Xie, Kalogeiton and Zisserman, "Smooth-AP: smoothing the path towards large-scale image retrieval", ECCV
    2020, section 4.

Departures from the paper
    Classes may differ in size. The authors' code leaves the query in the ranking and among its own positives, where it
    always comes first (`query_in_ranking`), so that even the worst ranking scores 1/|class|; here it is left out.
    pytorch-metric-learning does the same and cuts the batch into groups of as many samples as there are classes, which
    is only right when that is the class size.
"""

from torch import Generator, Tensor, stack, where

from fairground.contracts.loss import LogReal, Loss, Tuples
from fairground.functional import mean_where, normalize, own_places, pair_masks, soft_ranks
from fairground.kernels import ranking_losses


class SmoothApLoss(Loss):
    """`temperature` is how far apart two cosines must be for their order to count as certain."""

    takes_label_sets = True
    tunable = {"temperature": LogReal(low=1e-3, high=1)}
    bounds = {"temperature": "(0, inf)"}
    kernel = ranking_losses.smooth_ap

    def __init__(self, *, temperature: float = 0.01, query_in_ranking: bool = False) -> None:
        super().__init__()
        self.temperature, self.query_in_ranking = temperature, query_in_ranking

    def formula(self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, generator: Generator | None) -> Tensor:
        z = normalize(embeddings)
        positive, negative = pair_masks(labels)
        has_positives, is_itself = positive.any(1), own_places(labels)
        everyone, ranked = ~is_itself, positive
        if self.query_in_ranking:
            everyone, ranked = everyone | is_itself, positive | (is_itself & has_positives)
        among = stack([everyone, ranked]).to(z.dtype)
        rank, rank_among_positives = soft_ranks(z @ z.T, among, self.temperature)
        precision = where(ranked, rank_among_positives / rank, 0).sum(1) / ranked.sum(1).clamp_min(1)
        return where(positive.any() & negative.any(), 1 - mean_where(has_positives, precision), 0)

    def known_bugs(self) -> tuple[str, ...]:
        bug = "smooth_ap.query_in_ranking: each list begins with its query, a hit that is none, as in the authors' code"
        return (bug,) if self.query_in_ranking else ()
