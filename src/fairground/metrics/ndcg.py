"""nDCG@k, normalised discounted cumulative gain: hits count less the later they come.

Formula
    nDCG@k = DCG / best DCG,  DCG = sum_{j <= k} gain(j) / log2(j + 1),  best DCG that of the list by falling gain
    gain = the relevance r in [0, 1];  2^l - 1 for l shared levels of a hierarchy

Paper
    Järvelin and Kekäläinen, "Cumulated gain-based evaluation of IR techniques", TOIS 2002.

Departures from the paper
    The discount is the now usual log2(j + 1), so that the second place counts less than the first.
"""

import numpy as np

from fairground.contracts.metric import Ranking, RankingMetric, require


class NdcgMetric(RankingMetric):
    """`k` cuts the list; nothing means the whole list."""

    title = "nDCG"
    argument = "k"
    is_graded = True

    def __init__(self, *, k: int | None = None) -> None:
        refusal = f"ndcg.k must be a whole number from 1, or nothing for the whole list; got {k}"
        require(k is None or (isinstance(k, int) and k >= 1), refusal)
        self.k = k

    def per_query(self, ranking: Ranking) -> np.ndarray:
        gain = 1 / np.log2(ranking.ranks + 1.0)
        if self.k is not None:
            gain = gain * (ranking.ranks <= self.k)
        if ranking.grades is not None:
            return self._graded(ranking, gain)
        reach = ranking.n_relevant if self.k is None else np.minimum(ranking.n_relevant, self.k)
        longest = int(reach.max(initial=0))
        best = np.concatenate(([0.0], np.cumsum(1 / np.log2(np.arange(1, longest + 1) + 1.0))))[reach]
        return ranking.total(gain) / np.where(reach > 0, best, 1.0)

    def _graded(self, ranking: Ranking, discount: np.ndarray) -> np.ndarray:
        worth = ranking.relevance
        if ranking.n_levels > 1:
            worth = 2.0 ** (ranking.n_levels * worth) - 1
        query = ranking.per_entry(np.arange(ranking.n_queries))
        falling = worth[np.lexsort((-worth, query))] / np.log2(ranking.found + 1.0)
        best = ranking.total(falling if self.k is None else falling * (ranking.found <= self.k))
        return ranking.total(worth * discount) / np.where(best > 0, best, 1.0)
