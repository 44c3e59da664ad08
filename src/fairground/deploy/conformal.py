"""How rarely an unknown class scores so high: conformal p-values over classes that were left out one by one.

Formula
    q_c(s) = share of the queries of class c that score s or more, class c taken out of the index
    p(s) = min(1, (1 + r * sum over the K classes of q_c(s)) / (K + 1)),  r = C / (C - 1)
    a query is taken for known when p(s) <= f; for f < 1 / (K + 1) none ever is

Paper
    Lee, Barber and Willett, "Distribution-free inference with hierarchical data", 2023: of K + 1 classes that could
    change places, the chance that a query of the new one has p <= f is at most f.

Departures from the paper
    The index of C classes that a class is left out of has one class fewer than the index that is searched. The chance
    that the best of a set of classes reaches a score grows at most in proportion to their number, hence r.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fairground.errors import require
from fairground.evaluation.bootstrap import Bootstrap, BootstrapInterval


@dataclass(frozen=True, kw_only=True)
class ClassConformal:
    """`scores` (n,) of queries put as unknown, of `classes` (n,); `n_indexed` classes are in the index."""

    scores: np.ndarray
    classes: np.ndarray
    n_indexed: int

    def __post_init__(self) -> None:
        require(len(self.scores) > 0, "conformal p-values need a score at least; got none")
        require(self.n_indexed >= 2, f"an unknown class needs an index of 2 classes at least; got {self.n_indexed}")

    @cached_property
    def n_classes(self) -> int:
        """K, the classes that were left out one by one."""
        return len(np.unique(self.classes))

    @property
    def lowest_rate(self) -> float:
        """The lowest rate that so many classes can promise."""
        return 1 / (self.n_classes + 1)

    @property
    def growth(self) -> float:
        """R, by how much the chance of a false positive may grow with the class that was left out."""
        return self.n_indexed / (self.n_indexed - 1)

    def p_value(self, scores: np.ndarray) -> np.ndarray:
        """Return the chance at most that a query of an unknown class scores so high."""
        p: np.ndarray = np.minimum(1.0, (1 + self.growth * self._sum_of_shares(scores)) / (self.n_classes + 1))
        return p

    def threshold(self, rate: float) -> float | None:
        """Return the lowest score that is taken for known at a false-positive rate; None where no score may be."""
        require(0 < rate < 1, f"a false-positive rate must be between 0 and 1; got {rate}")
        if rate < self.lowest_rate:
            return None
        refused = np.unique(self.scores)[self.p_value(np.unique(self.scores)) > rate]
        # Scores that equal the highest refused one are refused with it.
        return float(np.nextafter(refused[-1], np.inf)) if len(refused) else float(self.scores.min())

    def measured(self, rate: float) -> BootstrapInterval:
        """Return the interval, over classes, of the rate at which classes pass a threshold found without them."""
        return Bootstrap().of_mean(self._passes_without(rate), self.classes, over_classes=True)

    def measured_rate(self, rate: float) -> float:
        """Return the rate at which classes pass a threshold found on all the others, each class counting the same."""
        return class_mean(self._passes_without(rate), self.classes)

    def _passes_without(self, rate: float) -> np.ndarray:
        others = self._sum_of_shares(self.scores) - self._own_shares()
        passes: np.ndarray = ((1 + self.growth * others) / self.n_classes <= rate).astype(np.float64)
        return passes

    def _sum_of_shares(self, scores: np.ndarray) -> np.ndarray:
        order = np.argsort(self.scores, kind="stable")
        _, group, sizes = np.unique(self.classes, return_inverse=True, return_counts=True)
        # From the top down: the sum of 1 / n_c over the queries that score so high.
        above = np.concatenate((np.cumsum((1 / sizes[group])[order][::-1])[::-1], [0.0]))
        found: np.ndarray = above[np.searchsorted(self.scores[order], scores, side="left")]
        return found

    def _own_shares(self) -> np.ndarray:
        shares = np.empty(len(self.scores))
        for label in np.unique(self.classes):
            mine = np.flatnonzero(self.classes == label)
            ascending = np.sort(self.scores[mine])
            shares[mine] = 1 - np.searchsorted(ascending, self.scores[mine], side="left") / len(mine)
        return shares


def class_mean(values: np.ndarray, classes: np.ndarray) -> float:
    """Return the mean of the means of each class."""
    _, group, sizes = np.unique(classes, return_inverse=True, return_counts=True)
    return float(np.mean(np.bincount(group, weights=values) / sizes))
