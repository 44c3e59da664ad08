"""AP at a level: average precision of what a query shares that level with and no narrower one; nearer kin are left out.

Formula
    AP@l = (1/R) sum_k rel(k) P(k) over the list without references that share a narrower level than l
    rel(k) = 1 where the narrowest level that both share is l (1 the class, 2 its super-class), R how many there are

Paper
    Ramzi, Audebert, Thome, Rambour and Bitot, "Hierarchical Average Precision Training for Pertinent Image Retrieval",
    ECCV 2022, section 4.1.

Departures from the paper
    A query with nothing at the level scores 0. Without levels there is one, and AP@1 is `map`.
"""

import numpy as np

from fairground.contracts.metric import Ranking, RankingMetric, require


class LevelApMetric(RankingMetric):
    """`level` is counted from the class, 1."""

    title = "AP at level"
    argument = "level"
    is_graded = True

    def __init__(self, *, level: int = 1) -> None:
        is_right = isinstance(level, int) and level >= 1
        require(is_right, f"level_ap.level must be a whole number from 1, the class; got {level}")
        self.level = level

    def per_query(self, ranking: Ranking) -> np.ndarray:
        shared = np.rint(ranking.relevance * ranking.n_levels)
        wanted = ranking.n_levels + 1 - self.level
        is_here, is_nearer = shared == wanted, shared > wanted
        place = ranking.ranks - ranking.running(is_nearer)
        precision = ranking.running(is_here) / np.maximum(place, 1)
        return np.asarray(ranking.total(is_here * precision) / np.maximum(ranking.total(is_here), 1))
