"""Recall@k as metric learning uses the word: whether any of the k nearest references is relevant.

Formula
    Recall@k = mean over queries of  1 if some rel(j) = 1 with j <= k, else 0

Paper
    Jégou, Douze and Schmid, "Product quantization for nearest neighbor search", TPAMI 2011; the metric-learning reading
    is that of Oh Song et al., "Deep metric learning via lifted structured feature embedding", CVPR 2016.

Departures from the paper
    The query is left out of its own list by its index (Roth et al., eq. 25 as printed, leaves it in: every recall
    would be 1).
"""

import numpy as np

from fairground.contracts.metric import Ranking, RankingMetric, require


class RecallMetric(RankingMetric):
    """`k` is how many nearest references are looked at; more than there are means all of them."""

    title = "Recall"
    argument = "k"
    aliases = ("r", "rank", "cmc", "hit_rate")

    def __init__(self, *, k: int = 1) -> None:
        require(isinstance(k, int) and k >= 1, f"recall.k must be a whole number from 1; got {k}")
        self.k = k

    def per_query(self, ranking: Ranking) -> np.ndarray:
        return (ranking.first <= self.k).astype(np.float64)
