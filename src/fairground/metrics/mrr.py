"""MRR, mean reciprocal rank: one over the place of the first relevant reference.

Formula
    MRR = mean over queries of  1 / min { k : rel(k) = 1 }

Paper
    Voorhees, "The TREC-8 question answering track report", TREC 1999.

Departures from the paper
    None.
"""

import numpy as np

from fairground.contracts.metric import Ranking, RankingMetric


class MrrMetric(RankingMetric):
    """Takes no settings."""

    title = "MRR"
    aliases = ("mean_reciprocal_rank",)

    def per_query(self, ranking: Ranking) -> np.ndarray:
        return 1 / ranking.first
