"""A study from end to end: search, select, repeat on fresh seeds; what is stored of it, and how far it is."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from fairground import comparison
from fairground.records import RunRecord, Store
from fairground.spec import StudyJob, StudySpec, jobs_of
from fairground.studies import JOB, JOIN_JOB, OnRecord, Scheduler, Seal, folder_of, join_folds, search, with_procedures
from fairground.studies.executors.executor import Executor
from fairground.studies.final_runs import finals_of, run_finals, waves_of
from fairground.studies.trials import Selected, Trial, TrialStore, counts, select

#: starts an executor of the function named by a dotted path
Spawn = Callable[[str], Executor]


class JobResult(NamedTuple):
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
    """Run a study from wherever it is; `again` searches again, and is not refused, where data or code changed since."""
    folder, store = folder_of(study, home), Store(home)
    jobs, seal = jobs_of(study), Seal(store, study)
    trial_store = TrialStore(folder.path)
    joined = {job.label: (list[RunRecord](), list[str]()) for job in jobs}
    with folder.locked(study):
        with spawn(run_job) as executor:
            scheduler = Scheduler(store=store, executor=executor, on_record=on_record, again=again)
            content: dict[str, str] = {}
            for job in jobs:
                of_job = scheduler.content_of(job.spec(seed=study.seed, test=True))
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
            joined=tuple(joined[job.label][0]),
            complaints=tuple(joined[job.label][1]),
        )
        for job in jobs
    ]


class JobStatus(NamedTuple):
    """One job; `is_selected` tells whether its test split has been opened. In waves, `final_wanted` grows."""

    job: str
    trials: Mapping[str, int]
    n_trials: int
    is_selected: bool
    final_done: int
    final_wanted: int


class _StoredStudy:
    """What is stored of a study, in progress or not; of final runs, nothing before selection."""

    def __init__(self, study: StudySpec, home: Path) -> None:
        self.store, trials = Store(home), TrialStore(folder_of(study, home).path)
        self.seal, self.done = Seal(self.store, study), set(self.store.names(state="done"))
        self.trials = {job.label: trials.trials(job.label) for job in jobs_of(study) if study.search.trials}
        self.selection = self.seal.selection()
        self.finals = {} if self.selection is None else finals_of(study, self.seal)
        self.waves: dict[str, comparison.Wave] = {}
        if study.until_settled is not None:
            names = {name for runs in self.finals.values() for name in runs.names(study.repeat_seeds)}
            # A failed run is not over.
            over = names & {*self.done, *self.store.names(state="diverged")}
            self.waves = waves_of(self.finals.values(), {name: self.store.get(name) for name in over})

    def seeds(self, job: StudyJob) -> Sequence[int]:
        plan, wave = job.study.until_settled, self.waves.get(job.data.label)
        first = job.study.repeat_seeds if plan is None else job.study.repeat_seeds[: plan.first]
        return first if wave is None else wave.given.get(job.method.label, first)


def status_of(study: StudySpec, *, home: Path) -> list[JobStatus]:
    """Return how far every job is; a study in progress may be read."""
    stored = _StoredStudy(study, home)
    rows = []
    for job in jobs_of(study):
        seeds, final = stored.seeds(job), stored.finals.get(job.label)
        rows.append(
            JobStatus(
                job=job.label,
                trials=counts(stored.trials[job.label]) if job.label in stored.trials else {},
                n_trials=job.n_trials(),
                is_selected=stored.selection is not None,
                final_done=0 if final is None else sum(name in stored.done for name in final.names(seeds)),
                final_wanted=len(seeds) * len(study.folds.used),
            )
        )
    return rows


def waves_so_far(study: StudySpec, *, home: Path) -> "dict[str, comparison.Wave]":
    """Return where each data set of a study in waves stands; nothing before selection, or of a fixed design."""
    return _StoredStudy(study, home).waves


def results_so_far(study: StudySpec, *, home: Path) -> list[JobResult]:
    """Return what is stored of a study whose selection is over, without running anything."""
    stored = _StoredStudy(study, home)
    results = []
    for label, final in (stored.finals or finals_of(study, stored.seal)).items():
        # Those repeats whose folds are all done.
        repeats = [names for seed in stored.seeds(final.job) if stored.done.issuperset(names := final.names([seed]))]
        records = (stored.store.get(name) for names in repeats for name in names)
        results.append(
            JobResult(
                job=final.job,
                trials=tuple(stored.trials.get(label, ())),
                selected=(stored.selection or {}).get(label),
                runs=tuple(with_procedures(record, **final.procedures) for record in records),
            )
        )
    return results


class StudyFailures(NamedTuple):
    """`n` trials and final runs, of which `n_done` have scores and the failed have `reasons`, each with its count."""

    n: int
    n_done: int
    reasons: Counter[str]

    @property
    def exit_code(self) -> int:
        """0 where every run worked, 1 where none did, 3 where some failed; a run that diverged is a result."""
        return 1 if self.n_done == 0 else 3 if self.reasons else 0

    def sentence(self) -> str:
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
