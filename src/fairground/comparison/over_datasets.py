"""Methods over many data sets: mean ranks, interquartile means, mean improvement, Friedman's test.

Formula
    ranks: R_i = mean over N data sets of the rank of method i of k by its mean over seeds (1 is best, ties share)
    bootstrap: data sets are drawn with replacement, and within each its seeds, the same for all methods that share
    them. Drawn means of n seeds, and means over N data sets, move too little by sqrt((n - 1) / n) and
    sqrt((N - 1) / N): both are moved further by as much, and N data sets count as t with N - 1 degrees of freedom.
    rank interval: R_i ± c s_i, s_i the standard deviation over draws, c the `level` quantile of the highest
    |R*_i - R_i| / s_i: the intervals of all methods hold simultaneously
    iqm: mean of the middle half of all runs' scores, with equal total weight per data set
    improvement: methods compared with data sets as blocks, each by its mean over seeds (`compare_values`)
    Friedman: chi2 = 12 N / (k (k + 1)) (sum_j R_j^2 - k (k + 1)^2 / 4) / (1 - sum(t^3 - t) / (N k (k^2 - 1))), ties t
    F_F = (N - 1) chi2 / (N (k - 1) - chi2), F with k - 1 and (k - 1)(N - 1) degrees of freedom
    Nemenyi: CD = q sqrt(k (k + 1) / (6 N)), q the studentised range's quantile of k methods, infinite freedom, /sqrt(2)

Paper
    Agarwal et al., "Deep reinforcement learning at the edge of the statistical precipice", NeurIPS 2021, for
    interquartile means. Field and Welsh, "Bootstrapping clustered data", 2007, for two-stage draws.
    Hesterberg, "What teachers should know about the bootstrap", 2015, for moving draws further. Demšar, "Statistical
    comparisons of classifiers over multiple data sets", JMLR 2006, sections 3.2.2 and 3.2.4; Iman and Davenport, 1980,
    for F_F; Conover, 1999, for ties.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fairground.comparison import LEVEL, Array, Comparison, Runs, Values, longest_runs, range_reached, require
from fairground.comparison.compare_values import compare_values

RESAMPLES = 4000


@dataclass(frozen=True, kw_only=True)
class Aggregate:
    """One method over all data sets: mean rank and interquartile mean, each with its interval."""

    name: str
    rank: float
    rank_low: float
    rank_high: float
    iqm: float
    iqm_low: float
    iqm_high: float


@dataclass(frozen=True, kw_only=True)
class OverDatasets:
    """`aggregates` by mean rank, best first; `improvement` by mean differences."""

    aggregates: tuple[Aggregate, ...]
    improvement: Comparison
    datasets: tuple[str, ...]
    level: float


def over_datasets(
    values: Mapping[str, Values],
    *,
    level: float = LEVEL,
    margin: float | None = None,
    higher_is_better: bool = True,
) -> OverDatasets:
    """Compare methods over data sets; `values` maps each data set to its methods' values by seed."""
    require(len(values) >= 2, f"comparing over data sets needs at least 2 of them; got {len(values)}")
    runs = {dataset: Runs.from_values(found) for dataset, found in values.items()}
    names = next(iter(runs.values())).names
    for dataset, found in runs.items():
        missing = sorted(set(names) ^ set(found.names))
        require(not missing, f"every method needs runs on every data set; on '{dataset}' not all have {missing}")
    tables = [found.table[[found.names.index(name) for name in names]] for found in runs.values()]
    by_method = np.transpose([np.nanmean(table, axis=1) for table in tables]).tolist()
    means = {name: dict(zip(runs, row, strict=True)) for name, row in zip(names, by_method, strict=True)}
    improvement = compare_values(means, level=level, margin=margin, higher_is_better=higher_is_better)
    pairs = tuple(replace(pair, over="datasets", more_seeds=None) for pair in improvement.pairs)
    improvement = replace(improvement, pairs=pairs)
    kinds = ("rank", "rank_low", "rank_high", "iqm", "iqm_low", "iqm_high")
    columns = dict(zip(kinds, _intervals(tables, 1.0 if higher_is_better else -1.0, level), strict=True))
    order = sorted(range(len(names)), key=lambda i: (columns["rank"][i], names[i]))
    return OverDatasets(
        aggregates=tuple(
            Aggregate(name=names[i], **{kind: float(column[i]) for kind, column in columns.items()}) for i in order
        ),
        improvement=improvement,
        datasets=tuple(runs),
        level=level,
    )


def interquartile_means(values: Array, weights: Array) -> Array:
    """Return the mean of the middle half under each row of weights; values at its edges count in part."""
    order = np.argsort(values, kind="stable")
    ends = np.cumsum(weights[:, order], axis=1) / weights.sum(axis=1, keepdims=True)
    starts = np.hstack([np.zeros((len(ends), 1)), ends[:, :-1]])
    kept = np.clip(np.minimum(ends, 0.75) - np.maximum(starts, 0.25), 0.0, None)
    return np.asarray((kept @ values[order]) / kept.sum(axis=1))


def _intervals(tables: Sequence[Array], sign: float, level: float) -> Sequence[Array]:
    """Return mean ranks and interquartile means, each with the ends of its interval, by drawing data sets and seeds.

    `tables` are (methods, seeds) with NaN for missing runs.
    """
    from scipy.special import ndtri, stdtrit

    n, k, tail = len(tables), len(tables[0]), (1 + level) / 2
    further = math.sqrt(n / (n - 1)) * float(stdtrit(n - 1, tail)) / float(ndtri(tail))
    random = np.random.default_rng(18)
    picks = random.integers(n, size=(RESAMPLES, n))
    # How often each seed of each data set is drawn, (draws, seeds).
    counts = [random.multinomial(t.shape[1], np.full(t.shape[1], 1 / t.shape[1]), RESAMPLES) for t in tables]
    rank = ranks_of(sign * np.array([np.nanmean(table, axis=1) for table in tables])).mean(axis=0)
    drawn = np.array([_drawn_means(table, some) for table, some in zip(tables, counts, strict=True)])
    ranks = ranks_of(sign * drawn.reshape(-1, k)).reshape(drawn.shape)
    again = ranks[picks, np.arange(RESAMPLES)[:, None]].mean(axis=1)
    moved = (again - again.mean(axis=0)) * further
    spread = np.maximum(moved.std(axis=0), 1e-12)
    c = float(np.quantile(np.abs(moved / spread).max(axis=1), level))
    picked = np.array([(picks == i).sum(axis=1) for i in range(n)])
    found = np.array([_drawn_iqms([table[i] for table in tables], counts, picked) for i in range(k)])
    iqm, again = found[:, 0], found[:, 1:]
    half = np.quantile(np.abs((again - again.mean(axis=1, keepdims=True)) * further), level, axis=1)
    low, high = np.maximum(1.0, rank - c * spread), np.minimum(float(k), rank + c * spread)
    return rank, low, high, iqm, iqm - half, iqm + half


def _drawn_means(table: Array, counts: np.ndarray) -> Array:
    """Return the means of a data set over the seeds drawn, moved further as few seeds need, (draws, methods)."""
    has_run = ~np.isnan(table)
    weights = counts @ has_run.T
    mean = np.nanmean(table, axis=1)
    drawn = np.divide(
        counts @ np.where(has_run, table, 0.0).T, weights, out=np.tile(mean, (RESAMPLES, 1)), where=weights > 0
    )
    n = np.maximum(2, has_run.sum(axis=1))
    return np.asarray(mean + np.sqrt(n / (n - 1)) * (drawn - mean))


def _drawn_iqms(rows: Sequence[Array], counts: Sequence[np.ndarray], picked: np.ndarray) -> Array:
    """Return the interquartile mean of a method's runs, and then of every draw."""
    plain, drawn = [], []
    for row, here, times in zip(rows, counts, picked, strict=True):
        some = here[:, ~np.isnan(row)]
        total, size = some.sum(axis=1, keepdims=True), some.shape[1]
        plain.append(np.full((1, size), 1 / size))
        # A draw without any run of this method weights them equally.
        drawn.append(np.where(total > 0, some / np.maximum(total, 1), 1 / size) * times[:, None])
    values = np.concatenate(rows)
    return interquartile_means(values[~np.isnan(values)], np.vstack([np.hstack(plain), np.hstack(drawn)]))


@dataclass(frozen=True, kw_only=True)
class CriticalDifference:
    """Methods from best to worst, Friedman's p, and bars over those not separated, meaningless unless p is low."""

    names: tuple[str, ...]
    mean_ranks: tuple[float, ...]
    p: float
    critical_difference: float
    bars: tuple[tuple[str, ...], ...]

    @property
    def is_different(self) -> bool:
        return self.p <= 1 - LEVEL


def critical_difference(scores: Mapping[str, Sequence[float]]) -> CriticalDifference:
    """Return the diagram's data from each method's scores, one per data set in the same order; higher is better."""
    table = np.array([list(row) for row in scores.values()], dtype=float).T
    n, k = table.shape
    means, labels = ranks_of(table).mean(axis=0).tolist(), list(scores)
    order = sorted(range(k), key=lambda j: (means[j], j))
    rank_of, width = {labels[j]: means[j] for j in order}, nemenyi(k, n)
    return CriticalDifference(
        names=tuple(rank_of),
        mean_ranks=tuple(rank_of.values()),
        p=friedman_p(table),
        critical_difference=width,
        bars=longest_runs(list(rank_of), lambda a, b: rank_of[b] - rank_of[a] <= width),
    )


def ranks_of(table: np.ndarray) -> np.ndarray:
    """Return the rank of each method on each data set, 1 for the highest score; ties share their mean rank."""
    above = (table[:, None, :] > table[:, :, None]).sum(axis=2)
    equal = (table[:, None, :] == table[:, :, None]).sum(axis=2)
    return np.asarray(above + (equal + 1) / 2)


def friedman_p(table: np.ndarray) -> float:
    """Return the p-value of Friedman's test in Iman and Davenport's form; rows are data sets."""
    from scipy.special import fdtrc

    n, k = table.shape
    ranks = ranks_of(table)
    equal = (table[:, None, :] == table[:, :, None]).sum(axis=2)
    # Over each value its group's size^2 - 1 adds up to size^3 - size per group.
    ties = 1 - float((equal**2 - 1).sum()) / (n * k * (k**2 - 1))
    if ties == 0:
        return 1.0
    chi2 = 12 * n / (k * (k + 1)) * (float((ranks.mean(axis=0) ** 2).sum()) - k * (k + 1) ** 2 / 4) / ties
    rest = n * (k - 1) - chi2
    # Every data set ranks the methods in the same order.
    return 0.0 if rest <= 1e-12 else float(fdtrc(k - 1, (k - 1) * (n - 1), max(0.0, (n - 1) * chi2 / rest)))


def nemenyi(k: int, n: int, *, level: float = LEVEL) -> float:
    return range_reached(k, level) / math.sqrt(2) * math.sqrt(k * (k + 1) / (6 * n))
