"""The runs of a report: records, folders and searches, divided into sections of a page; files that are left out."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from fairground import papers, reporting, studies
from fairground.comparison import join_folds
from fairground.records import RunFolder, RunRecord, array_names, folder_names, grouped, one_of_each_spec, read_arrays
from fairground.spec import DamageWarning, DataError, FairgroundError, StudySpec, data_name

#: what a section of a page is about: the data set and the protocol
SectionKey = tuple[str, str]
#: the setting that counts splits of rising distance
_STEPS = {"rising_distance": "level", "oodml_cars196": "number"}


@dataclass(frozen=True, kw_only=True)
class RunSet:
    """Records with the files of their runs, and how to show them.

    `folders` are by run; `trials` are searches by section, then by method's name; `names` are methods' names by hash;
    `metric` ranks the methods (default: the metric of selection); `study` is there if all runs are of one.
    """

    records: tuple[RunRecord, ...]
    folders: Mapping[str, RunFolder] = field(default_factory=dict)
    trials: Mapping[SectionKey, Mapping[str, Sequence["studies.Trial"]]] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    metric: str | None = None
    title: str = ""
    study: StudySpec | None = None

    @classmethod
    def in_home(
        cls, records: Iterable[RunRecord], home: Path, *, names: Mapping[str, str] | None = None, title: str = ""
    ) -> "RunSet":
        kept = tuple(records)
        # One listing: testing thousands of folders one by one is slow.
        there = folder_names(home)
        found = {record.name: RunFolder(home, record.name) for record in kept if record.name in there}
        return cls(records=kept, folders=found, names=names or {}, title=title)

    def sections(self) -> "dict[SectionKey, RunSet]":
        """Divide runs by data set and protocol; imported ones without a protocol are in every section of their data."""
        keys = {run.text_without_seed: section_key(run) for run in one_of_each_spec(self.records)}
        groups = grouped((keys[record.text_without_seed], record) for record in self.records)
        for key in [key for key in groups if key[1] == "imported"]:
            if own := [other for other in groups if other[0] == key[0] and other != key]:
                some = groups.pop(key)
                for other in own:
                    groups[other] += some
        return {key: replace(self, records=tuple(records)) for key, records in groups.items()}

    def files(self, kind: str) -> dict[str, Path]:
        """Return the files of one kind that runs left; a `Path` for each would take longer than asking the disk."""
        paths = {name: f"{folder.root}/runs/{name}/{kind}" for name, folder in self.folders.items()}
        return {name: Path(path) for name, path in paths.items() if os.path.isfile(path)}  # noqa: PTH113

    @cached_property
    def table(self) -> "reporting.ResultTable":
        """The table of all runs, folds averaged, under the names that methods have with their folds."""
        joined, before = join_folds(self.records), {record.name: record.method for record in self.records}
        known = {record.method: self.names.get(before.get(record.name, record.method)) for record in joined}
        names = {key: name for key, name in known.items() if name is not None}
        return reporting.ResultTable.from_records(joined, names=names, primary=self.metric, study=self.study)


def section_key(record: RunRecord) -> SectionKey:
    """Return the data set, by name, and the protocol of a run; each split of rising distance is a data set."""
    name, split = data_name(record.spec.get("data", "?")), record.spec.get("split") or {}
    step = _STEPS.get(split.get("name", "")) if isinstance(split, Mapping) else None
    name = name if step is None else f"{name}, {step} {split[step]}"
    return name, str(record.spec.get("protocol", "?"))


def with_ensembles_apart(records: Iterable[RunRecord]) -> list[RunRecord]:
    """Give concatenated models a protocol, and so a section, of their own."""
    return [
        replace(record, spec={**record.spec, "protocol": papers.ensemble_protocol(str(record.spec.get("protocol")))})
        if "ensemble" in record.spec
        else record
        for record in records
    ]


_LEFT_OUT: ContextVar[list[str]] = ContextVar("left_out")


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
    sentence, found = f"Left out: {error}", _LEFT_OUT.get([])
    if sentence not in found:
        DamageWarning.warn(sentence)
        found.append(sentence)


def arrays_in(path: Path, names: Sequence[str]) -> tuple[np.ndarray, ...] | None:
    """Return arrays of a run's file; None where it lacks them, or is unreadable, which the page says."""
    try:
        if not path.is_file() or not set(names) <= set(array_names(path)):
            return None
        arrays = read_arrays(path, names)
    except DataError as error:
        leave_out(error)
        return None
    return tuple(arrays[name] for name in names)
