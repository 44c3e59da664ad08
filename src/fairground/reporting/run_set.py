"""Runs ready for a report: records, folders and searches in one place, divided into the sections of a page."""

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from fairground.errors import DamageWarning, FairgroundError
from fairground.papers.expected_runs import ensemble_protocol
from fairground.records.record import RunRecord, one_of_each_spec
from fairground.records.run_folder import RunFolder, folder_names
from fairground.spec.identity import data_name
from fairground.spec.space import Range
from fairground.studies.trials import Trial

#: what a section of a page is about: the data set and the protocol
SectionKey = tuple[str, str]


@dataclass(frozen=True, kw_only=True)
class RunSet:
    """Records with all their runs left behind, and how to show them.

    `folders` are the runs' files by run; `trials` the searches by section, then by method's name; `names` says what to
    call a method, by its hash; `ranges` are what was searched; `metric` is what to rank by if not by what the runs were
    selected by; `title` is the study's question, or nothing for loose runs; `follows` and `differs` say what the study
    says of itself and its paper.
    """

    records: tuple[RunRecord, ...]
    folders: Mapping[str, RunFolder] = field(default_factory=dict)
    trials: Mapping[SectionKey, Mapping[str, Sequence[Trial]]] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    ranges: Mapping[str, Range] = field(default_factory=dict)
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
        # One look at the home: asking after every one of thousands of folders takes longer than all else about them.
        there = folder_names(home)
        found = {record.name: RunFolder(home, record.name) for record in kept if record.name in there}
        return cls(records=kept, folders=found, names=names or {}, title=title)

    @cached_property
    def analyses(self) -> dict[str, Path]:
        """The files of curves by run, of the runs that kept any: looked for once, because many figures ask."""
        files = {name: folder.analyses for name, folder in self.folders.items()}
        return {name: path for name, path in files.items() if path.is_file()}

    def sections(self) -> "dict[SectionKey, RunSet]":
        """Divide the runs by data set and protocol: those of different ones never share a table."""
        groups: dict[SectionKey, list[RunRecord]] = {}
        keys = {run.text_without_seed: section_key(run) for run in one_of_each_spec(self.records)}
        for record in self.records:
            groups.setdefault(keys[record.text_without_seed], []).append(record)
        return {key: replace(self, records=tuple(records)) for key, records in groups.items()}


def section_key(record: RunRecord) -> SectionKey:
    """Return the section that a run belongs to: one for each data set, the user's own by their names."""
    return data_name(record.spec.get("data", "?")), str(record.spec.get("protocol", "?"))


def names_of_joined(
    records: Iterable[RunRecord], joined: Iterable[RunRecord], names: Mapping[str, str]
) -> dict[str, str]:
    """Return the names by the hashes that methods have once their folds are averaged."""
    before = {record.name: record.method for record in records}
    found = {record.method: names.get(before.get(record.name, record.method)) for record in joined}
    return {key: name for key, name in found.items() if name is not None}


def with_ensembles_apart(records: Iterable[RunRecord]) -> list[RunRecord]:
    """Give concatenated models a protocol of their own: they are no single models and need their own section."""
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
    """Warn that a figure is made without an unreadable file, and note it for the page."""
    sentence = f"Left out: {error}"
    found = _LEFT_OUT.get()
    if found is None or sentence not in found:
        warnings.warn(sentence, DamageWarning, stacklevel=2)
    if found is not None and sentence not in found:
        found.append(sentence)
