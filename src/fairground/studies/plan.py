"""What a study will run, how long it will take by runs already measured, and how much disk it will fill."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from fairground.records.run_folder import RunFolder
from fairground.records.store import Store
from fairground.spec.identity import name_of
from fairground.spec.run import RunSpec
from fairground.spec.study import StudySpec
from fairground.spec.study_jobs import UNSAID, StudyJob, jobs_of
from fairground.studies.speed import RunSpeed, measured_speeds
from fairground.studies.suggest import suggest
from fairground.studies.work import RunWork, work_of


@dataclass(frozen=True, kw_only=True)
class PlanRow:
    """One job: how many trainings its search and its final runs take, and what one of them costs where known.

    `seconds` and `bytes` were measured on its first run; `work` is what its spec says it takes, at most.
    """

    job: str
    n_settings: int
    n_search: int
    n_final: int
    seconds: float | None
    bytes: int | None
    work: RunWork | None
    speed: RunSpeed | None

    @property
    def n_runs(self) -> int:
        """How many trainings the job takes."""
        return self.n_search + self.n_final


@dataclass(frozen=True, kw_only=True)
class StudyPlan:
    """A study, job by job; in waves, `is_most` tells that final runs are counted up to the limit."""

    study: str
    is_most: bool = False
    rows: tuple[PlanRow, ...]

    @property
    def n_search(self) -> int:
        """How many trainings the search takes at most; pruning saves some."""
        return sum(row.n_search for row in self.rows)

    @property
    def n_final(self) -> int:
        """How many trainings come after the search."""
        return sum(row.n_final for row in self.rows)

    def seconds(self, workers: int) -> float | None:
        """Return how long it takes at most on so many workers; None where nothing has been measured."""
        known = [row.seconds for row in self.rows if row.seconds is not None]
        if not known:
            return None
        typical = fmean(known)
        return math.fsum(row.n_runs * (row.seconds or typical) for row in self.rows) / workers

    def bytes(self) -> int | None:
        """Return how much disk it takes, by measured runs, else by the sizes of networks and data; None if unknown."""
        known = [row.bytes for row in self.rows if row.bytes is not None]
        if known:
            return int(sum(row.n_runs * (row.bytes or fmean(known)) for row in self.rows))
        if any(row.work is None for row in self.rows):
            return None
        return sum(row.n_runs * row.work.bytes for row in self.rows if row.work is not None)

    def images(self) -> float | None:
        """Return how many images all runs train on at most, those evaluated counted as a third; None if unknown."""
        if any(row.work is None for row in self.rows):
            return None
        return math.fsum(row.n_runs * row.work.images for row in self.rows if row.work is not None)

    def gpu_seconds(self, images_per_second: float | None = None) -> float | None:
        """Return how long it takes at most at a given speed, or at those measured here for the same networks."""
        if images_per_second is not None:
            images = self.images()
            return None if images is None else images / images_per_second
        if any(row.work is None or row.speed is None for row in self.rows):
            return None
        parts = ((row.n_runs * row.work.images, row.speed) for row in self.rows if row.work is not None)
        return math.fsum(images / speed.images_per_second for images, speed in parts if speed is not None)

    @property
    def hardware(self) -> str:
        """Where the speeds were measured."""
        return ", ".join(dict.fromkeys(row.speed.hardware for row in self.rows if row.speed is not None))


def plan_of(study: StudySpec, *, home: Path) -> StudyPlan:
    """Return the plan, with costs measured on each job's first run if that has been made (see `cost_probes`)."""
    store = Store(home)
    done = set(store.names(state="done"))
    speeds = measured_speeds(store)
    rows = tuple(_row(job, store, done, speeds) for job in jobs_of(study))
    return StudyPlan(study=study.name, is_most=study.until_settled is not None, rows=rows)


def cost_probes(study: StudySpec) -> list[RunSpec]:
    """Return the first run of every job: what it costs is measured, and the study has use for it."""
    return [spec for job in jobs_of(study) if (spec := _first(job, unsaid=None)) is not None]


def _row(job: StudyJob, store: Store, done: set[str], speeds: Mapping[str, RunSpeed]) -> PlanRow:
    study, n_folds = job.study, len(job.study.folds.used)
    first = _first(job, unsaid=UNSAID)
    name = name_of(first) if first is not None else ""
    is_measured = name in done
    return PlanRow(
        job=job.label,
        n_settings=len(job.ranges()) if study.search.trials else 0,
        n_search=(job.n_trials() if study.search.trials else 0) * n_folds,
        n_final=len(study.repeat_seeds) * n_folds,
        seconds=store.get(name).provenance.wall_seconds if is_measured else None,
        bytes=_size(RunFolder(store.root, name).path) if is_measured else None,
        work=None if first is None else work_of(first),
        speed=None if first is None else speeds.get(first.trunk.name),
    )


def _first(job: StudyJob, *, unsaid: str | None) -> RunSpec | None:
    """Return the first run of a job: of its first trial, or of its first repeat where nothing is searched."""
    study = job.study
    fold = study.folds.used[0]
    if study.search.trials:
        search = study.search
        settings = suggest(
            job.ranges(),
            [],
            sampler=search.sampler,
            startup=search.startup,
            seed=study.seed,
            label=job.label,
            n_trials=job.n_trials(),
            defaults=job.defaults() if search.defaults_first else None,
        )
        return job.spec(seed=study.search_seed, fold=fold, settings=settings, test=False, unsaid=unsaid)
    seeds: Sequence[int] = study.repeat_seeds
    return job.spec(seed=seeds[0], fold=fold, test=True, unsaid=unsaid) if seeds else None


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
