"""`fairground embed MODEL DATA -o FILE`: the embeddings of anything, straight to a file."""

import json
from pathlib import Path
from typing import Annotated

import typer

from fairground.commands.export import MODEL_HELP
from fairground.commands.options import HOME, AsJson, Home, Quiet
from fairground.commands.progress import counted
from fairground.commands.terminal import print_fitted
from fairground.commands.unreadable import SkipUnreadable, readable, refusing_with_a_list

DATA_HELP = "A folder of images (class folders or loose), a table, one image, a file of features, or `icons`."


def embed(
    model: Annotated[str, typer.Argument(metavar="MODEL", help=MODEL_HELP)],
    data: Annotated[str, typer.Argument(metavar="DATA", help=DATA_HELP)],
    out: Annotated[Path, typer.Option("--output", "-o", help="An .npz file, or an .npy file with a .json beside it.")],
    raw: Annotated[bool, typer.Option("--raw", help="As the network gives them, not scaled to length one.")] = False,
    skip_unreadable: SkipUnreadable = False,
    home: Home = HOME,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Embed pictures or features in order, with their files and, where known, their classes.

    Memory stays small whatever the number of images. Pictures that cannot be read are refused with a list, or left out
    and named with --skip-unreadable.

    Example: fairground embed my_model my_photos -o embeddings.npz
    """
    from fairground.deploy.embedding_file import embed_to_file
    from fairground.deploy.inputs import read_inputs
    from fairground.deploy.model_folder import open_model

    inputs = read_inputs(data)
    opened = open_model(model, home=home, measured=False)
    with counted("embedding", is_quiet=quiet) as tell:
        inputs = readable(inputs, tell, is_asked=skip_unreadable)
        with refusing_with_a_list(inputs, tell):
            embed_to_file(opened, inputs, out, raw=raw, tell=lambda done, of: tell("embedding", done, of))
    if as_json:
        found = {"file": str(out), "n": len(inputs), "embedding_dim": opened.metadata.embedding_dim}
        print(json.dumps({**found, "has_labels": inputs.labels is not None, "left_out": list(inputs.left_out)}))
    else:
        known = "" if inputs.labels is None else f" of {len(set(inputs.labels.tolist()))} classes"
        print_fitted(f"wrote {out}: {len(inputs):,} embeddings of {opened.metadata.embedding_dim} numbers{known}")
