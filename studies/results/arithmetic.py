"""The statistics that pages share beyond `fairground.comparison`: variance parts, resampled intervals, correlations.

Formula
    seed variance      s² = mean over methods of the variance over seeds
    method variance    max(0, variance of method means - s² / n)
    intervals          percentiles of 4,000 draws of methods with replacement, from one fixed seed
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, sqrt
from statistics import fmean, variance

import numpy as np
from scipy import stats
from studies.results.records import ExportedRun
from studies.results.select import Table

from fairground.comparison.comparison_result import Comparison, t_interval

N_DRAWS = 4000
SEED = 20


@dataclass(frozen=True, kw_only=True)
class Spread:
    """How far methods are apart and how much of it a seed explains; standard deviations, in shares of one."""

    best: float
    worst: float
    seed: float
    method: float
    n_seeds: int
    n_methods: int

    @property
    def seed_share(self) -> float:
        """The share of the variance of a single run that is the seed's."""
        total = self.seed**2 + self.method**2
        return self.seed**2 / total if total else 0.0

    @property
    def range_by_seeds(self) -> float:
        """The expected distance of best and worst if all methods were equal: seed noise of their means alone."""
        return expected_range(self.n_methods) * self.seed / sqrt(self.n_seeds)


def spread_of(table: Table) -> Spread:
    """Return the spread of a table of methods on shared seeds."""
    rows = [list(row.values()) for row in table.values()]
    n = min(len(row) for row in rows)
    averages = [fmean(row) for row in rows]
    seed = fmean(variance(row) for row in rows) if n > 1 else 0.0
    between = max(0.0, variance(averages) - seed / n)
    return Spread(
        best=max(averages),
        worst=min(averages),
        seed=sqrt(seed),
        method=sqrt(between),
        n_seeds=n,
        n_methods=len(rows),
    )


def expected_range(k: int) -> float:
    """Return the mean distance of the largest and smallest of k standard normal numbers, by drawing them."""
    drawn = np.random.default_rng(SEED).normal(size=(20000, k))
    return float((drawn.max(1) - drawn.min(1)).mean())


def seeds_to_separate(difference: float, sd: float, *, power: float = 0.8, level: float = 0.95) -> int:
    """Return the runs of each of two methods that show a difference, by a t test at this level and power."""
    for n in range(2, 10000):
        freedom, shift = 2 * n - 2, difference / (sd * sqrt(2 / n))
        critical = stats.t.ppf((1 + level) / 2, freedom)
        if stats.nct.sf(critical, freedom, shift) >= power:
            return n
    return ceil(float("1e4"))


@dataclass(frozen=True, kw_only=True)
class Gap:
    """How far the median of the methods is below the best, with both ends of the interval that holds for all pairs.

    Of an even number of methods the median is the mean of the two in the middle, and so are its interval's ends.

    `least` and `most` are the ends of the distance itself, which has no sign.
    """

    best: str
    median: str
    difference: float
    low: float
    high: float

    @property
    def least(self) -> float:
        """The least distance the interval allows."""
        return 0.0 if self.low * self.high <= 0 else min(abs(self.low), abs(self.high))

    @property
    def most(self) -> float:
        """The greatest distance the interval allows."""
        return max(abs(self.low), abs(self.high))


def median_gap(compared: Comparison) -> Gap:
    """Return how far the median of the methods is below the best."""
    best, n = compared.methods[0].name, len(compared.methods)
    middle = [compared.methods[place].name for place in sorted({(n - 1) // 2, n // 2})]
    pairs = [compared.pair(best, name) for name in middle]
    return Gap(
        best=best,
        median=" and ".join(middle),
        difference=fmean(pair.difference for pair in pairs),
        low=fmean(pair.low for pair in pairs if pair.low is not None),
        high=fmean(pair.high for pair in pairs if pair.high is not None),
    )


@dataclass(frozen=True, kw_only=True)
class Mean:
    """A mean with both ends of its interval."""

    mean: float
    low: float
    high: float


def mean_of(numbers: Sequence[float], *, level: float = 0.95) -> Mean:
    """Return the mean with its Student-t interval; a single number could be anywhere."""
    found = t_interval(numbers, level=level)
    if found.low is None or found.high is None:
        return Mean(mean=found.mean, low=float("-inf"), high=float("inf"))
    return Mean(mean=found.mean, low=found.low, high=found.high)


def paired_gains(one: Table, pairs: Mapping[str, tuple[str, str]]) -> dict[str, Mean]:
    """Return what each pair of methods (without, with) gains on the seeds both have, by the pair's name."""
    found = {}
    for name, (before, after) in pairs.items():
        if before in one and after in one:
            shared = [seed for seed in one[before] if seed in one[after]]
            found[name] = mean_of([one[after][seed] - one[before][seed] for seed in shared])
    return found


def over_losses(gains: Mapping[str, Mean], *, level: float = 0.95) -> Mean:
    """Return the mean of several losses' gains, with its interval over the losses."""
    return mean_of([gain.mean for gain in gains.values()], level=level)


def over_methods(runs: Sequence[ExportedRun], of: Callable[[ExportedRun], float], *, level: float = 0.95) -> Mean:
    """Return the mean of something of a run, one mean per method, with its interval over methods."""
    by_method: dict[str, list[float]] = {}
    for run in runs:
        by_method.setdefault(run.method, []).append(of(run))
    return mean_of([fmean(some) for some in by_method.values()], level=level)


def at_once(n: int) -> float:
    """Return the level of each of `n` intervals that hold at once at 95 %, by Bonferroni."""
    return 1 - 0.05 / max(1, n)


@dataclass(frozen=True, kw_only=True)
class Correlation:
    """A rank correlation with its interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:+.2f} [{self.low:+.2f}, {self.high:+.2f}]"


def rank_correlation(x: np.ndarray, y: np.ndarray, *, level: float = 0.95) -> Correlation:
    """Return Spearman's correlation of two columns, with its percentile interval, methods drawn with replacement."""
    rows = np.random.default_rng(SEED).integers(0, len(x), (N_DRAWS, len(x)))
    drawn = _spearman(x[rows], y[rows])
    drawn = drawn[np.isfinite(drawn)]
    ends = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2]) if len(drawn) else (float("nan"), float("nan"))
    return Correlation(value=spearman(x, y), low=float(ends[0]), high=float(ends[1]))


def spearman(x: np.ndarray, y: np.ndarray) -> float:
    """Return Spearman's correlation; not a number where a column is constant."""
    return float(_spearman(x[np.newaxis], y[np.newaxis])[0])


def _spearman(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the correlation of the ranks of every row of `x` with those of `y`."""
    ranks = [stats.rankdata(values, axis=1) for values in (x, y)]
    a, b = (each - each.mean(axis=1, keepdims=True) for each in ranks)
    scale = np.sqrt((a * a).sum(axis=1) * (b * b).sum(axis=1))
    found: np.ndarray = np.divide((a * b).sum(axis=1), scale, out=np.full(len(a), np.nan), where=scale > 0)
    return found
