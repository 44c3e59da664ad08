"""What every metric is, and the five kinds of evidence it may look at: prepared once, however many metrics use it."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Generic, TypeVar

import numpy as np

from fairground.errors import require

#: what the files of these parts need beside what is defined here
__all__ = ["Metric", "require"]
_Evidence = TypeVar("_Evidence")
#: (low_far, high_far, n) to the shares of each class's genuine pairs accepted and of its impostor pairs refused, (c, n)
#: each, at n distances from where a share `low_far` of all impostor pairs pass to where `high_far` do
PairShares = Callable[[float, float, int], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True, kw_only=True)
class Ranking:
    """Where the relevant references of every query stand.

    `ranks[offsets[q]:offsets[q + 1]]` are the places of query q's relevant references, from 1, ascending, the query
    itself left out of its own list. `class_sizes` counts them with the query itself when it is one of the references.
    `grades` says how relevant each is, above 0 and at most 1, where relevance is more than yes or no; with levels of a
    hierarchy it is the share of the `n_levels` that both are in.
    """

    offsets: np.ndarray
    ranks: np.ndarray
    class_sizes: np.ndarray
    grades: np.ndarray | None = None
    n_levels: int = 1

    @property
    def n_queries(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def n_relevant(self) -> np.ndarray:
        """R of each query: how many references are relevant to it."""
        return np.diff(self.offsets)

    @cached_property
    def first(self) -> np.ndarray:
        """Each query's first relevant place; infinity where nothing is relevant."""
        places = np.full(self.n_queries, np.inf)
        some = self.n_relevant > 0
        places[some] = self.ranks[self.offsets[:-1][some]]
        return places

    @cached_property
    def found(self) -> np.ndarray:
        """For each entry of `ranks`: how many relevant references stand at that place or before it."""
        entry = np.arange(1, len(self.ranks) + 1)
        entry -= self.per_entry(self.offsets[:-1])
        return entry

    @cached_property
    def relevance(self) -> np.ndarray:
        """The grade of each entry of `ranks`; 1 where relevance is yes or no."""
        return np.ones(len(self.ranks)) if self.grades is None else self.grades

    def running(self, values: np.ndarray) -> np.ndarray:
        """Return for each entry the sum over its query's entries up to it."""
        sums = np.cumsum(values)
        starts = np.concatenate(([0], sums))[self.offsets[:-1]]
        return np.asarray(sums - self.per_entry(starts))

    def per_entry(self, of_query: np.ndarray) -> np.ndarray:
        """Return a value of each query, repeated for each of its entries."""
        return np.repeat(of_query, self.n_relevant)

    def total(self, values: np.ndarray) -> np.ndarray:
        """Return the sum over each query's entries; 0 for a query without any."""
        totals = np.zeros(self.n_queries)
        some = self.n_relevant > 0
        if some.any():
            totals[some] = np.add.reduceat(values, self.offsets[:-1][some])
        return totals


@dataclass(frozen=True, kw_only=True)
class Contingency:
    """How many rows each pair of class and cluster shares: `counts[t]` in class `classes[t]`, cluster `clusters[t]`."""

    classes: np.ndarray
    clusters: np.ndarray
    counts: np.ndarray

    @cached_property
    def class_sizes(self) -> np.ndarray:
        return np.bincount(self.classes, weights=self.counts)

    @cached_property
    def cluster_sizes(self) -> np.ndarray:
        return np.bincount(self.clusters, weights=self.counts)


@dataclass(frozen=True, kw_only=True)
class Verification:
    """How genuine pairs stand among impostors, at every similarity a genuine pair has, ascending.

    At similarity t: `genuine[t]` pairs have exactly it, `impostors_above[t]` impostor pairs are more similar and
    `impostors_equal[t]` exactly as similar.
    """

    genuine: np.ndarray
    impostors_above: np.ndarray
    impostors_equal: np.ndarray
    n_impostors: int

    @property
    def passing(self) -> np.ndarray:
        """How many impostor pairs pass a threshold at each similarity: those as similar or more."""
        return np.asarray(self.impostors_above + self.impostors_equal)

    @property
    def refused(self) -> np.ndarray:
        """How many genuine pairs a threshold at each similarity refuses: those less similar."""
        return np.asarray(np.cumsum(self.genuine) - self.genuine)


@dataclass(frozen=True, kw_only=True)
class OpenSet:
    """The best similarity of every query to a reference of its own class (`own`) and of any other class (`other`).

    A query counts twice: as one of a known class, when its score is the better of the two, and as one of an unknown
    class, when its own class is removed from the references and `other` is its score. `own` is minus infinity where
    the references have nothing of its class: such a query is unknown only. With `has_strangers` these are the unknown
    ones, and all others count once. `weights` count queries more than once.
    """

    own: np.ndarray
    other: np.ndarray
    weights: np.ndarray
    has_strangers: bool = False

    @property
    def unknown_weights(self) -> np.ndarray:
        return np.asarray(self.weights * ~self.is_known) if self.has_strangers else self.weights

    @property
    def is_known(self) -> np.ndarray:
        """Which queries can count as known ones."""
        return np.asarray(np.isfinite(self.own))

    @cached_property
    def known(self) -> np.ndarray:
        return np.asarray(np.maximum(self.own, self.other)[self.is_known])

    @cached_property
    def is_right(self) -> np.ndarray:
        """Whether the best reference of a known query is of its class; not where another class is as similar."""
        return np.asarray((self.own > self.other)[self.is_known])

    @property
    def known_weights(self) -> np.ndarray:
        return np.asarray(self.weights[self.is_known])

    def unknown_share_below(self, scores: np.ndarray) -> np.ndarray:
        """Return the share of unknown queries that score below each of `scores`, equal ones by half."""
        order = np.argsort(self.other, kind="stable")
        ascending = self.other[order]
        total = np.concatenate(([0.0], np.cumsum(self.unknown_weights[order])))
        below = total[np.searchsorted(ascending, scores, side="left")]
        not_above = total[np.searchsorted(ascending, scores, side="right")]
        return np.asarray((below + not_above) / (2 * total[-1]))


class Metric:
    """Evidence in, a number out. `argument` names the setting that the part after @ gives: `recall@5` is `k=5`.

    A metric of this package writes these as literals, so that pages know them without importing it. `higher_is_better`
    decides what is selected, ranked and marked; `is_share` says that it is between `lowest` and 1, shown in per cent.
    """

    #: as papers print it
    title: ClassVar[str] = ""
    argument: ClassVar[str | None] = None
    #: other names people know it by
    aliases: ClassVar[tuple[str, ...]] = ()
    higher_is_better: ClassVar[bool] = True
    is_share: ClassVar[bool] = True
    lowest: ClassVar[float] = 0.0

    def is_better(self, score: float, other: float) -> bool:
        """Tell whether a score is better than another, not only as good."""
        return score > other if self.higher_is_better else score < other


class RankingMetric(Metric, ABC):
    """One value per query; the score is their mean. `is_graded` says that it looks at grades, where there are any."""

    is_graded: ClassVar[bool] = False

    @abstractmethod
    def per_query(self, ranking: Ranking) -> np.ndarray:
        """Return each query's value as float64; 0 where nothing is relevant."""


class ConsistencyMetric(Metric, ABC):
    """How alike the classes fare at thresholds that all of them share: one value per class; the score is their mean."""

    @abstractmethod
    def per_class(self, shares: PairShares) -> np.ndarray:
        """Return a value for each class with two rows at least."""


class _ScoreOf(Metric, ABC, Generic[_Evidence]):
    @abstractmethod
    def score(self, evidence: _Evidence, /) -> float:
        """Return one value for the whole set."""


class ClusteringMetric(_ScoreOf[Contingency]):
    """How well the clusters of the whole set follow the classes."""


class VerificationMetric(_ScoreOf[Verification]):
    """How well similarity answers the question "same class or not?", asked of every pair."""


class OpenSetMetric(_ScoreOf[OpenSet]):
    """How well the best similarity answers the question "which class, or none of these?", put to every query."""
