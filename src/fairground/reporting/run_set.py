"""The runs of a report: records, folders and searches, divided into the sections of a page and grouped into methods."""

import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from fairground.comparison import Generality, fold_groups, generality_of, seed_of
from fairground.errors import DamageWarning, DataError, FairgroundError, InputError, require
from fairground.papers.expected_runs import ensemble_protocol
from fairground.records import RunFolder, RunRecord, SplitName, array_names, folder_names, one_of_each_spec, read_arrays
from fairground.spec.run_names import data_name, differing, flatten
from fairground.studies.trials import Trial

#: what a section of a page is about: the data set and the protocol
SectionKey = tuple[str, str]
#: largest deviation of a weighted mean of class scores from the record's score
_ROUNDING = 1e-6


@dataclass(frozen=True, kw_only=True)
class RunSet:
    """Records with the files of their runs, and how to show them.

    `folders` are by run; `trials` are searches by section, then by method's name; `names` are methods' names by hash;
    `metric` ranks the methods (default: the metric of selection); `title` is the
    study's question; `follows` and `differs` describe the study's relation to its paper.
    """

    records: tuple[RunRecord, ...]
    folders: Mapping[str, RunFolder] = field(default_factory=dict)
    trials: Mapping[SectionKey, Mapping[str, Sequence[Trial]]] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    metric: str | None = None
    title: str = ""
    follows: str = ""
    differs: str = ""

    @classmethod
    def in_home(
        cls, records: Iterable[RunRecord], home: Path, *, names: Mapping[str, str] | None = None, title: str = ""
    ) -> "RunSet":
        """Return the records with the folders they have under `home`."""
        kept = tuple(records)
        # One listing: testing thousands of folders one by one is slow.
        there = folder_names(home)
        found = {record.name: RunFolder(home, record.name) for record in kept if record.name in there}
        return cls(records=kept, folders=found, names=names or {}, title=title)

    def sections(self) -> "dict[SectionKey, RunSet]":
        """Divide the runs by data set and protocol, which never share a table."""
        groups: dict[SectionKey, list[RunRecord]] = {}
        keys = {run.text_without_seed: section_key(run) for run in one_of_each_spec(self.records)}
        for record in self.records:
            groups.setdefault(keys[record.text_without_seed], []).append(record)
        return {key: replace(self, records=tuple(records)) for key, records in groups.items()}


def section_key(record: RunRecord) -> SectionKey:
    """Return the data set, by name, and the protocol of a run."""
    return data_name(record.spec.get("data", "?")), str(record.spec.get("protocol", "?"))


def names_of_joined(
    records: Iterable[RunRecord], joined: Iterable[RunRecord], names: Mapping[str, str]
) -> dict[str, str]:
    """Return the names by the hashes that methods have once their folds are averaged."""
    before = {record.name: record.method for record in records}
    found = {record.method: names.get(before.get(record.name, record.method)) for record in joined}
    return {key: name for key, name in found.items() if name is not None}


def with_ensembles_apart(records: Iterable[RunRecord]) -> list[RunRecord]:
    """Give concatenated models a protocol, and so a section, of their own."""
    return [
        replace(record, spec={**record.spec, "protocol": ensemble_protocol(str(record.spec.get("protocol")))})
        if "ensemble" in record.spec
        else record
        for record in records
    ]


_LEFT_OUT: ContextVar[list[str] | None] = ContextVar("left_out", default=None)


@contextmanager
def collected() -> Iterator[list[str]]:
    """Yield the list that `leave_out` adds to in this block, each sentence once."""
    found: list[str] = []
    token = _LEFT_OUT.set(found)
    try:
        yield found
    finally:
        _LEFT_OUT.reset(token)


def leave_out(error: FairgroundError) -> None:
    """Warn that the page is made without an unreadable file, and note it for the page."""
    sentence = f"Left out: {error}"
    found = _LEFT_OUT.get()
    if found is None or sentence not in found:
        warnings.warn(sentence, DamageWarning, stacklevel=2)
    if found is not None and sentence not in found:
        found.append(sentence)


@dataclass(frozen=True, kw_only=True)
class Method:
    """One method: the runs that differ in nothing but their seed; `differences` are the settings that set it apart."""

    key: str
    label: str
    records: tuple[RunRecord, ...]
    settings: Mapping[str, str]
    differences: Mapping[str, str]

    @cached_property
    def done(self) -> tuple[RunRecord, ...]:
        return tuple(record for record in self.records if record.state == "done")

    @cached_property
    def scored(self) -> list[tuple[str, SplitName]]:
        """The metrics, each with its split, that any finished run has, in order of appearance."""
        return list(dict.fromkeys(key for record in self.done for key in record.values))

    def values(self, metric: str, split: SplitName) -> list[float]:
        return [value for record in self.done if (value := record.score(metric, split)) is not None]

    def by_seed(self, metric: str, split: SplitName) -> dict[int, float]:
        """Return the metric of every finished run that has it by seed; runs that share a seed are averaged."""
        found: dict[int, list[float]] = {}
        for record in self.done:
            if (value := record.score(metric, split)) is not None:
                found.setdefault(seed_of(record), []).append(value)
        return {seed: sum(some) / len(some) for seed, some in sorted(found.items())}


def methods_of(records: Iterable[RunRecord], names: Mapping[str, str] | None = None) -> list[Method]:
    """Group records by method in the order of first appearance; `names` are names by hash."""
    groups: dict[str, list[RunRecord]] = {}
    for record in records:
        groups.setdefault(record.method, []).append(record)
    flat = {key: flatten(group[0].spec) for key, group in groups.items()}
    varying = differing(flat.values())
    labels = _labels(flat) | {key: name for key, name in (names or {}).items() if key in groups}
    n_called = Counter(labels.values())
    return [
        Method(
            key=key,
            # Methods are looked up by name: one that two share gets its hash.
            label=labels[key] if n_called[labels[key]] == 1 else f"{labels[key]} ({key})",
            records=tuple(sorted(group, key=lambda record: (seed_of(record), record.name))),
            settings=flat[key],
            # A published bug that is switched off is not worth showing.
            differences={
                name: value
                for name in varying
                if (value := flat[key].get(name)) is not None and not (name.endswith("_bug") and value == "false")
            },
        )
        for key, group in groups.items()
    ]


def _labels(flat: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Name a method by its loss, then by the other parts that vary, then by the settings that still tell it apart.

    An untrained network is named by its trunk.
    """
    frozen = {key: spec for key, spec in flat.items() if spec.get("training.epochs") == "0"}
    trained = {key: spec for key, spec in flat.items() if key not in frozen}
    labels = _by_parts(trained, first="loss")
    labels |= {key: f"frozen {label}" for key, label in _by_parts(frozen, first="trunk", among=("head",)).items()}
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


@dataclass(frozen=True, kw_only=True, eq=False)
class ClassScores:
    """Scores per test class, from the files of runs whose folds are not yet averaged.

    A method's score on a class, for one seed, is the mean over its folds. Classes are weighted by their queries, as in
    the scores of records; a metric that is not such a mean (clustering, verification) has no scores per class.
    """

    records: tuple[RunRecord, ...]
    folders: Mapping[str, RunFolder]

    def generality(
        self, metric: str, methods: Iterable[Method], *, level: float, margin: float | None, is_higher: bool
    ) -> Generality:
        """Return the methods compared over seeds, over classes and over both; refused where scores are missing."""
        try:
            values, weights = self.read(metric, methods)
        except InputError as error:
            raise InputError(f"no comparison over test classes: {error}") from error
        return generality_of(values, weights=weights, level=level, margin=margin, higher_is_better=is_higher)

    def read(
        self, metric: str, methods: Iterable[Method]
    ) -> tuple[Mapping[str, Mapping[int, np.ndarray]], Sequence[float]]:
        """Return each method's mean per class and seed, and the weights of the classes; refuse where there are none."""
        values: dict[str, dict[int, np.ndarray]] = {}
        sizes: list[np.ndarray] = []
        groups = fold_groups(self.records)
        for method in methods:
            by_seed: dict[int, list[np.ndarray]] = {}
            for record in groups.get(method.key, ()):
                if record.state == "done":
                    means, weights = self._read(record, metric)
                    by_seed.setdefault(seed_of(record), []).append(means)
                    sizes.append(weights)
            if by_seed:
                values[method.label] = {seed: np.mean(some, axis=0) for seed, some in by_seed.items()}
        require(bool(sizes), "no run has finished")
        first = sizes[0]
        is_same = all(np.array_equal(one, first) for one in sizes)
        require(is_same, "the runs were not tested on the same queries of the same classes")
        kept = first > 0
        require(kept.sum() > 1, f"{metric} covers one test class only")
        require(max(map(len, values.values())) > 1, "no method has two runs")
        kept_values = {label: {seed: x[kept] for seed, x in by.items()} for label, by in values.items()}
        return kept_values, first[kept].tolist()

    def _read(self, record: RunRecord, metric: str) -> tuple[np.ndarray, np.ndarray]:
        """Return a run's means per class and the weights of the classes; refuse where it has none."""
        folder, score = self.folders.get(record.name), record.score(metric)
        if folder is None or not folder.queries.is_file():
            raise InputError(f"run {record.name} has no scores per query")
        names = ["class_sizes", f"per_class/{metric}"]
        try:
            lacking = [name for name in names if name not in array_names(folder.queries)]
            arrays = {} if lacking else read_arrays(folder.queries, names)
        except DataError as error:
            leave_out(error)
            raise
        require(not lacking, f"run {record.name} has no {' and no '.join(lacking)} in {folder.queries.name}")
        sizes, means = (arrays[name].astype(float) for name in names)
        is_whole = sizes.shape == means.shape and sizes.sum() > 0
        require(is_whole, f"run {record.name} has no score per class of {metric}")
        means = np.where(sizes > 0, means, 0.0)
        for weights in (sizes, (sizes > 0).astype(float)):
            # The record's score is the mean over queries or over classes.
            if score is not None and abs(float(means @ weights / weights.sum()) - score) <= _ROUNDING:
                return means, weights
        raise InputError(f"the score of run {record.name} is not a mean over its queries")
