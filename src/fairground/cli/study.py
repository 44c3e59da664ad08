"""`fairground study`: conduct, plan, watch and resume whole studies."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fairground.cli.options import HOME, AsJson, Home, Quiet, Sinks

if TYPE_CHECKING:
    from fairground.spec.study import StudySpec

ACTIONS = ("run", "resume", "plan", "status", "list")
Executor = Annotated[
    str, typer.Option("--executor", help="Where runs happen: inline, processes (this machine) or ray (a cluster).")
]
Workers = Annotated[int, typer.Option("--workers", min=1, help="How many runs at once.")]
WorkerThreads = Annotated[int, typer.Option("--threads", min=1, help="Processor threads a run; they fix the digits.")]
Gpus = Annotated[float, typer.Option("--gpus", min=0, help="With ray: accelerators a run, a share of one if below 1.")]
Address = Annotated[str | None, typer.Option("--address", help="The Ray cluster's address; none starts one here.")]
Storage = Annotated[
    str | None,
    typer.Option("--storage", help="Where trials are kept, as postgresql+psycopg://...; a file unless said."),
]


def study(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="[run|resume|plan|status|list] [STUDY] [KEY=VALUE]...",
            help="A preset's name, a .toml file, or the hash of a study begun; then what to change in it.",
        ),
    ],
    executor: Executor = "processes",
    workers: Workers = 2,
    threads: WorkerThreads = 1,
    gpus: Gpus = 0.0,
    address: Address = None,
    storage: Storage = None,
    pilot: Annotated[
        bool, typer.Option("--pilot", help="With plan: make the first run of every method, to measure what it costs.")
    ] = False,
    home: Home = HOME,
    as_json: AsJson = False,
    quiet: Quiet = False,
    sinks: Sinks = None,
) -> None:
    """Conduct a whole study: search every method equally, select, repeat on fresh seeds, open the test classes once.

    `fairground study list` shows what there is; `plan` says what would run, how long and how much disk; `status` how
    far it is; `resume` goes on after Ctrl-C or a crash, with the digits it would have had anyway.

    Ends with 0 when no run failed, 3 when some did, 1 when none finished; the last line counts them and says why.

    Try: fairground study tiny

    Or: fairground study plan laptop/mlrc --pilot

    Or: fairground study laptop/mlrc --workers 4 repeats=5 search.trials=16

    Or: fairground study my_study.toml --executor ray --storage postgresql+psycopg://user@host/db
    """
    action, rest = (words[0], words[1:]) if words[0] in ACTIONS else ("run", words)
    if action == "list":
        _list(home, as_json=as_json)
        return
    found = _find(rest, home, is_begun=action in ("resume", "status"))
    if action == "status":
        _status(found, home, storage, as_json=as_json)
    elif action == "plan":
        hired = _Hired(executor=executor, workers=workers, threads=threads, gpus=gpus, address=address)
        _plan(found, home, hired, is_pilot=pilot, as_json=as_json, is_quiet=quiet or as_json)
    else:
        hired = _Hired(executor=executor, workers=workers, threads=threads, gpus=gpus, address=address)
        _conduct(found, home, hired, storage, sinks=sinks or [], as_json=as_json, is_quiet=quiet or as_json)


class _Hired:
    """Which executor was asked for, until the job is known."""

    def __init__(self, *, executor: str, workers: int, threads: int, gpus: float, address: str | None) -> None:
        self.executor, self.workers, self.threads, self.gpus, self.address = executor, workers, threads, gpus, address

    def __call__(self, job: str, watch: Any = None) -> Any:
        from fairground.execution.choose import executor_named

        return executor_named(
            self.executor,
            job,
            workers=self.workers,
            threads=self.threads,
            gpus=self.gpus,
            address=self.address,
            watch=watch,
        )


def _find(words: Sequence[str], home: Path, *, is_begun: bool) -> "StudySpec":
    """Return the study the words name: one that was begun where that is asked for, otherwise a preset or a file."""
    from fairground.errors import require
    from fairground.spec.study_load import load_study, study_names
    from fairground.study.folder import find_begun

    require(len(words) > 0, "which study? `fairground study list` shows them all")
    name, changes = words[0], words[1:]
    is_said = name.endswith(".toml") or name in study_names()
    begun = None if (is_said and not is_begun) or changes else find_begun(home, name)
    return begun or load_study(name, changes=changes)


def _list(home: Path, *, as_json: bool) -> None:
    from fairground.spec.study_load import load_study, study_names
    from fairground.study.folder import begun_studies

    presets = {name: load_study(name).question for name in study_names()}
    begun = {hash_: study.name for hash_, study in begun_studies(home).items()}
    if as_json:
        print(json.dumps({"presets": presets, "begun": begun}))
        return
    width = max(len(name) for name in presets)
    for name, question in presets.items():
        print(f"{name:<{width}}  {question}")
    for hash_, name in begun.items():
        print(f"begun here: {name} ({hash_})")


def _plan(found: "StudySpec", home: Path, hired: _Hired, *, is_pilot: bool, as_json: bool, is_quiet: bool) -> None:
    from fairground.records.store import Store
    from fairground.study.plan import pilots, plan_of
    from fairground.study.run_specs import JOB, run_specs

    if is_pilot:
        from fairground.cli.study_progress import study_progress

        specs = pilots(found)
        with (
            study_progress(len(specs), metric=found.selection.metric, is_quiet=is_quiet) as (watch, heard),
            hired(JOB, watch) as executor,
        ):
            for record in run_specs(specs, store=Store(home), executor=executor):
                heard(record)
    plan = plan_of(found, home=home)
    seconds, size = plan.seconds(hired.workers), plan.bytes()
    if as_json:
        rows = [dict(vars(row)) for row in plan.rows]
        totals = {"search_runs": plan.n_search, "final_runs": plan.n_final, "seconds": seconds, "bytes": size}
        print(json.dumps({"study": plan.study, **totals, "cells": rows}))
        return
    width = max(len(row.cell) for row in plan.rows)
    for row in plan.rows:
        cost = "" if row.seconds is None else f"  {row.seconds:.1f} s a run"
        print(
            f"{row.cell:<{width}}  {row.n_search:>5} search + {row.n_final:>4} final  {row.n_settings} settings{cost}"
        )
    print(f"{plan.n_search:,} trainings to search, {plan.n_final:,} after selection")
    if seconds is None or size is None:
        print("how long and how much disk is unknown here: --pilot makes the first run of every method to measure it")
    else:
        print(f"at most {_hours(seconds)} on {hired.workers} workers, {size / 2**20:,.0f} MB of disk, by measured runs")


def _status(found: "StudySpec", home: Path, storage: str | None, *, as_json: bool) -> None:
    from fairground.records.store import Store
    from fairground.spec.study import study_hash
    from fairground.study.folder import folder_of
    from fairground.study.select import Seal
    from fairground.study.status import status_of

    is_begun = folder_of(found, home).spec.exists()
    rows = status_of(found, home=home, storage=storage) if is_begun else []
    events = Store(home).events(run=study_hash(found))
    openings = Seal(Store(home), found).openings()
    if as_json:
        state = {"study": found.name, "hash": study_hash(found), "is_begun": is_begun, "is_sealed": not openings}
        cells = [dict(vars(row)) for row in rows]
        print(json.dumps({**state, "cells": cells, "events": [dict(vars(event)) for event in events]}))
        return
    print(f"study {found.name} ({study_hash(found)}): {'begun' if is_begun else 'not begun'} in {home}")
    for row in rows:
        states = ", ".join(f"{n} {state}" for state, n in row.trials.items() if n) or "no trials"
        print(f"  {row.cell}: {states}, of {row.n_trials}; final runs {row.final_done} of {row.final_wanted}")
    if openings:
        first = openings[0]
        print(f"test split: opened {first.at} by {first.who}, after selection, for {first.detail}")
    else:
        print("test split: sealed")
    for event in events:
        print(f"  {event.at}  {event.who}  {event.kind}")


def _conduct(
    found: "StudySpec",
    home: Path,
    hired: _Hired,
    storage: str | None,
    *,
    sinks: Sequence[str] = (),
    as_json: bool,
    is_quiet: bool,
) -> None:
    from fairground.cli.study_progress import study_progress
    from fairground.loggers.feed import fed
    from fairground.report.study_results import results_plain, results_text, write_study_page
    from fairground.spec.study import study_hash
    from fairground.study.failures import failures_of
    from fairground.study.folder import folder_of
    from fairground.study.plan import plan_of
    from fairground.study.run_study import run_study

    plan = plan_of(found, home=home)
    total = plan.n_search + plan.n_final
    try:
        with (
            fed(sinks, home) as feed,
            study_progress(total, metric=found.selection.metric, is_quiet=is_quiet) as (watch, heard),
        ):
            results = run_study(
                found,
                home=home,
                hire=lambda job: hired(job, feed.beside(watch)),
                storage=storage,
                heard=feed.after(heard),
            )
    except KeyboardInterrupt:
        where = "" if home == HOME else f" --home {home}"
        print(f"stopped; nothing is lost. Go on with: fairground study resume {found.name}{where}", file=sys.stderr)
        raise typer.Exit(130) from None
    failures = failures_of(results)
    folder, page = folder_of(found, home), None
    if failures.n_done:
        page = write_study_page(results, title=found.question or found.name, home=home, out=folder.page)
    if as_json:
        told = {"study": found.name, "hash": study_hash(found), "page": str(page) if page else None}
        counted = {"runs": failures.n, "done": failures.n_done, "failures": dict(failures.reasons)}
        print(json.dumps({**told, **counted, "cells": results_plain(results)}))
    else:
        print(results_text(results), end="")
        if page:
            print(f"page: {page.absolute()}  (open it in any browser)")
    if failures.exit_code:
        print(f"fairground: {failures.sentence()}", file=sys.stderr)
        raise typer.Exit(failures.exit_code)


def _hours(seconds: float) -> str:
    return f"{seconds / 3600:,.1f} hours" if seconds > 5400 else f"{seconds / 60:.1f} minutes"
