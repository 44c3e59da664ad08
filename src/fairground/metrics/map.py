"""mAP: mean average precision over the whole list, or over its first k places as Roth et al. compute it.

Formula
    mAP       = (1/R)   sum_{k}       rel(k) P(k),  P(k) = (1/k) sum_{j <= k} rel(j),  mean over queries
    mAP@limit = (1/n_c) sum_{k <= limit} rel(k) P(k),  n_c = class size, the query included

Paper
    Manning, Raghavan and Schütze, "Introduction to information retrieval", 2008, section 8.4. With a limit: Roth et
    al., "Revisiting training strategies and generalization performance in deep metric learning", ICML 2020, code
    (`mAP_1000`, `mAP_lim`).

Departures from the paper
    With a limit the divisor counts the query itself, as in that code, so that a perfect embedding scores (n_c - 1)/n_c;
    `divisor="relevant"` divides by R instead. Without a limit the divisor is R.
"""

from typing import Literal

import numpy as np

from fairground.contracts.metric import Ranking, RankingMetric, require


class MapMetric(RankingMetric):
    """`limit` cuts the list; `divisor` is R (`relevant`) or R and the query itself (`class_size`)."""

    title = "MAP"
    argument = "limit"
    aliases = ("mean_average_precision",)

    def __init__(self, *, limit: int | None = None, divisor: Literal["relevant", "class_size"] | None = None) -> None:
        refusal = f"map.limit must be a whole number from 1, or nothing for the whole list; got {limit}"
        require(limit is None or (isinstance(limit, int) and limit >= 1), refusal)
        refusal = f"map.divisor must be 'relevant' or 'class_size'; got '{divisor}'"
        require(divisor in (None, "relevant", "class_size"), refusal)
        self.limit = limit
        self.divisor = divisor or ("relevant" if limit is None else "class_size")

    def per_query(self, ranking: Ranking) -> np.ndarray:
        terms = ranking.found / ranking.ranks
        if self.limit is not None:
            terms = terms * (ranking.ranks <= self.limit)
        divisor = ranking.n_relevant if self.divisor == "relevant" else ranking.class_sizes
        return np.asarray(ranking.total(terms) / np.maximum(divisor, 1))
