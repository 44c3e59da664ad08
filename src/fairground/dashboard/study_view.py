"""One study as a live page shows it: how far its search and its final runs are, job by job."""

import time
from collections.abc import Collection, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from fairground.records.lock import is_at_work
from fairground.records.store import Store
from fairground.reporting.headings import clean
from fairground.spec.identity import name_of
from fairground.spec.study import StudySpec, study_hash
from fairground.spec.study_jobs import jobs_of
from fairground.studies.folder import folder_of
from fairground.studies.select import Seal
from fairground.studies.status import waves_so_far
from fairground.studies.trial import ENDED, counts
from fairground.studies.trial_store import TrialStore

#: seconds a look at a study may spend on finding out what its final runs are called
_NAMING_SECONDS = 1.0


@dataclass(frozen=True, kw_only=True)
class JobView:
    """One method on one data set; `n_final_done` is None while it is not known what its final runs are called."""

    label: str
    trials: Mapping[str, int]
    n_trials: int
    n_final_done: int | None
    n_final: int

    @property
    def n_ended(self) -> int:
        """How many trials have ended, however they did."""
        return sum(self.trials.get(state, 0) for state in ENDED)

    @property
    def states(self) -> str:
        """The states of the trials in words."""
        return ", ".join(f"{n} {state}" for state, n in self.trials.items() if n)


@dataclass(frozen=True, kw_only=True)
class StudyView:
    """`is_sealed` tells whether nothing has been selected yet, so that no run may look at the test split."""

    hash: str
    name: str
    question: str
    is_at_work: bool
    is_sealed: bool
    n_folds: int
    jobs: tuple[JobView, ...]

    @property
    def n_ended(self) -> int:
        """Trials that have ended."""
        return sum(job.n_ended for job in self.jobs)

    @property
    def n_trials(self) -> int:
        """Trials there will be."""
        return sum(job.n_trials for job in self.jobs)

    @property
    def n_final_done(self) -> int:
        """Final runs that are done."""
        return sum(job.n_final_done or 0 for job in self.jobs)

    @property
    def n_final(self) -> int:
        """Final runs there will be."""
        return sum(job.n_final for job in self.jobs)

    @property
    def share(self) -> float:
        """How much of the study is done, a run counting as much as another."""
        total = self.n_trials * self.n_folds + self.n_final
        return (self.n_ended * self.n_folds + self.n_final_done) / total if total else 0.0

    @property
    def state(self) -> str:
        """What the study is doing, in a word or two."""
        if self.n_final_done == self.n_final and not self.is_sealed:
            return "done"
        return "under way" if self.is_at_work else "stopped"


class StudyWatch:
    """Looks at one study again and again; what cannot change is found out once."""

    def __init__(self, study: StudySpec, home: Path) -> None:
        self.study, self._home = study, home
        self.hash = study_hash(study)
        self._jobs = jobs_of(study)
        self._final: dict[str, tuple[str, ...]] = {}
        self._trials: dict[str, dict[str, int]] = {}
        self._read_at: int | None = None
        #: seeds that jobs of a study in waves were given, known for so many final runs done
        self._given: dict[str, int] = {}
        self._known_at: int | None = None

    def look(self, done: Collection[str]) -> StudyView:
        """Return how far the study is; `done` are the names of the runs that are."""
        study, folder = self.study, folder_of(self.study, self._home)
        seal = Seal(Store(self._home), study)
        selection = seal.selection()
        if selection is not None:
            self._name_final_runs(seal)
            self._read_waves(done)
        if study.search.trials:
            self._read_trials(folder.path)
        return StudyView(
            hash=self.hash,
            name=clean(study.name),
            question=clean(study.question),
            is_at_work=is_at_work(folder.path / "driver.lock"),
            is_sealed=selection is None,
            n_folds=len(study.folds.used),
            jobs=tuple(
                JobView(
                    label=clean(job.label),
                    trials=self._trials.get(job.label, {}),
                    n_trials=job.n_trials() if study.search.trials else 0,
                    n_final_done=self._count(job.label, done) if selection is not None else 0,
                    n_final=self._given.get(job.label, study.n_first_seeds) * len(study.folds.used),
                )
                for job in self._jobs
            ),
        )

    def _count(self, label: str, done: Collection[str]) -> int | None:
        names = self._final.get(label)
        return None if names is None else sum(name in done for name in names)

    def _name_final_runs(self, seal: Seal) -> None:
        """Find out what final runs are called, a few at a time: for a large study it takes many seconds."""
        deadline = time.monotonic() + _NAMING_SECONDS
        for job in self._jobs:
            if job.label not in self._final and time.monotonic() < deadline:
                self._final[job.label] = tuple(name_of(spec) for spec in seal.final_specs(job).values())

    def _read_waves(self, done: Collection[str]) -> None:
        """Find out which seeds were given once more final runs are done; a study that is not in waves has none."""
        n_done = sum(self._count(job.label, done) or 0 for job in self._jobs)
        is_named = len(self._final) == len(self._jobs)
        if self.study.until_settled is not None and is_named and n_done != self._known_at:
            waves = waves_so_far(self.study, home=self._home)
            self._given = {f"{data}/{name}": n for data, wave in waves.items() for name, n in wave.given.items()}
            self._known_at = n_done

    def _read_trials(self, folder: Path) -> None:
        found = TrialStore.read_only(folder, study=self.hash)
        if found is None:
            return
        with closing(found) as trial_store:
            written = Path(folder / "search.sqlite").stat().st_mtime_ns
            if written != self._read_at:
                self._trials = {job.label: counts(trial_store.trials(job.label)) for job in self._jobs}
                self._read_at = written
