"""R-precision: the share of relevant references among the R nearest, where R is how many there are.

Formula
    RP = (1/R) sum_{k <= R} rel(k),  mean over queries

Paper
    Musgrave, Belongie and Lim, "A metric learning reality check", ECCV 2020, section 3.2.

Departures from the paper
    None.
"""

import numpy as np

from fairground.contracts.metric import Ranking, RankingMetric


class RPrecisionMetric(RankingMetric):
    """Takes no settings."""

    title = "R-precision"
    aliases = ("rp", "precision_at_r")

    def per_query(self, ranking: Ranking) -> np.ndarray:
        within = ranking.ranks <= ranking.per_entry(ranking.n_relevant)
        return np.asarray(ranking.total(within) / np.maximum(ranking.n_relevant, 1))
