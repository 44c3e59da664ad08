"""How far a study is: trials by their state, final runs by how many are done, waves by who is in question."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from fairground.comparison.sequential import Wave
from fairground.records.record import RunRecord
from fairground.records.store import Store
from fairground.spec.study import StudySpec, jobs_of
from fairground.studies.final_runs import FinalRuns, waves_of
from fairground.studies.folder import folder_of
from fairground.studies.run_study import JobResult
from fairground.studies.select import Seal
from fairground.studies.trials import TrialStore, counts


@dataclass(frozen=True, kw_only=True)
class JobStatus:
    """One job; `is_selected` tells whether its test split has been opened. In waves, `final_wanted` grows."""

    job: str
    trials: Mapping[str, int]
    n_trials: int
    is_selected: bool
    final_done: int
    final_wanted: int


@dataclass(frozen=True, kw_only=True)
class WaveStatus:
    """`given` counts the seeds each method was given, `seeds` those done; `in_question` get more, or would."""

    given: Mapping[str, int]
    seeds: Mapping[str, int]
    in_question: tuple[str, ...]
    n_looks: int
    state: Literal["running", "settled", "limit"]
    limit: int

    @classmethod
    def from_wave(cls, wave: Wave, done: Mapping[str, Collection[int]]) -> "WaveStatus":
        """Return the status; `done` are the seeds of each method's finished runs."""
        return cls(
            given={method: len(seeds) for method, seeds in wave.given.items()},
            seeds={method: sum(seed in done.get(method, ()) for seed in given) for method, given in wave.given.items()},
            in_question=wave.in_question,
            n_looks=wave.n_looks,
            state=wave.state,
            limit=wave.plan.limit,
        )

    @property
    def sentence(self) -> str:
        """Who got how many seeds, and who gets more."""
        listed = ", ".join(f"{method} {n}" for method, n in self.seeds.items())
        looks = f"{self.n_looks} look{'' if self.n_looks == 1 else 's'}"
        if self.state == "settled":
            return f"settled after {looks}; seeds: {listed}"
        names = ", ".join(self.in_question)
        if self.state == "limit":
            return f"the limit of {self.limit} seeds is reached after {looks}; seeds: {listed}; still open: {names}"
        return f"{looks} so far; seeds: {listed}; more seeds follow for {names}"


def status_of(study: StudySpec, *, home: Path) -> list[JobStatus]:
    """Return how far every job is; a study in progress may be read."""
    store = Store(home)
    seal, done = Seal(store, study), set(store.names(state="done"))
    is_selected = seal.selection() is not None
    finals = _finals(study, seal) if is_selected else {}
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
    finals = _finals(study, seal)
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
    finals = _finals(study, seal)
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
                runs=tuple(final.noted(store.get(name)) for name in names),
            )
        )
    return results


def _finals(study: StudySpec, seal: Seal) -> dict[str, FinalRuns]:
    return {job.label: FinalRuns.behind(seal, job) for job in jobs_of(study)}


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
