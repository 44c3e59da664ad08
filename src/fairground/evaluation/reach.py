"""How far down the lists some ranking metrics look together."""

from collections.abc import Sequence

import numpy as np

from fairground.contracts.metric import RankingMetric, Reach
from fairground.evaluation.relevance import Relevance


def widest_reach(metrics: Sequence[RankingMetric], relevance: Relevance) -> Reach | None:
    """Return the widest reach of any metric, one number a query in search order; None if one looks all the way."""
    n_relevant = relevance.n_relevant
    class_sizes = n_relevant + (relevance.own >= 0)
    widest = Reach(np.zeros(len(n_relevant), np.int64), np.zeros(len(n_relevant), np.int64))
    for metric in metrics:
        mine = metric.reach(n_relevant, class_sizes)
        if mine is None:
            return None
        widest = Reach(np.maximum(widest.first, mine.first), np.maximum(widest.others, mine.others))
    return widest


def is_within(reach: Reach | None, other: Reach | None) -> bool:
    """Whether a ranking that goes as far down as `other` says all that `reach` asks for."""
    if other is None or reach is None:
        return other is None
    return bool((reach.first <= other.first).all() and (reach.others <= other.others).all())
