"""`fairground demo`: the main job on the embedded data, ending in a table, a picture and a page."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fairground.cli.options import HOME, AsJson, Home, Quiet

if TYPE_CHECKING:
    from fairground.records.record import RunRecord
    from fairground.spec.run import RunSpec

Watch = Callable[[Mapping[str, Any]], None]
#: the methods compared: everything but these words is the same
METHODS = {
    "contrastive": ("loss=contrastive",),
    "triplet": ("loss=triplet", "loss.margin=0.2", "miner=distance_weighted"),
    "multi-similarity": ("loss=multi_similarity",),
    "proxy-anchor": ("loss=proxy_anchor", "optimiser.loss_lr=0.05"),
}
BUDGET = ("training.epochs=3", "training.batches_per_epoch=50")


def demo(
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="How many seeds a method.")] = 3,
    workers: Annotated[int, typer.Option("--workers", min=1, help="How many runs at once, one thread each.")] = 2,
    home: Home = HOME,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Compare four methods on the embedded icons, three seeds each, and write a report page.

    Takes a few minutes on two cores. What is already done is not done again, so it can be stopped and repeated.

    Example: fairground demo --seeds 5 --workers 4
    """
    from fairground.report.page import build_page, picture
    from fairground.report.run_set import folders_of
    from fairground.report.sections import Sources
    from fairground.report.table_formats import text
    from fairground.report.tables import ResultTable
    from fairground.spec.identity import method_of

    specs = _specs(seeds)
    names = {method_of(spec): name for (name, _), spec in specs.items()}
    records = _conduct(list(specs.values()), home, workers=workers, is_quiet=quiet or as_json)
    sources = Sources(folders=folders_of(records, home))
    out = home / "demo"
    page = build_page(
        records, title="Four losses on unseen icons", sources=sources, names=names, out=out / "report.html"
    )
    image = picture(records, out / "demo.png", names=names)
    if as_json:
        print(json.dumps({"page": str(page), "picture": str(image), "runs": [record.name for record in records]}))
        return
    print(text(ResultTable.from_records(records, names=names)))
    print(f"picture: {image.absolute()}\npage:    {page.absolute()}  (open it in any browser)")


def _specs(seeds: int) -> "dict[tuple[str, int], RunSpec]":
    from fairground.spec.load import load_run

    # Seed by seed, so that an early look at the page compares all methods.
    return {
        (name, seed): load_run(overrides=[*words, *BUDGET, f"seed={seed}"])
        for seed in range(seeds)
        for name, words in METHODS.items()
    }


def _conduct(specs: "list[RunSpec]", home: Path, *, workers: int, is_quiet: bool) -> "list[RunRecord]":
    from fairground.execution.processes import ProcessExecutor
    from fairground.records.store import Store
    from fairground.study.run_specs import JOB, run_specs

    store = Store(home)
    records = []
    with _progress(specs, is_quiet=is_quiet) as watch, ProcessExecutor(JOB, workers=workers, watch=watch) as executor:
        for record in run_specs(specs, store=store, executor=executor):
            records.append(record)
            watch({"kind": "done", "run": record.name, "record": record})
    return records


@contextmanager
def _progress(specs: "list[RunSpec]", *, is_quiet: bool) -> Iterator[Watch]:
    if is_quiet:
        yield lambda _: None
    elif sys.stderr.isatty():
        with _bars(specs) as watch:
            yield watch
    else:
        finished = iter(range(1, len(specs) + 1))
        yield lambda event: _line(event, finished, len(specs))


def _line(event: Mapping[str, Any], finished: Iterator[int], n: int) -> None:
    if event["kind"] == "done":
        record = event["record"]
        score = record.score("map@r")
        result = record.failure if score is None else f"test map@r {score:.4f}"
        loss, seed = record.spec["loss"]["name"], record.spec["seed"]
        print(f"run {next(finished)}/{n}  {record.name}  {loss} seed {seed}  {result}", file=sys.stderr)


@contextmanager
def _bars(specs: "list[RunSpec]") -> Iterator[Watch]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

    from fairground.cli.terminal import console
    from fairground.spec.identity import name_of

    titles = {name_of(spec): f"{spec.loss.name} seed {spec.seed}" for spec in specs}
    columns = (TextColumn("{task.description:<28}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    columns_with_loss = (*columns, TextColumn("{task.fields[loss]}"))
    with Progress(*columns_with_loss, console=console()) as progress:
        whole = progress.add_task("runs", total=len(specs), loss="")
        tasks: dict[str, TaskID] = {}

        def watch(event: Mapping[str, Any]) -> None:
            run = event.get("run", "")
            if event["kind"] == "done":
                progress.advance(whole)
                if run in tasks:
                    progress.remove_task(tasks.pop(run))
            elif event["kind"] == "batch":
                if run not in tasks:
                    tasks[run] = progress.add_task(titles[run], total=event["of"] * event["batches"], loss="")
                done = (event["epoch"] - 1) * event["batches"] + event["batch"]
                progress.update(tasks[run], completed=done, loss=f"loss {event['loss']:.4f}")

        yield watch
