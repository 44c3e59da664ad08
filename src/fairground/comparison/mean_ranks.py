"""Methods over many data sets: Friedman's test of mean ranks, Nemenyi's critical difference, and the diagram's data.

Formula
    R_j = mean over N data sets of the rank of method j of k (1 is best, ties share)
    chi2_F = 12 N / (k (k + 1)) (sum_j R_j^2 - k (k + 1)^2 / 4), divided by 1 - sum(t^3 - t) / (N k (k^2 - 1)) for ties
    F_F = (N - 1) chi2_F / (N (k - 1) - chi2_F), F with k - 1 and (k - 1)(N - 1) degrees of freedom
    CD = q sqrt(k (k + 1) / (6 N)), q the studentised range's quantile for k methods, infinite freedom, over sqrt(2)

Paper
    Demšar, "Statistical comparisons of classifiers over multiple data sets", JMLR 2006, sections 3.2.2 and 3.2.4;
    Iman and Davenport, 1980, for F_F; Conover, 1999, for ties.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fairground.comparison.intervals import LEVEL
from fairground.comparison.null_distribution import range_reached
from fairground.errors import require


@dataclass(frozen=True, kw_only=True)
class CriticalDifference:
    """What a critical-difference diagram draws: methods from best to worst, and bars over those not separated."""

    names: tuple[str, ...]
    mean_ranks: tuple[float, ...]
    n_datasets: int
    p: float
    critical_difference: float
    bars: tuple[tuple[str, ...], ...]
    level: float

    @property
    def is_different(self) -> bool:
        """Tell whether Friedman's test finds any difference at all; if not, the bars mean nothing."""
        return self.p <= 1 - self.level


def critical_difference(scores: Mapping[str, Sequence[float]], *, level: float = LEVEL) -> CriticalDifference:
    """Return the diagram's data from each method's scores, one a data set in the same order; higher is better."""
    names, table = list(scores), _table(scores)
    n, k = table.shape
    ranks = ranks_of(table)
    means = ranks.mean(axis=0)
    order = sorted(range(k), key=lambda j: (means[j], j))
    width = nemenyi(k, n, level=level)
    return CriticalDifference(
        names=tuple(names[j] for j in order),
        mean_ranks=tuple(float(means[j]) for j in order),
        n_datasets=n,
        p=friedman_p(table),
        critical_difference=width,
        bars=_bars([names[j] for j in order], [float(means[j]) for j in order], width),
        level=level,
    )


def ranks_of(table: np.ndarray) -> np.ndarray:
    """Return the rank of each method on each data set, 1 for the highest score; ties share their mean rank."""
    above = (table[:, None, :] > table[:, :, None]).sum(axis=2)
    equal = (table[:, None, :] == table[:, :, None]).sum(axis=2)
    found: np.ndarray = above + (equal + 1) / 2
    return found


def friedman_p(table: np.ndarray) -> float:
    """Return the p-value of Friedman's test in Iman and Davenport's form; rows are data sets."""
    from scipy.special import fdtrc

    n, k = table.shape
    ranks = ranks_of(table)
    equal = (table[:, None, :] == table[:, :, None]).sum(axis=2)
    # Over each value its group's size^2 - 1 adds up to size^3 - size a group.
    ties = 1 - float((equal**2 - 1).sum()) / (n * k * (k**2 - 1))
    if ties == 0:
        return 1.0
    chi2 = 12 * n / (k * (k + 1)) * (float((ranks.mean(axis=0) ** 2).sum()) - k * (k + 1) ** 2 / 4) / ties
    rest = n * (k - 1) - chi2
    # Every data set ranks the methods alike.
    return 0.0 if rest <= 1e-12 else float(fdtrc(k - 1, (k - 1) * (n - 1), max(0.0, (n - 1) * chi2 / rest)))


def nemenyi(k: int, n: int, *, level: float = LEVEL) -> float:
    """Return how far two of k mean ranks over n data sets must lie apart."""
    return range_reached(k, level) / math.sqrt(2) * math.sqrt(k * (k + 1) / (6 * n))


def _table(scores: Mapping[str, Sequence[float]]) -> np.ndarray:
    require(len(scores) >= 2, f"ranks need at least 2 methods; got {len(scores)}")
    sizes = {len(row) for row in scores.values()}
    require(len(sizes) == 1, f"every method needs a score on every data set; got {sorted(sizes)} of them")
    require(min(sizes) >= 2, f"ranks need at least 2 data sets; got {min(sizes)}")
    table = np.array([list(row) for row in scores.values()], dtype=float).T
    require(bool(np.isfinite(table).all()), "ranks need finite scores")
    return table


def _bars(names: Sequence[str], ranks: Sequence[float], width: float) -> tuple[tuple[str, ...], ...]:
    """Return the longest runs of methods within the critical difference; a bar inside another is not drawn."""
    bars: list[tuple[str, ...]] = []
    reach = 0
    for i, rank in enumerate(ranks):
        end = max(j for j in range(i, len(ranks)) if ranks[j] - rank <= width)
        if end > i and end > reach:
            bars.append(tuple(names[i : end + 1]))
        reach = max(reach, end)
    return tuple(bars)
