"""A study from end to end: search, select, repeat on fresh seeds, and score the fold models separated and joined."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fairground.records.record import RunRecord
from fairground.records.store import Store
from fairground.spec.study import StudyJob, StudySpec, jobs_of
from fairground.studies import ensembles
from fairground.studies.executors.executor import Executor
from fairground.studies.final_runs import run_finals
from fairground.studies.folder import folder_of
from fairground.studies.scheduler import JOB, OnRecord, Scheduler
from fairground.studies.search import search
from fairground.studies.select import Seal, Selected, select
from fairground.studies.trials import Trial, TrialStore

#: what `fairground study` ends with when every run worked, when none did, and when some failed
ALL_WORKED, NONE_WORKED, SOME_FAILED = 0, 1, 3
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

    trial_store = TrialStore(folder.path)
    with folder.locked(study):
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


@dataclass(frozen=True, kw_only=True)
class StudyFailures:
    """`n` trials and final runs, of which `n_done` have scores and the failed have `reasons`, each with its count."""

    n: int
    n_done: int
    reasons: Counter[str]

    @property
    def exit_code(self) -> int:
        """What the command ends with; a diverged run is a result and no failure, unless nothing else came out."""
        if self.n_done == 0:
            return NONE_WORKED
        return SOME_FAILED if self.reasons else ALL_WORKED

    def sentence(self) -> str:
        """Say how many failed and why; nothing where none did."""
        if self.exit_code == ALL_WORKED:
            return ""
        if not self.reasons:
            return f"none of {self.n} trials and final runs finished: all of them diverged or had no score"
        (reason, times), *others = self.reasons.most_common()
        more = f"; {len(others)} other reasons: `fairground show RUN` prints each" if others else ""
        failed = f"{self.reasons.total()} of {self.n} trials and final runs failed"
        return f"{failed}, {times} of them so: {reason}{more}"


def failures_of(results: Sequence[JobResult]) -> StudyFailures:
    """Return what failed in a study."""
    states = [state for result in results for state, _ in _ends(result)]
    reasons = Counter(reason for result in results for state, reason in _ends(result) if state == "failed")
    return StudyFailures(n=len(states), n_done=states.count("done"), reasons=reasons)


def _ends(result: JobResult) -> Iterator[tuple[str, str]]:
    for trial in result.trials:
        # The fold a trial failed in is no part of the reason.
        yield trial.state, (trial.failure or "").partition(": ")[2] or trial.failure or ""
    for run in result.runs:
        yield run.state, run.failure or ""
