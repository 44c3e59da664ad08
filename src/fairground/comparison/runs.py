"""The numbers of one comparison: every method's value by seed, checked and set out as a table with gaps.

Folds are averaged within their repeat first: they share most of their training data, and taken for repeats they would
make every interval far too narrow.
"""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairground.errors import require

#: a value of one run, or of one repeat the values by fold
Value = float | Mapping[Any, float]
Values = Mapping[str, Mapping[Any, Value]]


@dataclass(frozen=True, kw_only=True, eq=False)
class Runs:
    """`table` (methods, seeds) holds NaN where a method was not run on a seed."""

    names: tuple[str, ...]
    seeds: tuple[Any, ...]
    table: NDArray[np.float64]

    @classmethod
    def from_values(cls, values: Values) -> "Runs":
        """Return the runs in the order given; `values` maps each method to its value, or its folds, by seed."""
        require(len(values) > 0, "there is nothing to compare: no method was given")
        for name, found in values.items():
            require(len(found) > 0, f"method '{name}' has no value to compare")
        # In one order, so that sums have the same digits in whatever order runs are given.
        seeds = tuple(sorted({seed for found in values.values() for seed in found}, key=_place_of_seed))
        place = {seed: i for i, seed in enumerate(seeds)}
        table = np.full((len(values), len(seeds)), math.nan)
        folds = _folds_of(values)
        for row, (name, found) in enumerate(values.items()):
            means: list[Any] = list(found.values())
            # Of thousands of plain numbers none needs a look of its own.
            if folds is not None or {*map(type, means)} != {float} or not all(map(math.isfinite, means)):
                means = [_mean_over_folds(v, folds, f"method '{name}', seed {seed}") for seed, v in found.items()]
            table[row, [place[seed] for seed in found]] = means
        return cls(names=tuple(values), seeds=seeds, table=table)

    @cached_property
    def has_run(self) -> NDArray[np.bool_]:
        """Which method was run on which seed, (methods, seeds)."""
        return ~np.isnan(self.table)

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many runs each method has."""
        found: NDArray[np.int64] = self.has_run.sum(axis=1)
        return found

    @property
    def averages(self) -> NDArray[np.float64]:
        """The plain mean of each method's runs."""
        return np.array([math.fsum(row[~np.isnan(row)]) / np.sum(~np.isnan(row)) for row in self.table])

    def select(self, rows: NDArray[np.int64]) -> "Runs":
        """Return some of the methods, in the order given, and their seeds, those that most of them share first."""
        table = self.table[rows]
        shares = (~np.isnan(table)).sum(axis=0)
        columns = [i for i in np.argsort(-shares, kind="stable") if shares[i]]
        seeds = tuple(self.seeds[i] for i in columns)
        return Runs(names=tuple(self.names[i] for i in rows), seeds=seeds, table=table[:, columns])

    def up_to(self, seeds: Collection[Any]) -> "Runs":
        """Return the runs on some seeds alone, of the methods that have any."""
        columns = [i for i, seed in enumerate(self.seeds) if seed in seeds]
        rows = np.flatnonzero(self.has_run[:, columns].any(axis=1))
        names = tuple(self.names[i] for i in rows)
        return Runs(names=names, seeds=tuple(self.seeds[i] for i in columns), table=self.table[rows][:, columns])


def _place_of_seed(seed: Any) -> tuple[bool, float, str]:
    is_number = isinstance(seed, int | float)
    return not is_number, float(seed) if is_number else 0.0, str(seed)


def _folds_of(values: Values) -> frozenset[Any] | None:
    """Return the folds of the first repeat; None when runs have none."""
    first = next(iter(next(iter(values.values())).values()))
    return frozenset(first) if isinstance(first, Mapping) else None


def _mean_over_folds(value: Value, folds: frozenset[Any] | None, where: str) -> float:
    own = frozenset(value) if isinstance(value, Mapping) else None
    require(
        own == folds,
        f"every repeat needs the same folds, as a mean over other folds is another quantity; {where} has "
        f"{_listed(own)} and the first repeat {_listed(folds)}",
    )
    parts = [float(part) for part in value.values()] if isinstance(value, Mapping) else [float(value)]
    require(all(math.isfinite(part) for part in parts), f"a comparison needs finite values; {where} has {parts}")
    return math.fsum(parts) / len(parts)


def _listed(folds: frozenset[Any] | None) -> str:
    return "no folds" if folds is None else f"folds {', '.join(sorted(map(str, folds)))}"
