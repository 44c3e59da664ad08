"""MAP@R: mean average precision over the R nearest references, R being how many are relevant.

Formula
    MAP@R = (1/R) sum_{k <= R} rel(k) P(k),  P(k) = (1/k) sum_{j <= k} rel(j),  mean over queries

Paper
    Musgrave, Belongie and Lim, "A metric learning reality check", ECCV 2020, eq. 2 and 3.

Departures from the paper
    None. The paper's eq. 3 is one query's value; the mean over queries follows.
"""

import numpy as np

from fairground.contracts.metric import Ranking, RankingMetric


class MapAtRMetric(RankingMetric):
    """Takes no settings."""

    title = "MAP@R"
    aliases = ("mean_average_precision_at_r",)

    def per_query(self, ranking: Ranking) -> np.ndarray:
        within = ranking.ranks <= ranking.per_entry(ranking.n_relevant)
        return np.asarray(ranking.total(within * (ranking.found / ranking.ranks)) / np.maximum(ranking.n_relevant, 1))
