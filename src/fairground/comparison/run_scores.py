"""The scores of one comparison: every method's value per seed, checked and set out as a table with gaps.

Formula
    the score of a seed = the mean over its folds, as "separated" in MLRC section 3.3

Paper
    Musgrave, Belongie and Lim, "A Metric Learning Reality Check", ECCV 2020. Nadeau and Bengio, "Inference for the
    generalization error", 2003: folds share most of their training data; treated as independent repeats, they make
    intervals far too narrow.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairground.errors import InputError, require

#: for each method the value of each seed, or its values per fold
Values = Mapping[str, Mapping[Any, float | Mapping[Any, float]]]


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
    def has_run(self) -> NDArray[np.bool_]:
        """Which method was run on which seed, (methods, seeds)."""
        return ~np.isnan(self.table)

    @property
    def counts(self) -> NDArray[np.int64]:
        return np.asarray(self.has_run.sum(axis=1))

    @property
    def averages(self) -> NDArray[np.float64]:
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
