"""What a study will run, how long it will take by runs already measured, and how much disk it will fill."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from fairground.records import RunFolder, Store
from fairground.spec import UNSAID, Counts, RunSpec, StudyJob, StudySpec, declared, jobs_of, name_of
from fairground.studies.hyperparameter_search import next_settings


@dataclass(frozen=True, kw_only=True)
class RunWork:
    """One run: images, those only evaluated counted as a third, and bytes; at most."""

    images: float
    bytes: int


@dataclass(frozen=True, kw_only=True)
class PlanRow:
    """One job: its trainings, and what one costs: as measured on the first, or at most, by its spec (`work`)."""

    job: str
    n_settings: int
    n_search: int
    n_final: int
    seconds: float | None
    bytes: int | None
    work: RunWork | None


@dataclass(frozen=True, kw_only=True)
class StudyPlan:
    """A study, job by job; in waves, `is_most` tells that final runs are counted up to the limit."""

    study: str
    is_most: bool = False
    rows: tuple[PlanRow, ...]

    @property
    def n_search(self) -> int:
        return sum(row.n_search for row in self.rows)

    @property
    def n_final(self) -> int:
        return sum(row.n_final for row in self.rows)

    def seconds(self, workers: int) -> float | None:
        """Return how long it takes at most on so many workers; None where nothing has been measured."""
        total = self._total(lambda row: row.seconds, is_partial=True)
        return None if total is None else total / workers

    def bytes(self) -> int | None:
        """Return how much disk it takes, by measured runs, else by the sizes of networks and data; None if unknown."""
        total = self._total(lambda row: row.bytes, is_partial=True)
        total = self._total(lambda row: row.work.bytes if row.work else None) if total is None else total
        return None if total is None else int(total)

    def images(self) -> float | None:
        """Return how many images all runs train on at most, those evaluated counted as a third; None if unknown."""
        return self._total(lambda row: row.work.images if row.work else None)

    def _total(self, cost: Callable[[PlanRow], float | None], *, is_partial: bool = False) -> float | None:
        """Return the cost of all runs from that of one run of each row; `is_partial` gives unknown rows the mean."""
        costs = [cost(row) for row in self.rows]
        known = [one for one in costs if one is not None]
        if not known or (len(known) < len(costs) and not is_partial):
            return None
        typical, rows = fmean(known), zip(self.rows, costs, strict=True)
        return math.fsum((row.n_search + row.n_final) * (typical if one is None else one) for row, one in rows)


def plan_of(study: StudySpec, *, home: Path) -> StudyPlan:
    """Return the plan, with costs measured on each job's first run if that has been made (see `cost_probes`)."""
    store = Store(home)
    done = set(store.names(state="done"))
    rows = tuple(_row(job, store, done) for job in jobs_of(study))
    return StudyPlan(study=study.name, is_most=study.until_settled is not None, rows=rows)


def cost_probes(study: StudySpec) -> list[RunSpec]:
    """Return the first run of every job: what it costs is measured, and the study has use for it."""
    return [spec for job in jobs_of(study) if (spec := _first(job, unsaid=None)) is not None]


def _row(job: StudyJob, store: Store, done: set[str]) -> PlanRow:
    study, n_folds = job.study, len(job.study.folds.used)
    first = _first(job, unsaid=UNSAID)
    name = name_of(first) if first is not None else ""
    is_measured = name in done
    files = RunFolder(store.root, name).path.rglob("*") if is_measured else ()
    return PlanRow(
        job=job.label,
        n_settings=len(job.ranges()) if study.search.trials else 0,
        n_search=(job.n_trials() if study.search.trials else 0) * n_folds,
        n_final=len(study.repeat_seeds) * n_folds,
        seconds=store.get(name).provenance.wall_seconds if is_measured else None,
        bytes=sum(path.stat().st_size for path in files if path.is_file()) if is_measured else None,
        work=None if first is None else work_of(first),
    )


def _first(job: StudyJob, *, unsaid: str | None) -> RunSpec | None:
    """Return the first run of a job: of its first trial, or of its first repeat where nothing is searched."""
    study, seeds = job.study, job.study.repeat_seeds
    if study.search.trials:
        return job.spec(seed=study.seed, settings=next_settings(job, []), test=False, unsaid=unsaid)
    return job.spec(seed=seeds[0], test=True, unsaid=unsaid) if seeds else None


def work_of(spec: RunSpec) -> RunWork | None:
    """Return how much work a run is, from its spec alone.

    Formula
        trained   = epochs * batches * batch size;  batches: as given, or one pass over the training images
        evaluated = (epochs / validate_every + 1) * images that select + test images + training images, if analysed at
                    the end, and (epochs / analyse_every + 1) times if during training
        images    = trained + evaluated / 3: a forward pass is about a third of a training step
        bytes     = 4 * weights * (1 + 2 * 3) + 4 * test images * dimension: the best weights, two checkpoints with two
                    numbers of the optimiser for each weight, and the test embeddings

    None where the data set is not a published one, whose size is known, or the trunk does not declare its weights.
    Patience may end a run sooner: this is the most.
    """
    counts: Counts | None = declared("datasets", spec.data.name, "official", None)
    weights: int | None = declared("trunks", spec.trunk.name, "n_weights", None)
    if counts is None or weights is None:
        return None
    training, evaluation = spec.training, spec.evaluation
    # One fold of several validates, or a fraction.
    n_folds, fraction = spec.split.settings.get("n_folds"), spec.split.settings.get("validation")
    held_out = fraction if isinstance(fraction, int | float) else 0.0
    held_out = 1 / n_folds if isinstance(n_folds, int) else held_out
    n_train, n_validation = (round(share * counts.train_images) for share in (1 - held_out, held_out))
    batches = training.batches_per_epoch or n_train // training.batch_size
    trained = training.epochs * batches * training.batch_size
    selecting = counts.test_images if evaluation.select_on == "test" else n_validation
    evaluated = (training.epochs // training.validate_every + 1) * selecting
    evaluated += counts.test_images if evaluation.test else 0
    evaluated += n_train if evaluation.analyses else 0
    evaluated += n_train * (-(-training.epochs // training.analyse_every) + 1) if training.analyse_every else 0
    width = spec.head.settings.get("embedding_dim")
    kept = counts.test_images * (width if isinstance(width, int) else 0) if evaluation.test else 0
    return RunWork(images=trained + 1 / 3 * evaluated, bytes=4 * ((1 + 2 * 3) * weights + kept))
