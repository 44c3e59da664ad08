"""Runs ready for a report: their records, with all they left behind."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from fairground.records.artefacts import RunFolder
from fairground.records.record import RunRecord
from fairground.report.sections import Sources
from fairground.spec.space import Range


@dataclass(frozen=True, kw_only=True)
class RunSet:
    """Records with what they left behind; `title` is the study's question, or nothing for loose runs."""

    records: tuple[RunRecord, ...]
    sources: Sources
    title: str = ""

    def looked_at(self, *, metric: str | None, ranges: Mapping[str, Range]) -> "RunSet":
        """Return the same ranked by `metric`, with the ranges that were searched."""
        return replace(self, sources=replace(self.sources, metric=metric, ranges=ranges))


def folders_of(records: Iterable[RunRecord], home: Path) -> dict[str, RunFolder]:
    """Return the folders of the runs that have one under `home`."""
    found = {record.name: RunFolder(home, record.name) for record in records}
    return {name: folder for name, folder in found.items() if folder.path.is_dir()}


def joined_apart(records: Iterable[RunRecord]) -> list[RunRecord]:
    """Give joined models a protocol of their own: they are no single models and need a panel for themselves."""
    return [
        replace(record, spec={**record.spec, "protocol": f"{record.spec.get('protocol')}, concatenated"})
        if "ensemble" in record.spec
        else record
        for record in records
    ]
