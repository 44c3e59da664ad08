"""Repeat a run on fresh seeds."""

from dataclasses import replace
from pathlib import Path

from fairground.api.executors import ExecutorOptions
from fairground.api.progress.study import study_progress
from fairground.records.record import RunRecord
from fairground.records.store import Store
from fairground.spec.load import run_from_plain
from fairground.studies.scheduler import JOB, Scheduler


def repeat_run(
    name: str, repeats: int, *, home: Path, options: ExecutorOptions, quiet: bool = False
) -> list[RunRecord]:
    """Return the record of a run, then those of its repeats by seed; what is already done is not done again."""
    store = Store(home)
    first = store.get(name)
    spec = run_from_plain(dict(first.spec))
    specs = [replace(spec, seed=spec.seed + 1 + repeat) for repeat in range(repeats)]
    with (
        study_progress(len(specs), metric=spec.evaluation.select_by, is_quiet=quiet) as (watch, on_record),
        options.spawn(JOB, watch) as executor,
    ):
        repeated = Scheduler(store=store, executor=executor, on_record=on_record).run_specs(specs)
    return [first, *repeated]
