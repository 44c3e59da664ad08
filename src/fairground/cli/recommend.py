"""`fairground recommend DATA --time 30m`: from your data to a model and the reasons for it."""

import json
import sys
from typing import Annotated

import typer

from fairground.api.terminal import print_fitted
from fairground.cli.command_start import command_start
from fairground.cli.options import HOME, AsJson, Home, Quiet, kept_for_json

HELP_ORDER = 20


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
        typer.Argument(metavar="[KEY=VALUE]...", help="Settings for every method, like trunk=small_conv."),
    ] = None,
    limit: Annotated[str, typer.Option("--time", "-t", help="How long all of it may take: 90s, 30m, 2h.")] = "30m",
    by: Annotated[
        str, typer.Option("--by", help="The metric that decides: recall@1, map@r, r_precision, ...")
    ] = "recall@1",
    more: Annotated[str | None, typer.Option("--more", help="Go on for so long after an answer: 30m.")] = None,
    protocol: Annotated[
        str | None, typer.Option("--protocol", help="laptop, photographs or features; chosen by the data if left out.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Another number draws other halves and folds.")] = 0,
    home: Home = HOME,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Find out which method suits your data, within a time: ends in advice, a report page and one model to use.

    The frozen network comes first, plain, with discriminants, on principal axes; then heads and losses on its features;
    then its last stages, as far as the time allows. Whatever time is left confirms the best on fresh folds of classes.
    Ctrl-C ends with the best so far; the same command goes on where it was. docs/recommend.md says how it chooses.

    Try: fairground recommend icons --time 5m

    Or: fairground recommend my_photos/ --time 30m

    Or: fairground recommend features.npz --time 2m --by map@r
    """
    from fairground.api.recommend import run_recommendation
    from fairground.files import read_json

    with kept_for_json(as_json):
        result = run_recommendation(
            data,
            words or [],
            time=limit,
            by=by,
            more=more,
            protocol=protocol,
            seed=seed,
            home=home,
            quiet=quiet or as_json,
            begun=command_start(),
        )
    if as_json:
        print(json.dumps(result.to_dict()))
    else:
        model = result.model.absolute()
        yours = "YOUR_IMAGES" if read_json(model / "model.json")["is_picture"] else "YOUR_FEATURES.npz"
        for line in str(result).split("\n"):
            print_fitted(line)
        print_fitted(f"page:  {result.page.absolute()}  (open it in any browser)")
        print_fitted(f"model: {model}  (try: fairground embed {model} {yours} -o embeddings.npz)")
    if result.is_stopped and result.is_new:
        print("stopped; nothing is lost. The same command goes on from here.", file=sys.stderr)
        raise typer.Exit(130)
