"""Repeat a run on fresh seeds."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from fairground.commands.options import (
    HOME,
    Address,
    AsJson,
    ExecutorName,
    ExecutorOptions,
    Gpus,
    Home,
    Quiet,
    Workers,
    WorkerThreads,
    kept_for_json,
)
from fairground.commands.progress import study_progress
from fairground.commands.study import run_and_print as run_study
from fairground.records.record import RunRecord
from fairground.records.store import Store
from fairground.spec.load import run_from_plain
from fairground.studies.scheduler import JOB, Scheduler


def repeat_run(
    name: str, repeats: int, *, home: Path, options: ExecutorOptions, quiet: bool = False
) -> list[RunRecord]:
    """Return the record of a run, then those of its repeats by seed; finished runs are not repeated."""
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


def reproduce(
    what: Annotated[str, typer.Argument(help="A run, a study or a recommendation, by name or enough of its hash.")],
    repeats: Annotated[int, typer.Option("--repeats", min=1, help="Number of fresh seeds.")] = 10,
    executor: ExecutorName = "processes",
    workers: Workers = 2,
    threads: WorkerThreads = 1,
    gpus: Gpus = 0.0,
    address: Address = None,
    home: Home = HOME,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Repeat a run, or the selected settings of a study, on fresh seeds; finished runs are not repeated.

    A study's search is not repeated: its winners are, and its tables then count so many repeats. The model of a
    recommendation is made again from its plan with the same seed: its weights must be bit-identical.

    Examples: fairground reproduce 3f2a --repeats 5 · fairground reproduce laptop/mlrc --repeats 10
    """
    from fairground.errors import require
    from fairground.recommendation.folder import find_plan
    from fairground.studies.folder import find_begun

    plan = find_plan(home, what)
    if plan is not None:
        _remake(plan, as_json=as_json)
        return
    options = ExecutorOptions(name=executor, workers=workers, threads=threads, gpus=gpus, address=address)
    study = find_begun(home, what)
    if study is not None:
        require(
            study.until_settled is None,
            f"study {study.name} adds seeds in waves (until_settled) and has no number of repeats: "
            f"`fairground study resume {study.name}` goes on with it",
        )
        more = replace(study, repeats=max(repeats, study.repeats))
        run_study(more, home, options, as_json=as_json, is_quiet=quiet or as_json)
        return
    with kept_for_json(as_json):
        records = repeat_run(what, repeats, home=home, options=options, quiet=quiet or as_json)
    _print(records, as_json=as_json)


def _remake(plan: Path, *, as_json: bool) -> None:
    from fairground.recommendation.final_model import remake_model

    made = remake_model(plan)
    if as_json:
        print(json.dumps({"name": made.name, "is_same": made.is_same, "weights_sha256": made.found}))
    else:
        same = (
            "the weights are bit-identical" if made.is_same else "the weights differ: another machine rounds otherwise"
        )
        print(f"recommendation {made.name} made again: {same} ({made.found[:16]})")
    if not made.is_same:
        raise typer.Exit(1)


def _print(records: list[RunRecord], *, as_json: bool) -> None:
    from fairground.errors import FairgroundError, require
    from fairground.reporting.headings import with_unit
    from fairground.reporting.table_formats import text
    from fairground.reporting.tables import ResultTable

    first, repeats = records[0], records[1:]
    is_any = any(record.state == "done" for record in repeats)
    require(is_any, "none of the repeats finished: " + str(repeats[0].failure), FairgroundError)
    table = ResultTable.from_records(repeats)
    compared = {
        metric: (first.score(metric, table.split), table.rows[0].cells[metric].values) for metric in table.metrics
    }
    if as_json:
        plain = {metric: {"run": value, "repeats": list(values)} for metric, (value, values) in compared.items()}
        print(json.dumps({"run": first.name, "repeats": [record.name for record in repeats], "scores": plain}))
        return
    print(text(table), end="")
    for metric, (value, values) in compared.items():
        if value is not None and values:
            n_below = sum(other < value for other in values)
            scored = f"the run scored {with_unit(metric, value)}"
            print(f"{table.split} {metric}: {scored}, above {n_below} of {len(values)} fresh seeds")
