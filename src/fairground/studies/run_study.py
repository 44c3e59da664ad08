"""A study from end to end: search, select, repeat on fresh seeds, and score the fold models separated and joined."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from fairground.errors import InputError, require
from fairground.records.record import RunRecord
from fairground.records.store import Store
from fairground.spec.measurement_names import declared_metric
from fairground.spec.study import StudySpec, study_hash
from fairground.spec.study_jobs import StudyJob, jobs_of
from fairground.studies import ensembles
from fairground.studies.executors.executor import Executor
from fairground.studies.final_runs import run_finals
from fairground.studies.folder import folder_of
from fairground.studies.scheduler import JOB, OnRecord, Scheduler
from fairground.studies.search import search
from fairground.studies.select import Seal, Selected, select
from fairground.studies.trial import Trial
from fairground.studies.trial_store import TrialStore

#: starts an executor of the function named by a dotted path
Spawn = Callable[[str], Executor]


@dataclass(frozen=True, kw_only=True)
class JobResult:
    """One method on one data set: its trials, what was selected, the final runs and the joined models."""

    job: StudyJob
    trials: tuple[Trial, ...]
    selected: Selected | None
    runs: tuple[RunRecord, ...] = ()
    joined: tuple[RunRecord, ...] = ()
    complaints: tuple[str, ...] = ()


def run_study(
    study: StudySpec,
    *,
    home: Path,
    spawn: Spawn,
    storage: str | None = None,
    on_record: OnRecord = lambda _: None,
    run_job: str = JOB,
    join_job: str = ensembles.JOB,
) -> list[JobResult]:
    """Run a study from wherever it is and return the result of every job."""
    folder, store = folder_of(study, home), Store(home)
    jobs, seal = jobs_of(study), Seal(store, study)

    def note(record: RunRecord) -> None:
        seal.note_run(record)
        on_record(record)

    with folder.locked(study), closing(open_trial_store(study, home, storage)) as trial_store, trial_store.locked():
        with spawn(run_job) as executor:
            scheduler = Scheduler(store=store, executor=executor, on_record=note)
            searches = {job.label: search(job, trial_store) for job in jobs} if study.search.trials else {}
            trials = scheduler.run(searches)
            chosen = _chosen(jobs, trials)
            seal.end_selection(chosen)
            seal.note_opening(f"the final runs of study {study.name} on {', '.join(d.label for d in study.data)}")
            runs = run_finals(jobs, seal, scheduler)
        joined = _join(jobs, runs, store, spawn(join_job)) if len(study.folds.used) > 1 else {}
    return [
        JobResult(
            job=job,
            trials=tuple(trials.get(job.label, ())),
            selected=chosen.get(job.label),
            runs=tuple(runs[job.label]),
            joined=tuple(joined.get(job.label, ([], []))[0]),
            complaints=tuple(joined.get(job.label, ([], []))[1]),
        )
        for job in jobs
    ]


def open_trial_store(study: StudySpec, home: Path, storage: str | None) -> TrialStore:
    """Return the store of a study's trials: in its folder unless a storage is named."""
    name, metric = study_hash(study), declared_metric(study.selection.metric)
    is_higher = None if metric is None else metric.higher_is_better
    if storage is None:
        return TrialStore.in_folder(folder_of(study, home).path, study=name, higher_is_better=is_higher)
    is_known = storage.startswith(("postgresql", "sqlite"))
    require(is_known, "--storage takes a URL like postgresql+psycopg://user@host/database", InputError)
    return TrialStore(storage, study=name, higher_is_better=is_higher)


def _chosen(jobs: Sequence[StudyJob], trials: Mapping[str, Sequence[Trial]]) -> dict[str, Selected]:
    """Return what is selected in every job; one without a finished trial has nothing to go on with."""
    chosen = {}
    for job in jobs:
        selected = select(trials[job.label]) if job.label in trials else Selected(settings={})
        if selected is not None:
            chosen[job.label] = selected
    return chosen


def _join(
    jobs: Sequence[StudyJob], runs: Mapping[str, Sequence[RunRecord]], store: Store, spawned: Executor
) -> dict[str, tuple[list[RunRecord], list[str]]]:
    n_folds = len(jobs[0].study.folds.used) if jobs else 1
    with spawned as executor:
        return {
            label: ensembles.join(
                [found[i : i + n_folds] for i in range(0, len(found), n_folds)], store=store, executor=executor
            )
            for label, found in runs.items()
        }
