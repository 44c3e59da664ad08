"""`fairground demo`: compare four methods on the embedded icons, ending in a table, a picture and a page."""

from typing import Annotated

from fairground.commands import HOME, Answer, Device, Home, Quiet, Verbatim, executor_of, run_specs
from fairground.reporting import RunSet, build_page, picture, table_formats
from fairground.spec import Overrides, load_run, method_of, name_of

#: the overrides of each method; everything else is the same
METHODS: dict[str, Overrides] = {
    "contrastive": {"loss": "contrastive"},
    "triplet": {"loss": "triplet", "loss.margin": 0.2, "miner": "distance_weighted"},
    "multi-similarity": {"loss": "multi_similarity"},
    "proxy-anchor": {"loss": "proxy_anchor", "optimiser.loss_lr": 0.05},
}
BUDGET: Overrides = {"training.epochs": 3, "training.batches_per_epoch": 50}


def demo(
    seeds: Annotated[int, "Number of seeds per method.", {"min": 1}] = 3,
    workers: Annotated[int, "Number of runs at once, one thread each.", {"min": 1}] = 2,
    home: Home = HOME,
    device: Device = "auto",
    quiet: Quiet = False,
) -> Answer:
    """Compare four methods on the embedded icons, three seeds each, and write a report page.

    Takes a few minutes on two cores. Finished runs are not repeated, so it can be stopped and started again.

    Example: fairground demo --seeds 5 --workers 4
    """
    # Seed by seed, so that an early look at the page compares all methods.
    specs, names = [], {}
    for seed in range(seeds):
        for name, overrides in METHODS.items():
            specs.append(load_run(overrides={**overrides, **BUDGET, "seed": seed}))
            names[method_of(specs[-1])] = name
    titles = {name_of(spec): f"{spec.loss.name} seed {spec.seed}" for spec in specs}
    records = run_specs(specs, executor_of(workers=workers, device=device), home, quiet=quiet, titles=titles)
    runs = RunSet.in_home(records, home, names=names, title="Four losses on unseen icons")
    page = build_page(runs, out=home / "demo" / "report.html")
    image = picture(runs, home / "demo" / "demo.png")
    lines = [
        Verbatim(table_formats.text(runs.table)),
        Verbatim(f"picture: {image.absolute()}\npage:    {page.absolute()}  (open it in any browser)"),
    ]
    return Answer({"page": str(page), "picture": str(image), "runs": [record.name for record in records]}, lines)
