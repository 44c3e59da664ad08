"""`fairground study`: run, plan, resume studies, and show how far they are."""

import json
import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairground.api.terminal import print_fitted, print_listed, screen_width
from fairground.cli.executors import Address, ExecutorName, Gpus, NodeWait, Storage, Workers, WorkerThreads
from fairground.cli.options import HOME, AsJson, Home, Loggers, Quiet, kept_for_json

HELP_ORDER = 80

if TYPE_CHECKING:
    from fairground.api.executors import ExecutorOptions
    from fairground.spec.study import StudySpec
    from fairground.studies.plan import StudyPlan


@dataclass(frozen=True, kw_only=True)
class GpuSpeed:
    """What a GPU is called and how fast it trains, as the user says it; None where nothing was said."""

    name: str
    images_per_second: float | None


ACTIONS = ("run", "resume", "plan", "status", "list")


def study(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="[run|resume|plan|status|list] [STUDY] [KEY=VALUE]...",
            help="A preset's name, a .toml file, or the hash of a study begun; then what to change in it.",
        ),
    ],
    executor: ExecutorName = "processes",
    workers: Workers = 2,
    threads: WorkerThreads = 1,
    gpus: Gpus = 0.0,
    address: Address = None,
    node_wait: NodeWait = None,
    storage: Storage = None,
    until_settled: Annotated[
        bool,
        typer.Option(
            "--until-settled",
            help="Add seeds in waves, only to the methods still in question, until it is settled which is best. "
            "until_settled.limit=15 and so on change the rule.",
        ),
    ] = False,
    measure: Annotated[
        bool, typer.Option("--measure", help="With plan: make the first run of every method, to measure what it costs.")
    ] = False,
    images_per_second: Annotated[
        float | None,
        typer.Option("--images-per-second", help="With plan: how fast your GPU trains the network.", min=1),
    ] = None,
    gpu: Annotated[str, typer.Option("--gpu", help="With plan: what that GPU is called.")] = "your GPU",
    home: Home = HOME,
    as_json: AsJson = False,
    quiet: Quiet = False,
    loggers: Loggers = None,
) -> None:
    """Run a study: search every method equally, select, repeat on fresh seeds, open the test classes once.

    `fairground study list` shows what there is; `plan` says what would run, how long and how much disk; `status` how
    far it is; `resume` goes on after Ctrl-C or a crash, with the digits it would have had anyway.

    Ends with 0 when no run failed, 3 when some did, 1 when none finished; the last line counts them and says why.

    Try: fairground study tiny

    Or: fairground study plan laptop/mlrc --measure

    Or: fairground study plan roth2020/table4 --images-per-second 350 --gpu V100

    Or: fairground study laptop/mlrc --workers 4 repeats=5 search.trials=16

    Or: fairground study tiny --until-settled until_settled.limit=9 until_settled.margin=1

    Or: fairground study my_study.toml --executor ray --storage postgresql+psycopg://user@host/db
    """
    action, rest = (words[0], words[1:]) if words[0] in ACTIONS else ("run", words)
    if action == "list":
        _list(home, as_json=as_json)
        return
    from fairground.api.executors import ExecutorOptions
    from fairground.api.study import find_study

    typed = rest
    rest = [*rest[:1], *(["until_settled=true"] if until_settled else []), *rest[1:]]
    found = find_study(rest, home, is_begun=action in ("resume", "status"))
    options = ExecutorOptions(
        name=executor, workers=workers, threads=threads, gpus=gpus, address=address, node_wait=node_wait
    )
    if action == "status":
        _status(found, home, storage, as_json=as_json)
    elif action == "plan":
        device = GpuSpeed(name=gpu, images_per_second=images_per_second)
        _plan(found, typed, home, options, device, is_measured=measure, as_json=as_json, is_quiet=quiet or as_json)
    else:
        run(found, home, options, storage, loggers=loggers or [], as_json=as_json, is_quiet=quiet or as_json)


def _list(home: Path, *, as_json: bool) -> None:
    from fairground.spec.study_load import load_study, study_names
    from fairground.studies.folder import begun_studies

    presets = {name: load_study(name).question for name in study_names()}
    begun = {hash_: study.name for hash_, study in begun_studies(home).items()}
    if as_json:
        print(json.dumps({"presets": presets, "begun": begun}))
        return
    print_listed(presets)
    for hash_, name in begun.items():
        print(f"begun here: {name} ({hash_})")


def _plan(
    found: "StudySpec",
    typed: list[str],
    home: Path,
    options: "ExecutorOptions",
    device: GpuSpeed,
    *,
    is_measured: bool,
    as_json: bool,
    is_quiet: bool,
) -> None:
    from fairground.api.study import measured_plan
    from fairground.studies.plan import plan_of

    plan = (
        measured_plan(found, home=home, options=options, quiet=is_quiet) if is_measured else plan_of(found, home=home)
    )
    seconds, size = plan.seconds(options.workers), plan.bytes()
    gpu_seconds = plan.gpu_seconds(device.images_per_second)
    needs_folder = plan.images() is not None and not any(word.startswith("data.root=") for word in typed)
    command = f"fairground study {shlex.join(typed)}" + (" data.root=FOLDER/{data}" if needs_folder else "")
    if as_json:
        rows = [asdict(row) for row in plan.rows]
        counts = {"search_runs": plan.n_search, "final_runs": plan.n_final, "is_most": plan.is_most}
        totals = {**counts, "seconds": seconds, "bytes": size}
        more = {"images": plan.images(), "gpu_seconds": gpu_seconds, "command": command}
        print(json.dumps({"study": plan.study, **totals, **more, "jobs": rows}))
        return
    width = max(len(row.job) for row in plan.rows)
    for row in plan.rows:
        cost = "" if row.seconds is None else f"  {row.seconds:.1f} s per run"
        settings = f"{row.n_settings} setting{'' if row.n_settings == 1 else 's'}"
        print_fitted(f"{row.job:<{width}}  {row.n_search:>5} search + {row.n_final:>4} final  {settings}{cost}")
    most = "at most " if plan.is_most else ""
    print_fitted(f"{plan.n_search:,} trainings to search, {most}{plan.n_final:,} after selection")
    if seconds is not None and size is not None:
        print_fitted(
            f"at most {_hours(seconds)} on {options.workers} workers, {size / 2**20:,.0f} MB of disk, by measured runs"
        )
    elif plan.images() is None:
        print_fitted(
            "how long and how much disk is unknown here: --measure makes the first run of every method to measure it"
        )
    else:
        _print_gpu(plan, device, gpu_seconds)
    if found.follows:
        print_fitted(f"follows: {found.follows}")
    if found.differs:
        print_fitted(f"differs from the paper: {found.differs}")
    print(f"command: {command}")


def _print_gpu(plan: "StudyPlan", device: GpuSpeed, seconds: float | None) -> None:
    """Print what a study on published data takes on one GPU: images, hours at a stated speed, and disk."""
    images, size = plan.images(), plan.bytes()
    assert images is not None
    assert size is not None
    print_fitted(f"at most {images / 1e6:,.1f} million images through the network, {size / 1e9:,.0f} GB of disk")
    if seconds is None:
        print_fitted(
            "how long is unknown here: give --images-per-second N --gpu NAME, or train one run of each network first"
        )
    elif device.images_per_second is not None:
        print_fitted(
            f"at most {_hours(seconds)} on one {device.name} at {device.images_per_second:g} images/s, as given"
        )
    else:
        print_fitted(f"at most {_hours(seconds)} at the images/s measured in this home on {plan.hardware}")


def _status(found: "StudySpec", home: Path, storage: str | None, *, as_json: bool) -> None:
    from fairground.records.store import Store
    from fairground.spec.study import study_hash
    from fairground.studies.folder import folder_of
    from fairground.studies.select import Seal
    from fairground.studies.status import status_of, waves_so_far

    is_begun = folder_of(found, home).spec.exists()
    rows = status_of(found, home=home, storage=storage) if is_begun else []
    waves = waves_so_far(found, home=home) if is_begun else {}
    events = Store(home).events(run=study_hash(found))
    openings = Seal(Store(home), found).openings()
    if as_json:
        state = {"study": found.name, "hash": study_hash(found), "is_begun": is_begun, "is_sealed": not openings}
        jobs = [dict(vars(row)) for row in rows]
        state["waves"] = {data: dict(vars(wave)) for data, wave in waves.items()}
        print(json.dumps({**state, "jobs": jobs, "events": [dict(vars(event)) for event in events]}))
        return
    print_fitted(f"study {found.name} ({study_hash(found)}): {'begun' if is_begun else 'not begun'} in {home}")
    for row in rows:
        states = ", ".join(f"{n} {state}" for state, n in row.trials.items() if n) or "no trials"
        print_fitted(f"  {row.job}: {states}, of {row.n_trials}; final runs {row.final_done} of {row.final_wanted}")
    if found.seed_procedure is not None:
        print_fitted(f"{found.seed_procedure.sentence}. {found.seed_procedure.why_fair}")
        for data, wave in waves.items():
            print_fitted(f"  {data}: {wave.sentence}")
    if openings:
        first = openings[0]
        print_fitted(f"test split: opened {first.at} by {first.who}, after selection, for {first.detail}")
    else:
        print_fitted("test split: sealed")
    for event in events:
        print_fitted(f"  {event.at}  {event.who}  {event.kind}")


def run(
    found: "StudySpec",
    home: Path,
    options: "ExecutorOptions",
    storage: str | None,
    *,
    loggers: Sequence[str] = (),
    as_json: bool,
    is_quiet: bool,
) -> None:
    """Run a study and print what it found; after Ctrl-C, how to go on."""
    from fairground.api.study import run_found_study

    try:
        # What Ray prints must not end up in what a program reads.
        with kept_for_json(as_json or options.name == "ray"):
            result = run_found_study(
                found, home=home, options=options, storage=storage, loggers=loggers, quiet=is_quiet
            )
    except KeyboardInterrupt:
        where = "" if home == HOME else f" --home {shlex.quote(str(home))}"
        print(f"stopped; nothing is lost. Go on with: fairground study resume {found.name}{where}", file=sys.stderr)
        raise typer.Exit(130) from None
    if as_json:
        print(json.dumps(result.to_dict()))
    else:
        print(result.text(width=screen_width()), end="")
        if result.page:
            print_fitted(f"page: {result.page.absolute()}  (open it in any browser)")
    if result.failures.exit_code:
        print(f"fairground: {result.failures.sentence()}", file=sys.stderr)
        raise typer.Exit(result.failures.exit_code)


def _hours(seconds: float) -> str:
    return f"{seconds / 3600:,.1f} hours" if seconds > 5400 else f"{seconds / 60:.1f} minutes"
