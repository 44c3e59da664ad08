"""H-AP, hierarchical average precision: related references count too, by how related they are.

Formula
    H-AP = sum_k (1/k) sum_{j <= k} min(rel_j, rel_k) / sum_k rel_k
    rel = r divided by the number of references of that relevance r to the query; r = l/L for l of L shared levels

Paper
    Ramzi, Audebert, Thome, Rambour and Bitot, "Hierarchical Average Precision Training for Pertinent Image Retrieval",
    ECCV 2022, section 3.1.

Departures from the paper
    None. The exponent of l/L is 1. Any other grades are read the same way; where relevance is yes or no it is `map`.
"""

import numpy as np

from fairground.contracts.metric import Ranking, RankingMetric


class HierarchicalApMetric(RankingMetric):
    """Takes no settings."""

    title = "H-AP"
    aliases = ("h_ap", "hap")
    is_graded = True

    def per_query(self, ranking: Ranking) -> np.ndarray:
        grades, kind = np.unique(ranking.relevance, return_inverse=True)
        worth = [grade / np.maximum(ranking.total(kind == place), 1) for place, grade in enumerate(grades)]
        own, gains = np.zeros((2, len(ranking.ranks)))
        for place, value in enumerate(worth):
            own += np.where(kind == place, ranking.per_entry(value), 0)
        for place, value in enumerate(worth):
            gains += ranking.running(kind == place) * np.minimum(ranking.per_entry(value), own)
        total = ranking.total(own)
        return np.asarray(ranking.total(gains / ranking.ranks) / np.where(total > 0, total, 1))
