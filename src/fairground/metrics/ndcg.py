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
        gain = ranking.relevance
        if ranking.n_levels > 1:
            gain = 2.0 ** (ranking.n_levels * gain) - 1
        falling = gain
        if ranking.grades is not None:
            falling = np.concatenate([np.sort(some)[::-1] for some in np.split(gain, ranking.offsets[1:-1])])
        found, best = (
            ranking.total(gains / np.log2(places + 1.0) * (places <= (self.k or np.inf)))
            for gains, places in ((gain, ranking.ranks), (falling, ranking.found))
        )
        return np.asarray(found / np.where(best > 0, best, 1.0))
