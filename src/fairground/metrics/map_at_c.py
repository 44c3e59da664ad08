"""mAP@C: the "mAP" of Roth et al.'s tables, over as many places as the query's class has members.

Formula
    mAP@C = (1/n_c) sum_{k <= n_c} rel(k) P(k),  n_c = class size, the query included,  mean over queries

Paper
    Roth et al., "Revisiting training strategies and generalization performance in deep metric learning", ICML 2020,
    code (`mAP`, later `mAP_c`).

Departures from the paper
    The paper's eq. 29 as printed is no average precision (see `precision_at_c`); this is what the code computes. The
    query counts in n_c but never in the list, so a perfect embedding scores (n_c - 1)/n_c.
"""

import numpy as np

from fairground.contracts.metric import Ranking, RankingMetric


class MapAtCMetric(RankingMetric):
    """Takes no settings."""

    title = "mAP@C"

    def per_query(self, ranking: Ranking) -> np.ndarray:
        within = ranking.ranks <= ranking.per_entry(ranking.class_sizes)
        return np.asarray(ranking.total(within * (ranking.found / ranking.ranks)) / np.maximum(ranking.class_sizes, 1))
