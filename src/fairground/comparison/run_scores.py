"""The scores of one comparison: every method's value per seed, checked and set out as a table with gaps.

Formula
    the score of a seed = the mean over its folds, as "separated" in MLRC section 3.3

Paper
    Musgrave, Belongie and Lim, "A Metric Learning Reality Check", ECCV 2020. Nadeau and Bengio, "Inference for the
    generalization error", 2003: folds share most of their training data; treated as independent repeats, they make
    intervals far too narrow.
"""

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairground.errors import require
from fairground.records.record import RunRecord, one_of_each_spec
from fairground.spec import NAME_LENGTH, Value, canonical_json

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
        seeds = tuple(sorted({seed for found in values.values() for seed in found}, key=_place_of_seed))
        place = {seed: i for i, seed in enumerate(seeds)}
        table = np.full((len(values), len(seeds)), math.nan)
        first = next(iter(next(iter(values.values())).values()))
        for row, (name, found) in enumerate(values.items()):
            for seed, value in found.items():
                table[row, place[seed]] = _mean_over_folds(value, _folds(first), f"method '{name}', seed {seed}")
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
        """The plain mean of each method's runs."""
        return np.array([math.fsum(row[~np.isnan(row)]) / np.sum(~np.isnan(row)) for row in self.table])

    def select(self, rows: NDArray[np.int64]) -> "Runs":
        """Return some of the methods, in the order given, and their seeds, those that most of them share first."""
        table = self.table[rows]
        shares = (~np.isnan(table)).sum(axis=0)
        columns = [i for i in np.argsort(-shares, kind="stable") if shares[i]]
        seeds = tuple(self.seeds[i] for i in columns)
        return Runs(names=tuple(self.names[i] for i in rows), seeds=seeds, table=table[:, columns])


def _place_of_seed(seed: Any) -> tuple[bool, float, str]:
    is_number = isinstance(seed, int | float)
    return not is_number, float(seed) if is_number else 0.0, str(seed)


def _folds(value: float | Mapping[Any, float]) -> str:
    return f"folds {', '.join(sorted(map(str, value)))}" if isinstance(value, Mapping) else "no folds"


def _mean_over_folds(value: float | Mapping[Any, float], folds: str, where: str) -> float:
    own = _folds(value)
    require(own == folds, f"every repeat needs the same folds; {where} has {own} and the first repeat {folds}")
    parts = [float(part) for part in value.values()] if isinstance(value, Mapping) else [float(value)]
    require(all(map(math.isfinite, parts)), f"a comparison needs finite values; {where} has {parts}")
    return math.fsum(parts) / len(parts)


def seed_of(record: RunRecord) -> int:
    seed = record.spec.get("seed")
    return seed if isinstance(seed, int) else 0


def join_folds(records: Iterable[RunRecord]) -> list[RunRecord]:
    """Return the records with finished runs that differ in their fold alone averaged; others come back untouched."""
    joined: list[RunRecord] = []
    for method, group in fold_groups(records).items():
        if _n_folds(group) == 1:
            joined += group
            continue
        joined += [replace(record, method=method) for record in group if record.state != "done"]
        by_seed: dict[int, list[RunRecord]] = {}
        for record in group:
            if record.state == "done":
                by_seed.setdefault(seed_of(record), []).append(record)
        joined += [_one(method, runs) for runs in by_seed.values()]
    return joined


def fold_groups(records: Iterable[RunRecord]) -> dict[str, list[RunRecord]]:
    """Return the runs of each method, folds of all seeds, by the hash it has once its folds are averaged."""
    groups: dict[str, list[RunRecord]] = {}
    for record in records:
        groups.setdefault(_method(record), []).append(record)
    return {method if _n_folds(group) > 1 else group[0].method: group for method, group in groups.items()}


def _one(method: str, runs: Sequence[RunRecord]) -> RunRecord:
    runs = sorted(runs, key=_fold)
    first = runs[0]
    scores = []
    for score in first.scores:
        known = [value for run in runs if (value := run.score(score.metric, score.split)) is not None]
        if len(known) == len(runs):
            is_higher = first.higher_is_better(score.metric)
            scores.append(replace(score, value=sum(known) / len(known), higher_is_better=is_higher))
    fingerprints = sorted({run.provenance.split_fingerprint for run in runs})
    return replace(
        first,
        method=method,
        spec={**first.spec, "split": {**_split(first), "fold": ", ".join(_fold(run) for run in runs)}},
        scores=tuple(scores),
        # Folds choose their epochs apart: the mean of them has none.
        best_epoch=first.best_epoch if len({run.best_epoch for run in runs}) == 1 else None,
        notes=tuple(dict.fromkeys(note for run in runs for note in run.notes)),
        clustering_seeds=min(run.clustering_seeds for run in runs),
        is_closed_set=any(run.is_closed_set for run in runs),
        known_bugs=tuple(dict.fromkeys(bug for run in runs for bug in run.known_bugs)),
        provenance=replace(first.provenance, split_fingerprint="+".join(fingerprints)),
    )


def _method(record: RunRecord) -> str:
    """Return the hash of the spec without seed and fold; of a run without folds, the method it has anyway."""
    if "fold" not in _split(record):
        return record.method
    split = {key: value for key, value in _split(record).items() if key != "fold"}
    plain = {**record.spec, "seed": 0, "split": split}
    return hashlib.sha256(canonical_json(plain).encode()).hexdigest()[:NAME_LENGTH]


def _split(record: RunRecord) -> Mapping[str, Value]:
    split = record.spec.get("split")
    return split if isinstance(split, Mapping) else {}


def _n_folds(records: Sequence[RunRecord]) -> int:
    return len({_fold(record) for record in one_of_each_spec(records)})


def _fold(record: RunRecord) -> str:
    return str(_split(record).get("fold", ""))
