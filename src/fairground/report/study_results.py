"""What a whole study found, for people and programs: a table for each data set, folds apart and joined, and a page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairground.fairness.folds import join_folds
from fairground.records.record import RunRecord
from fairground.report.page import build_page
from fairground.report.run_set import RunSet, folders_of, joined_apart
from fairground.report.sections import Place, Sources
from fairground.report.table_formats import text as table_text
from fairground.report.tables import ResultTable, TableRow
from fairground.spec.flatten import flatten
from fairground.study.run_study import JobResult
from fairground.study.search_analysis import expected_best, importance, on_bounds
from fairground.study.trial import Trial, counts


@dataclass(frozen=True, kw_only=True)
class Part:
    """One table of a study: its heading, its records with folds averaged or joined, and what to call the methods."""

    title: str
    data: str
    is_joined: bool
    records: tuple[RunRecord, ...]
    names: Mapping[str, str]

    @property
    def table(self) -> ResultTable:
        """The table of this part."""
        return ResultTable.from_records(self.records, names=self.names)


def parts_of(results: Sequence[JobResult]) -> list[Part]:
    """Return the tables of a study: for each data set separated and, where folds were joined, concatenated."""
    parts = []
    for label in dict.fromkeys(result.job.data.label for result in results):
        found = [result for result in results if result.job.data.label == label]
        n_folds = len(found[0].job.study.folds.used)
        apart = f"{label}, separated: the mean over {n_folds} fold models of a repeat" if n_folds > 1 else label
        joined = f"{label}, concatenated: the {n_folds} fold models of a repeat joined into one"
        parts.append(_part(apart, label, False, {result.job.method.label: _apart(result) for result in found}))
        parts.append(_part(joined, label, True, {result.job.method.label: result.joined for result in found}))
    return [part for part in parts if part.records]


def results_text(results: Sequence[JobResult]) -> str:
    """Return the tables of a study, what was selected, and what a reader must be told, for a terminal."""
    lines = []
    for part in parts_of(results):
        lines += [part.title, table_text(part.table)]
    lines += [line for result in results for line in _told(result)]
    return "\n".join(lines) + "\n"


def results_plain(results: Sequence[JobResult]) -> list[dict[str, Any]]:
    """Return everything a program may want to know of each cell, as JSON-ready data."""
    tables = [(part.data, part.is_joined, part.table) for part in parts_of(results)]
    found = []
    for result in results:
        job = result.job
        scores = {
            "concatenated" if is_joined else "separated": _scores(row, table.metrics)
            for data, is_joined, table in tables
            for row in table.rows
            if data == job.data.label and row.label == job.method.label
        }
        ranges = job.ranges() if result.trials else {}
        selected = result.selected
        found.append(
            {
                "data": job.data.label,
                "method": job.method.label,
                "trials": counts(result.trials),
                "seconds": round(sum(trial.seconds for trial in result.trials), 1),
                "settings": dict(selected.settings) if selected else None,
                "validation": selected.score if selected else None,
                "importance": importance(ranges, result.trials),
                "expected_best": expected_best(result.trials),
                "on_bounds": on_bounds(ranges, selected.settings) if selected else [],
                **scores,
            }
        )
    return found


def write_study_page(results: Sequence[JobResult], *, title: str, home: Path, out: Path) -> Path | None:
    """Write the page of a study and return its path; None when no final run has a record."""
    gathered = from_study(results, home=home, title=title)
    if not gathered.records:
        return None
    return build_page(gathered.records, title=title, out=out, sources=gathered.sources)


def from_study(results: Sequence[JobResult], *, home: Path, title: str) -> RunSet:
    """Return the final runs of a study under its methods' names, folds averaged and joined, with its searches."""
    records: list[RunRecord] = []
    names: dict[str, str] = {}
    for part in parts_of(results):
        names |= part.names
        records += joined_apart(part.records)
    searches: dict[Place, dict[str, Sequence[Trial]]] = {}
    for result in results:
        if result.trials and result.runs:
            flat = flatten(result.runs[0].spec)
            place = (flat.get("data", "?"), flat.get("protocol", "?"))
            searches.setdefault(place, {})[result.job.method.label] = result.trials
    sources = Sources(folders=folders_of(records, home), searches=searches, names=names)
    return RunSet(records=tuple(records), sources=sources, title=title)


def _part(title: str, data: str, is_joined: bool, records: Mapping[str, Sequence[RunRecord]]) -> Part:
    names = {record.method: label for label, found in records.items() for record in found}
    kept = tuple(record for found in records.values() for record in found)
    return Part(title=title, data=data, is_joined=is_joined, records=kept, names=names)


def _apart(result: JobResult) -> list[RunRecord]:
    """Return a record for every repeat with its folds averaged; a repeat that lost a fold counts as unfinished."""
    n_folds = len(result.job.study.folds.used)
    repeats = [result.runs[i : i + n_folds] for i in range(0, len(result.runs), n_folds)]
    kept: list[RunRecord] = []
    for runs in repeats:
        unfinished = [run for run in runs if run.state != "done"]
        kept += unfinished or list(runs)
    return join_folds(kept)


def _told(result: JobResult) -> list[str]:
    label = result.job.label
    lines = []
    if result.trials:
        states = ", ".join(f"{n} {state}" for state, n in counts(result.trials).items() if n)
        seconds = sum(trial.seconds for trial in result.trials)
        lines.append(f"{label}: {len(result.trials)} trials ({states}), {seconds:.0f} s of training")
    if result.selected is None:
        return [*lines, f"{label}: no trial finished, so there is nothing to repeat"]
    if result.selected.trial is not None:
        settings = ", ".join(f"{key}={value}" for key, value in result.selected.settings.items())
        lines.append(f"  trial {result.selected.trial} selected, validation {result.selected.score:.4f}: {settings}")
        lines += [f"  warning: {word}" for word in on_bounds(result.job.ranges(), result.selected.settings)]
    return [*lines, *(f"  warning: not joined: {word}" for word in dict.fromkeys(result.complaints))]


def _scores(row: TableRow, metrics: Sequence[str]) -> dict[str, Any]:
    found = {}
    for metric in metrics:
        cell = row.cells[metric]
        if cell.interval is not None:
            span = cell.interval
            found[metric] = {"mean": span.mean, "low": span.low, "high": span.high, "n": span.n}
    return found
