"""The runs of a report: records, folders and searches, divided into the sections of a page and grouped into methods."""

import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from fairground.comparison import seed_of
from fairground.errors import DamageWarning, FairgroundError
from fairground.papers.expected_runs import ensemble_protocol
from fairground.records import RunFolder, RunRecord, SplitName, folder_names, one_of_each_spec
from fairground.reporting import labels_of
from fairground.spec import StudySpec
from fairground.spec.run_names import data_name, differing, flatten
from fairground.studies.trials import Trial

#: what a section of a page is about: the data set and the protocol
SectionKey = tuple[str, str]


@dataclass(frozen=True, kw_only=True)
class RunSet:
    """Records with the files of their runs, and how to show them.

    `folders` are by run; `trials` are searches by section, then by method's name; `names` are methods' names by hash;
    `metric` ranks the methods (default: the metric of selection); `study` is there if all runs are of one.
    """

    records: tuple[RunRecord, ...]
    folders: Mapping[str, RunFolder] = field(default_factory=dict)
    trials: Mapping[SectionKey, Mapping[str, Sequence[Trial]]] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    metric: str | None = None
    title: str = ""
    study: StudySpec | None = None

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
        """Divide the runs by data set and protocol, which never share a table.

        Imported runs that name no protocol stand in every section of their data set.
        """
        groups: dict[SectionKey, list[RunRecord]] = {}
        keys = {run.text_without_seed: section_key(run) for run in one_of_each_spec(self.records)}
        for record in self.records:
            groups.setdefault(keys[record.text_without_seed], []).append(record)
        for key in [key for key in groups if key[1] == "imported"]:
            if own := [other for other in groups if other[0] == key[0] and other != key]:
                some = groups.pop(key)
                for other in own:
                    groups[other] += some
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
    labels = labels_of(flat) | {key: name for key, name in (names or {}).items() if key in groups}
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
