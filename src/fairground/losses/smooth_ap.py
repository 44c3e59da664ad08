"""Smooth-AP: average precision of each anchor's ranking, with a sigmoid for every comparison.

Formula
    rank_S(a, p) = 1 + sum_{j in S, j != p} sigmoid((s_aj - s_ap) / temperature),  with s the cosine
    L = mean over anchors with positives of  1 - 1/|P(a)| sum_{p in P(a)} rank_{P(a)}(a, p) / rank_{all but a}(a, p)

Paper
    Brown, Xie, Kalogeiton and Zisserman, "Smooth-AP: Smoothing the Path Towards Large-Scale Image Retrieval",
    ECCV 2020, section 4.

Departures from the paper
    Classes may differ in size. The authors' code leaves the query in the ranking and among its own positives, where it
    always comes first (`query_in_ranking`), so that even the worst ranking scores 1/|class|; here it is left out.
    pytorch-metric-learning does the same and cuts the batch into groups of as many samples as there are classes, which
    is only right when that is the class size.
"""

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


class SmoothApLoss(Loss):
    """`temperature` is how far apart two cosines must be for their order to count as certain."""

    tunable: ClassVar[dict[str, LogReal]] = {"temperature": LogReal(low=1e-3, high=1)}

    def __init__(self, *, temperature: float = 0.01, query_in_ranking: bool = False) -> None:
        super().__init__()
        require(temperature > 0, f"smooth_ap.temperature must be above 0; got {temperature}")
        self.temperature = temperature
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
        n_positives = pairs.n_positives(cosines)
        if self.query_in_ranking:
            pairs = pairs.with_own()
            pairs = pairs.where(n_positives.take(pairs.anchor) > 0)
            n_positives = n_positives + 1
        weights = 1 / (n_positives.take(pairs.anchor) * pairs.n_anchors)
        members = torch.zeros_like(cosines).put_(pairs.place, cosines.new_ones(len(weights)))
        ranking = SoftRanks(cosines, pairs, self.temperature, self.query_in_ranking)
        among_all, among_members = ranking.ranks(members)
        precision = among_members / among_all
        slopes = ranking.slopes(weights * precision / among_all, -weights / among_all, members)
        return 1 - precision @ weights, slopes

    def known_bugs(self) -> tuple[str, ...]:
        """Return what `query_in_ranking` does."""
        if not self.query_in_ranking:
            return ()
        return (
            "smooth_ap.query_in_ranking ranks every query among its own positives, as the authors' code does: each "
            "list begins with a hit that is none",
        )
