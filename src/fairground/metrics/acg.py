"""ACG@k, average cumulative gain: the mean relevance of the k nearest references.

Formula
    ACG@k = (1/k) sum_{j <= k} r(j),  r the relevance in [0, 1];  mean over queries

Paper
    Järvelin and Kekäläinen, "IR evaluation methods for retrieving highly relevant documents", SIGIR 2000.

Departures from the paper
    The mean instead of the sum, as multi-label retrieval reports it. Where relevance is yes or no it is precision@k.
"""

import numpy as np

from fairground.contracts.metric import Ranking, RankingMetric, require


class AcgMetric(RankingMetric):
    """`k` is how many nearest references are looked at."""

    title = "ACG"
    argument = "k"
    is_graded = True

    def __init__(self, *, k: int = 10) -> None:
        require(isinstance(k, int) and k >= 1, f"acg.k must be a whole number from 1; got {k}")
        self.k = k

    def per_query(self, ranking: Ranking) -> np.ndarray:
        return ranking.total(ranking.relevance * (ranking.ranks <= self.k)) / self.k
