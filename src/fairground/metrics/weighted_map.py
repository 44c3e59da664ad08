"""Weighted MAP: the mean relevance of the list up to every relevant reference.

Formula
    wMAP = (1/R) sum over the places k of relevant references of  ACG@k,  ACG@k = (1/k) sum_{j <= k} r(j)

Paper
    Zhao, Huang, Wang and Tan, "Deep semantic ranking based hashing for multi-label image retrieval", CVPR 2015,
    section 4.

Departures from the paper
    Relevance is in [0, 1] and not a number of labels. Where it is yes or no this is `map`.
"""

import numpy as np

from fairground.contracts.metric import Ranking, RankingMetric


class WeightedMapMetric(RankingMetric):
    """Takes no settings."""

    title = "weighted MAP"
    aliases = ("wmap",)
    is_graded = True

    def per_query(self, ranking: Ranking) -> np.ndarray:
        gains = ranking.running(ranking.relevance) / ranking.ranks
        return np.asarray(ranking.total(gains) / np.maximum(ranking.n_relevant, 1))
