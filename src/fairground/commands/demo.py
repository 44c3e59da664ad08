"""`fairground demo`: the main job on the embedded data, ending in a table, a picture and a page."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairground.commands.options import HOME, AsJson, Home, Quiet

if TYPE_CHECKING:
    from fairground.records.record import RunRecord
    from fairground.spec.run import RunSpec

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
    from fairground.reporting.page import build_page, picture
    from fairground.reporting.run_set import RunSet
    from fairground.reporting.table_formats import text
    from fairground.reporting.tables import ResultTable
    from fairground.spec.identity import method_of

    specs = _specs(seeds)
    names = {method_of(spec): name for (name, _), spec in specs.items()}
    records = _run(list(specs.values()), home, workers=workers, is_quiet=quiet or as_json)
    out = home / "demo"
    runs = RunSet.in_home(records, home, names=names, title="Four losses on unseen icons")
    page = build_page(runs, out=out / "report.html")
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


def _run(specs: "list[RunSpec]", home: Path, *, workers: int, is_quiet: bool) -> "list[RunRecord]":
    from fairground.commands.progress import study_progress
    from fairground.records.store import Store
    from fairground.spec.identity import name_of
    from fairground.studies.executors.processes import ProcessExecutor
    from fairground.studies.scheduler import JOB, Scheduler

    titles = {name_of(spec): f"{spec.loss.name} seed {spec.seed}" for spec in specs}
    with (
        study_progress(len(specs), metric="map@r", is_quiet=is_quiet, titles=titles) as (watch, on_record),
        ProcessExecutor(JOB, workers=workers, watch=watch) as executor,
    ):
        return Scheduler(store=Store(home), executor=executor, on_record=on_record).run_specs(specs)
