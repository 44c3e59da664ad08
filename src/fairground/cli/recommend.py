"""`fairground recommend DATA --time 30m`: from your data to a trained model and the reasons for it."""

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairground.cli.options import HOME, AsJson, Home, Quiet

HELP_ORDER = 20

if TYPE_CHECKING:
    from fairground.api.recommend import RecommendResult

#: the share of classes that validates where a method is known and only the best epoch is to be found
FEW = 0.1


def recommend(
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="A folder of class folders, a CSV or Parquet table, a file of features (.npz), or the word icons.",
        ),
    ],
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[KEY=VALUE]...", help="Settings for every run, like training.epochs=20."),
    ] = None,
    limit: Annotated[str, typer.Option("--time", "-t", help="How long it may take: 90s, 30m, 2h.")] = "30m",
    workers: Annotated[int, typer.Option("--workers", min=1, help="How many runs at once, one thread each.")] = 2,
    protocol: Annotated[
        str | None, typer.Option("--protocol", help="laptop, photographs or features; chosen by the data if left out.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Another number is another race.")] = 0,
    home: Home = HOME,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Find out which method suits your data, within a time: ends in advice, a report page and a trained model.

    Audits the data, divides its classes, measures the network before any training, then races methods: all begin, half
    go on, the best scores and the steepest climbs, and the best run again on further seeds. Ctrl-C ends with what is
    known so far; the same command goes on where it was, after a crash too. docs/recommend.md says how it chooses and
    how to read the advice.

    Try: fairground recommend icons --time 5m

    Or: fairground recommend my_photos/ --time 30m

    Or: fairground recommend features.npz --time 2m training.epochs=20
    """
    from fairground.api.recommend import race_methods

    result = race_methods(
        data,
        words or [],
        time=limit,
        workers=workers,
        protocol=protocol,
        seed=seed,
        home=home,
        quiet=quiet or as_json,
    )
    if as_json:
        print(json.dumps(result.to_dict()))
    else:
        _print(result, home)
        if result.is_stopped:
            print("stopped; nothing is lost. The same command goes on from here.", file=sys.stderr)
    if result.is_stopped:
        raise typer.Exit(130)


def _print(result: "RecommendResult", home: Path) -> None:
    print(result)
    model = result.model.absolute()
    print(f"page:  {result.page.absolute()}  (open it in any browser)")
    print(f"model: {model}  (try: fairground embed {model} YOUR_IMAGES -o embeddings.npz)")
    if result.validation_share > FEW and not result.found.recommendation.is_baseline:
        words = ("--home", str(home), "--like", result.model_run, f"split.validation={FEW}")
        print(f"more:  fairground train {shlex.join(words)}  (the same method on more of your classes)")
