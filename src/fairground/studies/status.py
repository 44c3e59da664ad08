"""How far a study is: trials by their state, final runs by how many are done, waves by who is in question."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from fairground.records.record import RunRecord
from fairground.records.store import Store
from fairground.spec.identity import name_of
from fairground.spec.study import StudySpec, study_hash
from fairground.spec.study_jobs import StudyJob, jobs_of
from fairground.studies.final_runs import FinalRuns, waves_of
from fairground.studies.folder import folder_of
from fairground.studies.run_study import JobResult, open_trial_store
from fairground.studies.select import Seal
from fairground.studies.trial import Trial, counts
from fairground.studies.trial_store import TrialStore
from fairground.studies.wave_status import WaveStatus


@dataclass(frozen=True, kw_only=True)
class JobStatus:
    """One job; `is_selected` tells whether its test split has been opened. In waves, `final_wanted` grows."""

    job: str
    trials: Mapping[str, int]
    n_trials: int
    is_selected: bool
    final_done: int
    final_wanted: int


def status_of(study: StudySpec, *, home: Path, storage: str | None = None) -> list[JobStatus]:
    """Return how far every job is; a study in progress may be read."""
    store = Store(home)
    seal, done = Seal(store, study), set(store.names(state="done"))
    selection = seal.selection()
    given = _given_seeds(study, store, seal)
    rows = []
    with _opened_for_reading(study, home, storage) as trial_store:
        for job in jobs_of(study):
            seeds = given.get(job.label, study.repeat_seeds)
            finals = FinalRuns.behind(seal, job).names(seeds) if selection is not None else []
            n_seeds = len(given[job.label]) if job.label in given else study.n_first_seeds
            rows.append(
                JobStatus(
                    job=job.label,
                    trials=counts(_trials(trial_store, job)) if study.search.trials else {},
                    n_trials=job.n_trials(),
                    is_selected=selection is not None,
                    final_done=sum(name in done for name in finals),
                    final_wanted=n_seeds * len(study.folds.used),
                )
            )
    return rows


def waves_so_far(study: StudySpec, *, home: Path) -> dict[str, WaveStatus]:
    """Return where each data set of a study in waves stands; nothing before selection, or of a fixed design."""
    store = Store(home)
    seal = Seal(store, study)
    if study.until_settled is None or seal.selection() is None:
        return {}
    finals = [FinalRuns.behind(seal, job) for job in jobs_of(study)]
    records, metric = _final_records(finals, store), study.selection.metric
    return {
        data: WaveStatus.from_wave(
            wave,
            {runs.job.method.label: runs.values(records, metric)[0] for runs in finals if runs.job.data.label == data},
        )
        for data, wave in waves_of(finals, records).items()
    }


def results_so_far(study: StudySpec, *, home: Path, storage: str | None = None) -> list[JobResult]:
    """Return what is stored of a study whose selection is over, without running anything."""
    store = Store(home)
    seal, done = Seal(store, study), set(store.names(state="done"))
    results = []
    given = _given_seeds(study, store, seal)
    with _opened_for_reading(study, home, storage) as trial_store:
        for job in jobs_of(study):
            final = FinalRuns.behind(seal, job)
            selected = (seal.selection() or {}).get(job.label)
            seeds = given.get(job.label, study.repeat_seeds)
            names = {key: name_of(spec) for key, spec in final.specs.items() if key[0] in seeds}
            repeats = _complete_repeats(names, done)
            results.append(
                JobResult(
                    job=job,
                    trials=tuple(_trials(trial_store, job)) if study.search.trials else (),
                    selected=selected,
                    runs=tuple(final.noted(store.get(name)) for name in repeats),
                )
            )
    return results


@contextmanager
def _opened_for_reading(study: StudySpec, home: Path, storage: str | None) -> Iterator[TrialStore | None]:
    """Open the trials for reading; None where nothing has been searched. A shared storage knows no read-only mode."""
    if storage is not None:
        with closing(open_trial_store(study, home, storage)) as trial_store:
            yield trial_store
        return
    found = TrialStore.read_only(folder_of(study, home).path, study=study_hash(study))
    try:
        yield found
    finally:
        if found is not None:
            found.close()


def _given_seeds(study: StudySpec, store: Store, seal: Seal) -> dict[str, tuple[int, ...]]:
    """Return the seeds that each job of a study in waves was given so far; nothing for other studies."""
    if study.until_settled is None or seal.selection() is None:
        return {}
    finals = [FinalRuns.behind(seal, job) for job in jobs_of(study)]
    waves = waves_of(finals, _final_records(finals, store))
    return {f"{data}/{method}": seeds for data, wave in waves.items() for method, seeds in wave.given.items()}


def _final_records(finals: Sequence[FinalRuns], store: Store) -> dict[str, RunRecord]:
    """Return the stored records of final runs that are over, by name; a failed run is made again and not over."""
    names = [name for runs in finals for name in runs.names(runs.job.study.repeat_seeds)]
    known = {*store.names(state="done"), *store.names(state="diverged")}
    return {name: store.get(name) for name in names if name in known}


def _trials(trial_store: TrialStore | None, job: StudyJob) -> list[Trial]:
    return [] if trial_store is None else trial_store.trials(job.label)


def _complete_repeats(names: Mapping[tuple[int, int], str], done: set[str]) -> list[str]:
    """Return the runs of the repeats whose folds are all done."""
    broken = {repeat for (repeat, _), name in names.items() if name not in done}
    return [name for (repeat, _), name in names.items() if repeat not in broken]
