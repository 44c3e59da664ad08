"""Precision@C: the share of relevant references among as many places as the query's class has members.

Formula
    P@C = (1/n_c) sum_{k <= n_c} rel(k),  n_c = class size, the query included,  mean over queries

Paper
    Roth et al., "Revisiting training strategies and generalization performance in deep metric learning", ICML 2020,
    eq. 29 as printed.

Departures from the paper
    The paper calls it mAP; it is a variant of R-precision. The query counts in n_c but never in the list.
"""

import numpy as np

from fairground.contracts.metric import Ranking, RankingMetric


class PrecisionAtCMetric(RankingMetric):
    """Takes no settings."""

    title = "Precision@C"

    def per_query(self, ranking: Ranking) -> np.ndarray:
        within = ranking.ranks <= ranking.per_entry(ranking.class_sizes)
        return np.asarray(ranking.total(within) / np.maximum(ranking.class_sizes, 1))
