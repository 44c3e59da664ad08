"""`fairground evaluate RUN`: measure a run's selected model again, with other metrics or on another split."""

import json
from typing import Annotated, Literal

import typer

from fairground.cli.options import HOME, AsJson, Home


def evaluate(
    run: Annotated[str, typer.Argument(help="The run's name, or enough of its beginning.")],
    split: Annotated[
        Literal["validation", "test"], typer.Option("--split", help="Which classes to measure on.")
    ] = "validation",
    metrics: Annotated[str | None, typer.Option("--metrics", "-m", help="Which metrics, with commas.")] = None,
    home: Home = HOME,
    as_json: AsJson = False,
) -> None:
    """Measure the selected model of a run. The test classes stay sealed until the run is done.

    Example: fairground evaluate 3f2a --split test --metrics recall@1,nmi
    """
    from fairground.records.folders import resolve_run
    from fairground.training.reopen import evaluate_stored

    asked = [name.strip() for name in metrics.split(",") if name.strip()] if metrics else None
    scores = evaluate_stored(home, resolve_run(home, run), split=split, metrics=asked)
    if as_json:
        print(json.dumps(scores))
        return
    for name, value in scores.items():
        print(f"{split} {name}  {value:.6f}")
