"""How far a study is: trials by their state, final runs by how many are done."""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from fairground.records.store import Store
from fairground.spec.identity import name_of
from fairground.spec.jobs import StudyJob, jobs_of
from fairground.spec.study import StudySpec, study_hash
from fairground.study.folder import folder_of
from fairground.study.run_study import JobResult, open_trial_store
from fairground.study.scheduler import with_search
from fairground.study.select import Seal
from fairground.study.trial import Trial, counts
from fairground.study.trial_store import TrialStore


@dataclass(frozen=True, kw_only=True)
class JobStatus:
    """One job; `is_selected` tells whether its test split has been opened."""

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
    rows = []
    with _opened_for_reading(study, home, storage) as trial_store:
        for job in jobs_of(study):
            finals = seal.final_specs(job).values() if selection is not None else []
            rows.append(
                JobStatus(
                    job=job.label,
                    trials=counts(_trials(trial_store, job)) if study.search.trials else {},
                    n_trials=job.n_trials(),
                    is_selected=selection is not None,
                    final_done=sum(name_of(spec) in done for spec in finals),
                    final_wanted=study.repeats * len(study.folds.used),
                )
            )
    return rows


def results_so_far(study: StudySpec, *, home: Path, storage: str | None = None) -> list[JobResult]:
    """Return what is stored of a study whose selection is over, without running anything."""
    store = Store(home)
    seal, done = Seal(store, study), set(store.names(state="done"))
    results = []
    with _opened_for_reading(study, home, storage) as trial_store:
        for job in jobs_of(study):
            specs = seal.final_specs(job)
            selected = (seal.selection() or {}).get(job.label)
            repeats = _complete_repeats({key: name_of(spec) for key, spec in specs.items()}, done)
            results.append(
                JobResult(
                    job=job,
                    trials=tuple(_trials(trial_store, job)) if study.search.trials else (),
                    selected=selected,
                    runs=tuple(with_search(store.get(name), job.search_procedure()) for name in repeats),
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


def _trials(trial_store: TrialStore | None, job: StudyJob) -> list[Trial]:
    return [] if trial_store is None else trial_store.trials(job.label)


def _complete_repeats(names: Mapping[tuple[int, int], str], done: set[str]) -> list[str]:
    """Return the runs of the repeats whose folds are all done."""
    broken = {repeat for (repeat, _), name in names.items() if name not in done}
    return [name for (repeat, _), name in names.items() if repeat not in broken]
