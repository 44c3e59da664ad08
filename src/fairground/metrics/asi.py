"""ASI, average set intersection: how much the best list and this one share, level by level, at every depth.

Formula
    SI_k = (1/k) sum over levels of min(references of the level among the first k, the same in the best list)
    ASI = mean of SI_k over k = 1 .. R, R the number of relevant references; references of no shared level never count

Paper
    Fagin, Kumar and Sivakumar, "Comparing top k lists", SODA 2003, as Ramzi et al., ECCV 2022, evaluate hierarchies.

Departures from the paper
    None. Any other grades are read the same way as levels.
"""

import numpy as np

from fairground.contracts.metric import Ranking, RankingMetric


class AsiMetric(RankingMetric):
    """Takes no settings."""

    title = "ASI"
    aliases = ("average_set_intersection",)
    is_graded = True

    def per_query(self, ranking: Ranking) -> np.ndarray:
        grades, kind = np.unique(ranking.relevance, return_inverse=True)
        # A query has as many entries as depths: entry k - 1 of a query stands for depth k.
        is_early = ranking.ranks <= ranking.per_entry(ranking.n_relevant)
        slot = (ranking.per_entry(ranking.offsets[:-1]) + ranking.ranks - 1)[is_early]
        shared = np.zeros(len(ranking.ranks))
        n_better = np.zeros(ranking.n_queries)
        for place in reversed(range(len(grades))):
            here = np.bincount(slot, weights=(kind == place)[is_early], minlength=len(ranking.ranks))
            count = ranking.total(kind == place)
            best = np.clip(ranking.found - ranking.per_entry(n_better), 0, ranking.per_entry(count))
            shared += np.minimum(ranking.running(here), best)
            n_better += count
        return np.asarray(ranking.total(shared / np.maximum(ranking.found, 1)) / np.maximum(ranking.n_relevant, 1))
