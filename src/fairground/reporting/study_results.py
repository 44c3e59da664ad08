"""The results of a study as text, JSON and a page: a table per data set, with folds separated and joined."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fairground import reporting, studies
from fairground.comparison import InputError, require
from fairground.records import RunRecord, Store, grouped
from fairground.reporting import RunSet, SectionKey, section_key, table_formats, with_ensembles_apart
from fairground.spec import StudySpec, canonical_json, load_study, nearest, study_names, without_fold


@dataclass(frozen=True, kw_only=True)
class StudyTable(RunSet):
    """The runs of one table of a study: on one data set, fold by fold or concatenated."""

    study: StudySpec
    data: str
    is_joined: bool

    def text(self, *, width: int | None = None) -> str:
        is_compared = self.table.comparisons and self.study.kind != "toy"
        further = "".join(f"{line}\n" for line in reporting.reservations(self.table)) if is_compared else ""
        shown = table_formats.text(self.table.shown(), width=width)
        return f"{table_formats.folded(self.title, width)}\n{shown}{table_formats.folded(further, width)}"


def tables_of(results: Sequence["studies.JobResult"]) -> list[StudyTable]:
    """Return the tables of a study: for each data set separated and, where folds were joined, concatenated."""
    tables = []
    for label, some in grouped((result.job.data.label, result) for result in results).items():
        study = some[0].job.study
        n_folds = len(study.folds.used)
        titles = {
            False: f"{label}, separated: the mean over {n_folds} fold models of a repeat" if n_folds > 1 else label,
            True: f"{label}, concatenated: the {n_folds} fold models of a repeat joined into one",
        }
        for is_joined, title in titles.items():
            runs = {one.job.method.label: one.joined if is_joined else _separated(one) for one in some}
            names = {record.method: method for method, found in runs.items() for record in found}
            # Two methods whose settings are the same share their runs.
            if kept := {record.name: record for found in runs.values() for record in found}:
                records = tuple(kept.values())
                table = StudyTable(
                    study=study, title=title, data=label, is_joined=is_joined, records=records, names=names
                )
                tables.append(table)
    return tables


def results_text(
    results: Sequence["studies.JobResult"], tables: Sequence[StudyTable], *, home: Path, width: int | None = None
) -> str:
    """Return the tables of a study, its answer, what was selected, and warnings, in lines of at most `width` signs."""
    lines = [found.text(width=width) for found in tables]
    runs = from_study(results, home=home, title="")
    is_answered = runs.study is not None and runs.study.kind != "ranking" and runs.records
    for (data, _), inputs in (reporting.inputs_of(runs) if is_answered else {}).items():
        answers = [figure.answer for figure in reporting.figures_of(inputs) if figure.is_answer and figure.answer]
        lines += [table_formats.folded(f"{data}: {answer}", width) for answer in answers]
    lines += [table_formats.folded(line, width) for result in results for line in _search_lines(result)]
    return "\n".join(lines) + "\n"


def results_plain(results: Sequence["studies.JobResult"], tables: Sequence[StudyTable]) -> list[dict[str, Any]]:
    found = []
    for result in results:
        job, selected = result.job, result.selected
        scores = {
            "concatenated" if one.is_joined else "separated": {
                metric: cell.interval.ends for metric, cell in row.cells.items() if cell.interval is not None
            }
            for one in tables
            for row in one.table.rows
            if one.data == job.data.label and row.label == job.method.label
        }
        ranges = job.ranges() if result.trials else {}
        found.append(
            {
                "data": job.data.label,
                "method": job.method.label,
                "trials": studies.counts(result.trials),
                "seconds": round(sum(trial.seconds for trial in result.trials), 1),
                "settings": dict(selected.settings) if selected else None,
                "validation": selected.score if selected else None,
                "importance": studies.importance(ranges, result.trials),
                "on_bounds": studies.on_bounds(ranges, selected.settings) if selected else [],
                **scores,
            }
        )
    return found


def from_study(results: Sequence["studies.JobResult"], *, home: Path, title: str) -> RunSet:
    """Return the final runs of a study under its methods' names, concatenated models too, with its searches."""
    records: list[RunRecord] = []
    names: dict[str, str] = {}
    for table in tables_of(results):
        names |= table.names
        records += with_ensembles_apart(table.records)
    trials: dict[SectionKey, dict[str, Sequence[studies.Trial]]] = {}
    for result in results:
        if result.trials and result.runs:
            trials.setdefault(section_key(result.runs[0]), {})[result.job.method.label] = result.trials
    study = results[0].job.study if results else None
    return replace(RunSet.in_home(records, home, names=names, title=title), trials=trials, study=study)


def _separated(result: "studies.JobResult") -> list[RunRecord]:
    """Return the runs of every repeat; of a repeat that lost a fold only the unfinished runs."""
    n_folds = len(result.job.study.folds.used)
    kept: list[RunRecord] = []
    for i in range(0, len(result.runs), n_folds):
        runs = result.runs[i : i + n_folds]
        kept += [run for run in runs if run.state != "done"] or runs
    return kept


def _search_lines(result: "studies.JobResult") -> list[str]:
    label, lines = result.job.label, []
    if result.trials:
        states = {state: n for state, n in studies.counts(result.trials).items() if n}
        shown = "" if set(states) == {"done"} else f" ({', '.join(f'{n} {state}' for state, n in states.items())})"
        seconds = sum(trial.seconds for trial in result.trials)
        lines.append(f"{label}: {reporting.count(len(result.trials), 'trial')}{shown}, {seconds:.0f} s")
    if result.selected is None:
        return [*lines, f"{label}: no trial finished, so there is nothing to repeat"]
    if result.selected.trial is not None:
        settings = ", ".join(f"{key}={value}" for key, value in result.selected.settings.items())
        metric, score = result.job.study.selection.metric, result.selected.score
        shown = "" if score is None else f", validation {metric} {reporting.with_unit(metric, score)}"
        lines.append(f"  trial {result.selected.trial} selected{shown}: {settings}")
    return [*lines, *(f"  warning: not joined: {word}" for word in dict.fromkeys(result.complaints))]


def find_runs(names: Sequence[str], home: Path) -> RunSet:
    """Return the runs of one study, or runs and methods by hash; without names, all runs except trials."""
    store = Store(home)
    if len(names) == 1 and not _is_run(store, names[0]):
        return _of_study(names[0], home)
    found = store.named(names) if names else [run for run in store.records() if not run.is_trial]
    require(len(found) > 0, f"there is no run to report in {home}; `fairground demo` makes some")
    return RunSet.in_home(with_ensembles_apart(found), home)


def _of_study(name: str, home: Path) -> RunSet:
    """Return the finished runs of a study whose selection is over, with its joined models."""
    study = studies.find_begun(home, name)
    if study is None and name in study_names() and studies.folder_of(load_study(name), home).spec.exists():
        study = load_study(name)  # made of the same runs as another, which was begun
    hint = nearest(name, [one.name for one in studies.begun_studies(home).values()])
    require(study is not None, f"no study or run '{name}' in {home}.{hint} `fairground list runs` lists them.")
    assert study is not None
    ensembles = [record for record in Store(home).records() if "ensemble" in record.spec]
    results = []
    for result in studies.results_so_far(study, home=home):
        keys = {_repeat(run) for run in result.runs}
        results.append(result._replace(joined=tuple(one for one in ensembles if _repeat(one) in keys)))
    runs = from_study(results, home=home, title=study.question or study.name)
    hint = f"`fairground study status {study.name}` shows its progress"
    require(len(runs.records) > 0, f"study {study.name} has no final run yet: {hint}")
    return runs


def _is_run(store: Store, name: str) -> bool:
    with suppress(InputError):
        return bool(store.names(method=name) or store.resolve(name))
    return False


def _repeat(record: RunRecord) -> str:
    return canonical_json({**without_fold(record.spec), "ensemble": None})
