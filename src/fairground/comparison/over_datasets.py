"""Methods over many data sets: mean ranks and mean differences.

Formula
    ranks: R_i = mean over N data sets of the rank of method i of k by its mean over seeds (1 is best, ties share)
    bootstrap: data sets are drawn with replacement, and within each its seeds, the same for all methods that share
    them. Drawn means of n seeds, and means over N data sets, move too little by sqrt((n - 1) / n) and
    sqrt((N - 1) / N): both are moved further by as much, and N data sets count as t with N - 1 degrees of freedom.
    rank interval: R_i ± c s_i, s_i the standard deviation over draws, c the `level` quantile of the highest
    |R*_i - R_i| / s_i: the intervals of all methods hold simultaneously
    improvement: methods compared with data sets as blocks, each by its mean over seeds (`compare_values`)

Paper
    Demšar, "Statistical comparisons of classifiers over multiple data sets", JMLR 2006, section 3.2.2, for mean ranks.
    Field and Welsh, "Bootstrapping clustered data", 2007, for two-stage draws. Hesterberg, "What teachers should know
    about the bootstrap", 2015, for moving draws further.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fairground.comparison import LEVEL, Array, Comparison, Runs, Values, require
from fairground.comparison.compare_values import compare_values

RESAMPLES = 4000


@dataclass(frozen=True, kw_only=True)
class Aggregate:
    """One method over all data sets: its mean rank with an interval."""

    name: str
    rank: float
    rank_low: float
    rank_high: float


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
    columns = (column.tolist() for column in _intervals(tables, 1.0 if higher_is_better else -1.0, level))
    aggregates = [
        Aggregate(name=name, rank=rank, rank_low=low, rank_high=high)
        for name, rank, low, high in zip(names, *columns, strict=True)
    ]
    return OverDatasets(
        aggregates=tuple(sorted(aggregates, key=lambda one: (one.rank, one.name))),
        improvement=improvement,
        datasets=tuple(runs),
        level=level,
    )


def _intervals(tables: Sequence[Array], sign: float, level: float) -> Sequence[Array]:
    """Return mean ranks with the ends of their intervals, by drawing data sets and seeds.

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
    return rank, np.maximum(1.0, rank - c * spread), np.minimum(float(k), rank + c * spread)


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


def ranks_of(table: np.ndarray) -> np.ndarray:
    """Return the rank of each method on each data set, 1 for the highest score; ties share their mean rank."""
    above = (table[:, None, :] > table[:, :, None]).sum(axis=2)
    equal = (table[:, None, :] == table[:, :, None]).sum(axis=2)
    return np.asarray(above + (equal + 1) / 2)
