"""Values per method and seed as a table with gaps, and its algebra: means, residuals and weights.

Formula
    the value of a seed = the mean over its folds, as "separated" in MLRC section 3.3
    y_is = mu_i + b_s + e_is, e_is with variance sigma_i^2; b_s is what seed s does to every method that shares it
    A method is blocked when at least two of its seeds are shared with other blocked methods; only blocked methods have
    b_s. A method that shares no seeds is free: the effect of its seeds is part of its scatter.
    means      mu^ = W y, generalised least squares with var(b) / var(e) = ratio, rounded to the nearest of `RATIOS`.
               On the same seeds these are plain means.
    residuals  of the least-squares fit with a fixed effect for each method and each seed, from which
               `pooled_variance` has the variances, d_i and k_0
    complete   k methods on the same s seeds: plain means, residuals centred over methods and over seeds,
               d_i = (s - 1) (k - 1) / k and k_0 = k. Nothing grows with the square of the runs.

Paper
    Musgrave, Belongie and Lim, "A Metric Learning Reality Check", ECCV 2020. Nadeau and Bengio, "Inference for the
    generalization error", 2003: folds share most of their training data; treated as independent repeats, they make
    intervals far too narrow.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairground.spec import InputError, require

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

#: the values of var(b) / var(e) that means are taken for
RATIOS = (0.0, 0.25, 1.0, 4.0, 16.0, 64.0)
#: where one value becomes the next
_BOUNDS = (0.1, 0.5, 2.0, 8.0, 32.0)
#: for each method the value of each seed, or its values per fold
Values = Mapping[str, Mapping[Any, float | Mapping[Any, float]]]


@dataclass(frozen=True, kw_only=True, eq=False)
class Runs:
    """`table` (methods, seeds) holds NaN where a method was not run on a seed."""

    names: tuple[str, ...]
    seeds: tuple[Any, ...]
    table: Array

    @classmethod
    def from_values(cls, values: Values) -> "Runs":
        """Return the runs in the order given; `values` maps each method to its value, or its folds, by seed."""
        require(len(values) > 0, "there is nothing to compare: no method was given")
        for name, found in values.items():
            require(len(found) > 0, f"method '{name}' has no value to compare")
        # Sorted, so that sums are bit-identical in whatever order runs are given.
        seeds = tuple(sorted({seed for found in values.values() for seed in found}, key=_numbers_first))
        place = {seed: i for i, seed in enumerate(seeds)}
        table = np.full((len(values), len(seeds)), math.nan)
        first = _folds_of(next(iter(next(iter(values.values())).values())))
        for row, (name, found) in enumerate(values.items()):
            for seed, value in found.items():
                parts = [float(part) for part in (value.values() if isinstance(value, Mapping) else (value,))]
                # Sentences are made only where they are needed: there may be 100,000 values.
                if (folds := _folds_of(value)) != first or not all(map(math.isfinite, parts)):
                    where = f"method '{name}', seed {seed} has"
                    refusal = f"every repeat needs the same folds; {where} {folds} and the first repeat {first}"
                    require(folds == first, refusal)
                    raise InputError(f"a comparison needs finite values; {where} {parts}")
                table[row, place[seed]] = math.fsum(parts) / len(parts)
        return cls(names=tuple(values), seeds=seeds, table=table)

    @cached_property
    def has_run(self) -> Mask:
        return ~np.isnan(self.table)

    @property
    def counts(self) -> NDArray[np.int64]:
        return np.asarray(self.has_run.sum(axis=1))

    @property
    def averages(self) -> Array:
        return np.array([math.fsum(row[~np.isnan(row)]) / np.sum(~np.isnan(row)) for row in self.table])

    def select(self, rows: NDArray[np.int64]) -> "Runs":
        """Return some of the methods, in the order given, and their seeds, those that most of them share first."""
        table = self.table[rows]
        shares = (~np.isnan(table)).sum(axis=0)
        columns = [i for i in np.argsort(-shares, kind="stable") if shares[i]]
        seeds = tuple(self.seeds[i] for i in columns)
        return Runs(names=tuple(self.names[i] for i in rows), seeds=seeds, table=table[:, columns])


def _numbers_first(seed: Any) -> tuple[bool, float, str]:
    is_number = isinstance(seed, int | float)
    return not is_number, float(seed) if is_number else 0.0, str(seed)


def _folds_of(value: float | Mapping[Any, float]) -> str:
    return f"folds {', '.join(sorted(map(str, value)))}" if isinstance(value, Mapping) else "no folds"


class Layout:
    """Which method was run on which seed: `has_run` (methods, seeds) has at least two runs in every row.

    `methods` and `seeds` tell which run belongs to which method, (runs, methods), and, of blocked methods, to which
    seed, (runs, seeds). `basis` are orthonormal columns that span both, methods first. `freedom` is d_i,
    `block_freedom` that of seeds and `block_weight` k_0. `choices` are the weights of means for each of `RATIOS`; only
    those of plain means where no pair was run on other seeds.
    """

    def __init__(self, has_run: Mask) -> None:
        self.has_run = has_run
        self.n_methods, n_seeds = k, _ = has_run.shape
        self.is_complete = is_complete(has_run)
        self.is_blocked = _blocked(has_run)
        self.cells = rows, columns = np.nonzero(has_run)
        self.pairs = np.triu_indices(k, 1)
        if self.is_complete:
            self.block_freedom, self.block_weight = n_seeds - 1, float(k)
            self.freedom: Array = np.full(k, self.block_freedom * (1 - 1 / k))
        else:
            self.methods: Array = np.eye(k)[rows]
            self.seeds: Array = np.eye(n_seeds)[columns] * self.is_blocked[rows][:, None]
            counts = self.methods.sum(axis=0)
            within = self.seeds - self.methods @ (self.methods.T @ self.seeds / counts[:, None])
            u, sizes, _ = np.linalg.svd(within, full_matrices=False)
            blocks = u[:, sizes > 1e-9 * max(1.0, float(sizes.max(initial=0.0)))]
            self.block_freedom = blocks.shape[1]
            self.block_weight = 1.0
            if self.block_freedom:
                self.block_weight = float(((blocks.T @ self.seeds) ** 2).sum() / self.block_freedom)
            self.basis: Array = np.hstack([self.methods / np.sqrt(counts), blocks])
            self.freedom = np.maximum((1 - (self.basis**2).sum(axis=1)) @ self.methods, 0.0)
        plain = MeanWeights(self, 0.0)
        others = RATIOS[1:] if plain.pair_seed_weight.any() else ()
        self.choices = (plain, *(MeanWeights(self, ratio) for ratio in others))

    def choose(self, ratios: Array) -> NDArray[np.int64]:
        """Return which of the `choices` fits each var(b) / var(e)."""
        return np.searchsorted(_BOUNDS, ratios) if len(self.choices) > 1 else np.zeros(np.shape(ratios), dtype=np.int64)


class MeanWeights:
    """What runs count in the means of a layout where var(b) / var(e) is `ratio`, and what the variances hold.

    `weights` is W, (methods, runs); `on_seeds` what each seed counts in each mean, `seed_mean` in the mean of all
    blocked methods. `own_weights` (methods, methods) and `pair_weights` (pairs, methods) are how much of each sigma_i^2
    the variances of means and of differences hold. `own_seed_weight` and `pair_seed_weight` are how much of var(b) they
    hold, means compared with the mean of all blocked methods.
    """

    def __init__(self, layout: Layout, ratio: float) -> None:
        self.layout, self.ratio = layout, ratio
        a, b = layout.pairs
        is_blocked = layout.is_blocked
        if layout.is_complete:
            n_seeds = layout.has_run.shape[1]
            self.on_seeds: Array = np.full(layout.has_run.shape, 1 / n_seeds)
            self.own_weights: Array = np.eye(layout.n_methods) / n_seeds
            self.pair_seed_weight: Array = np.zeros(len(a))
        else:
            self.weights = _weights(layout, ratio)
            self.on_seeds = self.weights @ layout.seeds
            self.own_weights = (self.weights**2) @ layout.methods
            self.pair_weights: Array = ((self.weights[a] - self.weights[b]) ** 2) @ layout.methods
            self.pair_seed_weight = _squared_length(self.on_seeds[a] - self.on_seeds[b])
        # Without blocked methods no seed counts anywhere.
        self.seed_mean: Array = self.on_seeds[is_blocked | ~is_blocked.any()].mean(axis=0)
        self.own_seed_weight = _squared_length(np.where(is_blocked[:, None], self.on_seeds - self.seed_mean, 0.0))

    def means_of(self, y: Array) -> Array:
        if self.layout.is_complete:
            return np.asarray(y.reshape(*y.shape[:-1], *self.layout.has_run.shape).mean(axis=-1))
        return np.asarray(y @ self.weights.T)

    def pair_variances(self, own: Array, seeds: Array) -> Array:
        """Return the variance of every pair's difference, from those of runs, (..., methods), and of seeds."""
        if self.layout.is_complete:
            a, b = self.layout.pairs
            return np.asarray((own.take(a, axis=-1) + own.take(b, axis=-1)) / self.layout.has_run.shape[1])
        return np.asarray(own @ self.pair_weights.T + np.asarray(seeds)[..., None] * self.pair_seed_weight)

    def weights_of_pairs(self, pairs: NDArray[np.int64]) -> Array:
        """Return some rows of `pair_weights`, which would be large and mostly zeros where all share their seeds."""
        if self.layout.is_complete:
            a, b = self.layout.pairs
            return np.asarray(self.own_weights[a[pairs]] + self.own_weights[b[pairs]])
        return self.pair_weights[pairs]


def is_complete(has_run: Mask) -> bool:
    return len(has_run) > 1 and bool(has_run.all())


def _blocked(has_run: Mask) -> Mask:
    kept: Mask = np.ones(len(has_run), dtype=bool)
    while True:
        is_shared = has_run[kept].sum(axis=0) >= 2
        found: Mask = kept & (has_run[:, is_shared].sum(axis=1) >= 2)
        if (found == kept).all():
            return found
        kept = found


def _weights(layout: Layout, ratio: float) -> Array:
    methods, seeds = layout.methods, layout.seeds
    if ratio == 0 or not layout.is_blocked.any():
        return np.asarray(methods.T / methods.sum(axis=0)[:, None])
    # (I + ratio Z Z')^-1 M by Woodbury's identity: Z'Z is diagonal, the number of runs per seed.
    shrunk = ratio / (1 + ratio * seeds.sum(axis=0))
    solved = methods - seeds @ (shrunk[:, None] * (seeds.T @ methods))
    return np.asarray(np.linalg.solve(methods.T @ solved, solved.T))


def _squared_length(rows: Array) -> Array:
    found = (rows**2).sum(axis=1)
    return np.where(found < 1e-12, 0.0, found)


def layout_of(has_run: Mask) -> Layout:
    """Return the layout; the last few are kept, as their algebra costs more than most comparisons."""
    return _layout(has_run.tobytes(), len(has_run))


@lru_cache(maxsize=48)
def _layout(has_run: bytes, n_methods: int) -> Layout:
    return Layout(np.frombuffer(has_run, dtype=bool).reshape(n_methods, -1))
