"""Precision@k: the share of the k nearest references that are relevant.

Formula
    P(k) = (1/k) sum_{j <= k} rel(j),  mean over queries

Paper
    Manning, Raghavan and Schütze, "Introduction to information retrieval", 2008, section 8.4. P(1) = Recall@1.

Departures from the paper
    None. Where the gallery holds fewer than k references the divisor stays k: places that cannot be filled are misses.
"""

import numpy as np

from fairground.contracts.metric import Ranking, RankingMetric, require


class PrecisionMetric(RankingMetric):
    """`k` is how many nearest references are looked at."""

    title = "Precision"
    argument = "k"
    aliases = ("p",)

    def __init__(self, *, k: int = 1) -> None:
        require(isinstance(k, int) and k >= 1, f"precision.k must be a whole number from 1; got {k}")
        self.k = k

    def per_query(self, ranking: Ranking) -> np.ndarray:
        return ranking.total(ranking.ranks <= self.k) / self.k
