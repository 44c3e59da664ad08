"""`fairground index MODEL DATA -o FOLDER`: a collection made searchable."""

import json
from pathlib import Path
from typing import Annotated

import typer

from fairground.api.progress.counts import counted
from fairground.cli.embed import DATA_HELP
from fairground.cli.export import MODEL_HELP
from fairground.cli.options import HOME, AsJson, Home, Quiet
from fairground.cli.unreadable import SkipUnreadable, readable, refusing_with_a_list, stopping_with_a_word

HELP_ORDER = 130


def index(
    model: Annotated[str, typer.Argument(metavar="MODEL", help=MODEL_HELP)],
    data: Annotated[str, typer.Argument(metavar="DATA", help=DATA_HELP)],
    out: Annotated[Path, typer.Option("--output", "-o", help="The folder to write.")],
    approximate: Annotated[
        bool,
        typer.Option("--approximate", help="Add faiss's approximate search (by itself above a million rows)."),
    ] = False,
    skip_unreadable: SkipUnreadable = False,
    home: Home = HOME,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Embed a collection into a folder that `fairground query` searches; the model and small pictures lie in it.

    Example: fairground index my_model my_photos -o my_index
    """
    from fairground.deploy.index import build_index
    from fairground.deploy.inputs import read_inputs
    from fairground.deploy.model_folder import open_model

    inputs = read_inputs(data)
    opened = open_model(model, home=home)
    again = f"fairground index {model} {data} -o {out}"
    with stopping_with_a_word(again), counted("indexing", is_quiet=quiet) as tell:
        inputs = readable(inputs, tell, is_asked=skip_unreadable)
        with refusing_with_a_list(inputs, tell):
            built = build_index(opened, inputs, out, how="approximate" if approximate else "auto", tell=tell)
    if as_json:
        print(json.dumps({"folder": str(out), "n": len(built), "is_approximate": built.has_approximate}))
        return
    example = "picture.jpg" if inputs.images.is_picture else "features.npz"
    print(f"wrote {out}: {len(built):,} rows; search it with `fairground query {out} {example}`")
    if built.has_approximate:
        print(f"  approximate search: {100 * built.approximate_recall:.1f} % of the true ten nearest are found")
