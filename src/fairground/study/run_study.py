"""A whole study: search, select, repeat on fresh seeds, and judge the fold models apart and joined."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from fairground.errors import InputError, require
from fairground.execution.executor import Executor
from fairground.records.record import RunRecord
from fairground.records.store import Store
from fairground.spec.identity import name_of
from fairground.spec.jobs import StudyJob, jobs_of
from fairground.spec.study import StudySpec, study_hash
from fairground.study import ensembles
from fairground.study.folder import folder_of
from fairground.study.run_specs import JOB
from fairground.study.scheduler import Heard, Request, Scheduler, Walk, with_notes
from fairground.study.search import search
from fairground.study.select import Seal, Selected, select
from fairground.study.trial import Trial
from fairground.study.trial_store import TrialStore

#: gives an executor for a job named by dotted path
Hire = Callable[[str], Executor]


@dataclass(frozen=True, kw_only=True)
class JobResult:
    """One method on one data set: its trials, what was selected, the final runs and the joined models."""

    cell: StudyJob
    trials: tuple[Trial, ...]
    selected: Selected | None
    runs: tuple[RunRecord, ...] = ()
    joined: tuple[RunRecord, ...] = ()
    complaints: tuple[str, ...] = ()


def run_study(
    study: StudySpec,
    *,
    home: Path,
    hire: Hire,
    storage: str | None = None,
    heard: Heard = lambda _: None,
    job: str = JOB,
    join_job: str = ensembles.JOB,
) -> list[JobResult]:
    """Conduct a study from wherever it stands and return what came of every cell."""
    folder, store = folder_of(study, home), Store(home)
    cells, seal = jobs_of(study), Seal(store, study)

    def hear(record: RunRecord) -> None:
        seal.note_run(record)
        heard(record)

    with folder.claimed(study), closing(open_trial_store(study, home, storage)) as book, book.held():
        with hire(job) as executor:
            together = Scheduler(store=store, executor=executor, heard=hear)
            trials = _search(cells, book, together) if study.search.trials else {}
            chosen = _chosen(cells, trials)
            seal.end_selection(chosen)
            seal.note_opening(f"the final runs of study {study.name} on {', '.join(d.label for d in study.data)}")
            runs = together.lead({cell.label: _final(cell, seal, chosen) for cell in cells})
        joined = _join(cells, runs, store, hire(join_job)) if len(study.folds.used) > 1 else {}
    return [
        JobResult(
            cell=cell,
            trials=tuple(trials.get(cell.label, ())),
            selected=chosen.get(cell.label),
            runs=tuple(runs[cell.label]),
            joined=tuple(joined.get(cell.label, ([], []))[0]),
            complaints=tuple(joined.get(cell.label, ([], []))[1]),
        )
        for cell in cells
    ]


def open_trial_store(study: StudySpec, home: Path, storage: str | None) -> TrialStore:
    """Return the book of a study's trials: in its folder unless a storage is named."""
    if storage is None:
        return TrialStore.in_folder(folder_of(study, home).path, study=study_hash(study))
    is_known = storage.startswith(("postgresql", "sqlite"))
    require(is_known, "--storage takes a URL like postgresql+psycopg://user@host/database", InputError)
    return TrialStore(storage, study=study_hash(study))


def _search(cells: Sequence[StudyJob], book: TrialStore, together: Scheduler) -> dict[str, list[Trial]]:
    return together.lead({cell.label: search(cell, book) for cell in cells})


def _chosen(cells: Sequence[StudyJob], trials: Mapping[str, Sequence[Trial]]) -> dict[str, Selected]:
    """Return what is selected in every cell; one without a finished trial has nothing to go on with."""
    chosen = {}
    for cell in cells:
        selected = select(trials[cell.label]) if cell.label in trials else Selected(settings={})
        if selected is not None:
            chosen[cell.label] = selected
    return chosen


def _final(cell: StudyJob, seal: Seal, chosen: Mapping[str, Selected]) -> "Walk[list[RunRecord]]":
    specs = seal.final_specs(cell)
    if not specs:
        return []
    notes = chosen[cell.label].notes()
    records = yield Request(specs=list(specs.values()), notes=notes)
    # A run that somebody had made before has no such notes yet.
    return [with_notes(records[name_of(spec)], notes) for spec in specs.values()]


def _join(
    cells: Sequence[StudyJob], runs: Mapping[str, Sequence[RunRecord]], store: Store, hired: Executor
) -> dict[str, tuple[list[RunRecord], list[str]]]:
    n_folds = len(cells[0].study.folds.used) if cells else 1
    with hired as executor:
        return {
            label: ensembles.join(
                [found[i : i + n_folds] for i in range(0, len(found), n_folds)], store=store, executor=executor
            )
            for label, found in runs.items()
        }
