"""`fairground weights`: what trunks can load, whether it is here, and how to get it. Nothing is downloaded."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from fairground.commands.options import AsJson

app = typer.Typer(
    help="Ready-made weights: list what each trunk can load and whether it is here; check a file; convert a package.",
    no_args_is_help=False,
    invoke_without_command=True,
    rich_markup_mode=None,
)


@app.callback()
def weights(context: typer.Context, as_json: AsJson = False) -> None:
    """List the published weights of every trunk: where to get them, their SHA-256, and whether they are here.

    Nothing is downloaded: get the file by the address shown and put it into the folder the list ends with.

    Examples: fairground weights · fairground weights check resnet50-0676ba61.pth
    """
    if context.invoked_subcommand is not None:
        return
    from fairground.training.published_weights import known_weights
    from fairground.trunks._weights import weights_folder

    found = known_weights()
    if as_json:
        print(json.dumps({"folder": str(weights_folder()), "weights": [asdict(one) for one in found]}))
        return
    for one in found:
        print(f"{one.trunk}: {one.file}  {'here: ' + one.path if one.path else 'not here'}")
        begins = "SHA-256" if len(one.sha256) == 64 else "SHA-256 begins with"
        print(f"  {begins} {one.sha256}")
        print(f"  from {one.address}")
    print(f"folder: {weights_folder()}")


@app.command("check")
def check(
    file: Annotated[Path, typer.Argument(help="A file of weights.")],
    as_json: AsJson = False,
) -> None:
    """Check a file of weights: whether it is a published one, by its SHA-256, and which trunks it fits.

    Ends with 0 when a trunk can load it and 2 when none can, or when it is not the file its name says.

    Example: fairground weights check resnet50-0676ba61.pth
    """
    from fairground.training.published_weights import check_weights

    found = check_weights(file.expanduser())
    print(json.dumps(asdict(found)) if as_json else f"{found.sentence}\nSHA-256 {found.sha256}")
    if not found.is_right:
        raise typer.Exit(2)
