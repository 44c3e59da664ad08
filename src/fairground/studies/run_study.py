"""A study from end to end: search, select, repeat on fresh seeds.

Also what is stored of a study, and how far it is.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fairground.records import RunRecord, Store
from fairground.spec import StudyJob, StudySpec, jobs_of
from fairground.studies import (
    JOIN_JOB,
    Seal,
    Selected,
    Trial,
    TrialStore,
    counts,
    folder_of,
    join_folds,
    search,
    select,
)
from fairground.studies.executors.executor import Executor
from fairground.studies.final_runs import FinalRuns, WaveStatus, finals_of, run_finals, waves_of
from fairground.studies.scheduler import JOB, OnRecord, Scheduler, with_procedures

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
    join_job: str = JOIN_JOB,
    again: bool = False,
) -> list[JobResult]:
    """Run a study from wherever it is and return the result of every job.

    Refused where data or code changed since it was begun; with `again` it then begins with a new search.
    """
    folder, store = folder_of(study, home), Store(home)
    jobs, seal = jobs_of(study), Seal(store, study)

    def note(record: RunRecord) -> None:
        seal.note_run(record)
        on_record(record)

    trial_store = TrialStore(folder.path)
    joined: dict[str, tuple[list[RunRecord], list[str]]] = {}
    with folder.locked(study):
        with spawn(run_job) as executor:
            scheduler = Scheduler(store=store, executor=executor, on_record=note, again=again)
            content: dict[str, str] = {}
            for job in jobs:
                of_job = scheduler.content_of(job.spec(seed=study.seed, fold=study.folds.used[0], test=True))
                data = f" of {job.data.label}"
                content |= {what + data * what.endswith("fingerprint"): text for what, text in of_job.items()}
            folder.begin(study, content, on_again=seal.begin_again if again else None)
            trials = scheduler.run({job.label: search(job, trial_store) for job in jobs} if study.search.trials else {})
            # A job without a finished trial has nothing to go on with.
            picked = {job.label: select(trials[job.label]) if trials else Selected(settings={}) for job in jobs}
            chosen = {label: selected for label, selected in picked.items() if selected is not None}
            seal.end_selection(chosen)
            seal.note_opening(f"the final runs of study {study.name} on {', '.join(d.label for d in study.data)}")
            runs = run_finals(study, seal, scheduler)
        n_folds = len(study.folds.used)
        if n_folds > 1:
            with spawn(join_job) as executor:
                for label, found in runs.items():
                    repeats = [found[i : i + n_folds] for i in range(0, len(found), n_folds)]
                    joined[label] = join_folds(repeats, store=store, executor=executor)
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


@dataclass(frozen=True, kw_only=True)
class JobStatus:
    """One job; `is_selected` tells whether its test split has been opened. In waves, `final_wanted` grows."""

    job: str
    trials: Mapping[str, int]
    n_trials: int
    is_selected: bool
    final_done: int
    final_wanted: int


def status_of(study: StudySpec, *, home: Path) -> list[JobStatus]:
    """Return how far every job is; a study in progress may be read."""
    store = Store(home)
    seal, done = Seal(store, study), set(store.names(state="done"))
    is_selected = seal.selection() is not None
    finals = finals_of(study, seal) if is_selected else {}
    given = _given_seeds(finals, store)
    n_first = study.repeats if study.until_settled is None else study.until_settled.first
    trial_store = TrialStore(folder_of(study, home).path)
    rows = []
    for job in jobs_of(study):
        names = finals[job.label].names(given.get(job.label, study.repeat_seeds)) if is_selected else []
        rows.append(
            JobStatus(
                job=job.label,
                trials=counts(trial_store.trials(job.label)) if study.search.trials else {},
                n_trials=job.n_trials(),
                is_selected=is_selected,
                final_done=sum(name in done for name in names),
                final_wanted=len(given.get(job.label, range(n_first))) * len(study.folds.used),
            )
        )
    return rows


def waves_so_far(study: StudySpec, *, home: Path) -> dict[str, WaveStatus]:
    """Return where each data set of a study in waves stands; nothing before selection, or of a fixed design."""
    store = Store(home)
    seal = Seal(store, study)
    if study.until_settled is None or seal.selection() is None:
        return {}
    finals = finals_of(study, seal)
    records, metric = _final_records(finals, store), study.selection.metric
    done = {label: runs.values(records, metric)[0] for label, runs in finals.items()}
    return {
        data: WaveStatus.from_wave(wave, {method: done[f"{data}/{method}"] for method in wave.given})
        for data, wave in waves_of(finals.values(), records).items()
    }


def results_so_far(study: StudySpec, *, home: Path) -> list[JobResult]:
    """Return what is stored of a study whose selection is over, without running anything."""
    store = Store(home)
    seal, done = Seal(store, study), set(store.names(state="done"))
    finals = finals_of(study, seal)
    given = _given_seeds(finals, store)
    trial_store = TrialStore(folder_of(study, home).path)
    results = []
    for label, final in finals.items():
        seeds = given.get(label, study.repeat_seeds)
        # Those repeats whose folds are all done.
        names = [name for seed in seeds if done.issuperset(some := final.names([seed])) for name in some]
        results.append(
            JobResult(
                job=final.job,
                trials=tuple(trial_store.trials(label)) if study.search.trials else (),
                selected=(seal.selection() or {}).get(label),
                runs=tuple(with_procedures(store.get(name), **final.procedures) for name in names),
            )
        )
    return results


def _given_seeds(finals: Mapping[str, FinalRuns], store: Store) -> dict[str, tuple[int, ...]]:
    """Return the seeds that each job of a study in waves was given so far; nothing for other studies."""
    if not any(runs.job.study.until_settled for runs in finals.values()):
        return {}
    waves = waves_of(finals.values(), _final_records(finals, store))
    return {f"{data}/{method}": seeds for data, wave in waves.items() for method, seeds in wave.given.items()}


def _final_records(finals: Mapping[str, FinalRuns], store: Store) -> dict[str, RunRecord]:
    """Return the stored records of final runs that are over, by name; a failed run is made again and not over."""
    names = [name for runs in finals.values() for name in runs.names(runs.job.study.repeat_seeds)]
    known = {*store.names(state="done"), *store.names(state="diverged")}
    return {name: store.get(name) for name in names if name in known}


@dataclass(frozen=True, kw_only=True)
class StudyFailures:
    """`n` trials and final runs, of which `n_done` have scores and the failed have `reasons`, each with its count."""

    n: int
    n_done: int
    reasons: Counter[str]

    @property
    def exit_code(self) -> int:
        """0 where every run worked, 1 where none did, 3 where some failed; a run that diverged is a result."""
        return 1 if self.n_done == 0 else 3 if self.reasons else 0

    def sentence(self) -> str:
        """Say how many failed and why; nothing where none did."""
        if self.exit_code == 0:
            return ""
        if not self.reasons:
            return f"none of {self.n} trials and final runs finished: all of them diverged or had no score"
        (reason, times), *others = self.reasons.most_common()
        more = f"; {len(others)} other reasons: `fairground show RUN` prints each" if others else ""
        failed = f"{self.reasons.total()} of {self.n} trials and final runs failed"
        return f"{failed}, {times} of them so: {reason}{more}"


def failures_of(results: Sequence[JobResult]) -> StudyFailures:
    ends: list[tuple[str, str]] = []
    for result in results:
        # The fold a trial failed in is not part of the reason.
        ends += [(t.state, (t.failure or "").partition(": ")[2] or t.failure or "") for t in result.trials]
        ends += [(run.state, run.failure or "") for run in result.runs]
    reasons = Counter(reason for state, reason in ends if state == "failed")
    return StudyFailures(n=len(ends), n_done=sum(state == "done" for state, _ in ends), reasons=reasons)
