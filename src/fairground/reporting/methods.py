"""Records grouped into methods: their names, what sets them apart, and their scores per seed and per test class."""

from collections import Counter
from collections.abc import Collection, Iterable, KeysView, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fairground.comparison.generality import Generality, generality_of
from fairground.comparison.run_scores import fold_groups, seed_of
from fairground.errors import FairgroundError, require
from fairground.records.arrays import array_names, read_arrays
from fairground.records.record import RunRecord, SplitName
from fairground.records.run_folder import RunFolder
from fairground.reporting.run_set import leave_out
from fairground.spec.identity import differing, flatten

#: largest deviation of a weighted mean of class scores from the record's score
_ROUNDING = 1e-6


@dataclass(frozen=True, kw_only=True)
class Method:
    """One method: the runs that differ in nothing but their seed. `differences` says what sets it apart here."""

    key: str
    label: str
    records: tuple[RunRecord, ...]
    differences: Mapping[str, str]

    @cached_property
    def done(self) -> tuple[RunRecord, ...]:
        """The runs that finished."""
        return tuple(record for record in self.records if record.state == "done")

    @property
    def scored(self) -> KeysView[tuple[str, SplitName]]:
        """The metrics, each with its split, that any finished run has, in order of appearance."""
        return self._scores.keys()

    def values(self, metric: str, split: SplitName) -> list[float]:
        """Return the metric of every finished run that has it."""
        return [value for _, value in self._scores.get((metric, split), ())]

    def by_seed(self, metric: str, split: SplitName) -> dict[int, float]:
        """Return the metric of every finished run that has it by seed; runs that share a seed are averaged."""
        scored = self._scores.get((metric, split), [])
        if len(one_each := dict(scored)) == len(scored):
            return dict(sorted(one_each.items()))
        found: dict[int, list[float]] = {}
        for seed, value in scored:
            found.setdefault(seed, []).append(value)
        return {seed: sum(some) / len(some) for seed, some in sorted(found.items())}

    def rows(self, metrics: Sequence[str], split: SplitName) -> list[tuple[float, ...]]:
        """Return the scores of every finished run that has all of the metrics."""
        columns = [self.values(metric, split) for metric in metrics]
        if all(len(column) == len(self.done) for column in columns):
            return list(zip(*columns, strict=True))
        rows = [tuple(run.score(metric, split) for metric in metrics) for run in self.done]
        return [tuple(score for score in row if score is not None) for row in rows if None not in row]

    @cached_property
    def _scores(self) -> dict[tuple[str, SplitName], list[tuple[int, float]]]:
        """Seed and score of the finished runs, read once because every figure asks again."""
        found: dict[tuple[str, SplitName], list[tuple[int, float]]] = {}
        for record in self.done:
            seed = seed_of(record)
            for key, value in record.values().items():
                found.setdefault(key, []).append((seed, value))
        return found


def methods_of(records: Iterable[RunRecord], names: Mapping[str, str] | None = None) -> list[Method]:
    """Group records by method in the order of first appearance; `names` are names by hash."""
    groups: dict[str, list[RunRecord]] = {}
    for record in records:
        groups.setdefault(record.method, []).append(record)
    flat = {key: flatten(group[0].spec) for key, group in groups.items()}
    varying = differing(flat.values())
    labels = _with_hashes(_labels(flat) | {key: name for key, name in (names or {}).items() if key in groups})
    return [
        Method(
            key=key,
            label=labels[key],
            records=tuple(sorted(group, key=lambda record: (seed_of(record), record.name))),
            differences={name: flat[key][name] for name in varying if name in flat[key] and _is_news(name, flat[key])},
        )
        for key, group in groups.items()
    ]


def _is_news(name: str, spec: Mapping[str, str]) -> bool:
    """Tell whether a setting is worth showing: a published bug that is switched off is not."""
    return not (name.endswith("_bug") and spec[name] == "false")


def _labels(flat: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Name a method by its loss, then by the other parts that vary, then by the settings that still tell it apart.

    An untrained network is named by its trunk.
    """
    frozen = {key: spec for key, spec in flat.items() if spec.get("training.epochs") == "0"}
    trained = {key: spec for key, spec in flat.items() if key not in frozen}
    labels = {
        **_by_parts(trained, first="loss"),
        **{key: f"frozen {label}" for key, label in _by_parts(frozen, first="trunk", among=("head",)).items()},
    }
    alike: dict[str, list[str]] = {}
    for key in flat:
        alike.setdefault(labels[key], []).append(key)
    for label, keys in alike.items():
        varying = differing(flat[key] for key in keys) if len(keys) > 1 else []
        for key in keys if varying else []:
            settings = [f"{name}={flat[key].get(name, 'none')}" for name in varying]
            labels[key] = f"{label}, {', '.join(settings)}"
    return labels


def _by_parts(
    flat: Mapping[str, Mapping[str, str]], *, first: str, among: Collection[str] | None = None
) -> dict[str, str]:
    """Return the name of one part and of the others that vary, of all or `among` some."""
    varying = [key for key in differing(flat.values()) if "." not in key and key != first]
    parts = [key for key in varying if among is None or key in among]
    return {
        key: " + ".join([spec.get(first, key), *(spec[part] for part in parts if spec.get(part, "none") != "none")])
        for key, spec in flat.items()
    }


def _with_hashes(labels: Mapping[str, str]) -> dict[str, str]:
    """Add the hash to a name that two methods share: methods are looked up by name."""
    given = Counter(labels.values())
    return {key: label if given[label] == 1 else f"{label} ({key})" for key, label in labels.items()}


@dataclass(frozen=True, kw_only=True, eq=False)
class PerClassScores:
    """Each method's mean per class and seed, and the weights of the classes; `missing` says why there are none."""

    values: Mapping[str, Mapping[int, np.ndarray]]
    weights: np.ndarray
    missing: str = ""

    def generality(self, *, level: float, margin: float | None, is_higher: bool) -> Generality:
        """Return the methods compared over seeds, over classes and over both."""
        require(not self.missing, f"no comparison over test classes: {self.missing}")
        return generality_of(
            self.values, weights=self.weights.tolist(), level=level, margin=margin, higher_is_better=is_higher
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class ClassScores:
    """Scores per test class, from the files of runs whose folds are not yet averaged.

    A method's score on a class, for one seed, is the mean over its folds. Classes are weighted by their queries, as in
    the scores of records; a metric that is not such a mean (clustering, verification) has no scores per class.
    """

    records: tuple[RunRecord, ...]
    folders: Mapping[str, RunFolder]

    @cached_property
    def _groups(self) -> dict[str, list[RunRecord]]:
        return fold_groups(self.records)

    def of(self, metric: str, methods: Iterable[Method]) -> PerClassScores:
        """Return the scores of all methods per class, or why there are none."""
        values: dict[str, dict[int, np.ndarray]] = {}
        sizes: list[np.ndarray] = []
        for method in methods:
            by_seed: dict[int, list[np.ndarray]] = {}
            for record in self._groups.get(method.key, ()):
                if record.state != "done":
                    continue
                found = self._read(record, metric)
                if isinstance(found, str):
                    return PerClassScores(values={}, weights=np.empty(0), missing=found)
                by_seed.setdefault(seed_of(record), []).append(found[0])
                sizes.append(found[1])
            if by_seed:
                values[method.label] = {seed: np.mean(some, axis=0) for seed, some in by_seed.items()}
        return _on_same_classes(values, sizes, metric)

    def _read(self, record: RunRecord, metric: str) -> tuple[np.ndarray, np.ndarray] | str:
        """Return a run's means per class and the weights of the classes, or why it has none."""
        folder, score = self.folders.get(record.name), record.score(metric)
        if folder is None or not folder.queries.is_file():
            return f"run {record.name} has no scores per query"
        names = ["class_sizes", f"per_class/{metric}"]
        try:
            lacking = [name for name in names if name not in array_names(folder.queries)]
            if lacking:
                return f"run {record.name} has no {' and no '.join(lacking)} in {folder.queries.name}"
            arrays = read_arrays(folder.queries, names)
        except FairgroundError as error:
            leave_out(error)
            return str(error)
        sizes, means = (arrays[name].astype(float) for name in names)
        if sizes.shape != means.shape or sizes.sum() <= 0:
            return f"run {record.name} has no score per class of {metric}"
        means = np.where(sizes > 0, means, 0.0)
        for weights in (sizes, (sizes > 0).astype(float)):
            # The record's score is the mean over queries or over classes.
            if score is not None and abs(float(means @ weights / weights.sum()) - score) <= _ROUNDING:
                return means, weights
        return f"the score of run {record.name} is not a mean over its queries"


def _on_same_classes(
    values: Mapping[str, Mapping[int, np.ndarray]], sizes: list[np.ndarray], metric: str
) -> PerClassScores:
    missing = ""
    if not sizes:
        missing = "no run has finished"
    elif any(one.shape != sizes[0].shape or not np.array_equal(one, sizes[0]) for one in sizes):
        missing = "the runs were not tested on the same queries of the same classes"
    elif (sizes[0] > 0).sum() < 2:
        missing = f"{metric} covers one test class only"
    elif max(len(by) for by in values.values()) < 2:
        missing = "no method has two runs"
    if missing:
        return PerClassScores(values={}, weights=np.empty(0), missing=missing)
    kept = sizes[0] > 0
    return PerClassScores(
        values={label: {seed: x[kept] for seed, x in by.items()} for label, by in values.items()},
        weights=sizes[0][kept],
    )
