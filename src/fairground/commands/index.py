"""`fairground index MODEL DATA -o FOLDER`: a collection made searchable, and rows added to it and removed later."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from fairground.commands.export_embed import DATA_HELP, MODEL_HELP, SkipUnreadable, readable_inputs
from fairground.commands.options import HOME, AsJson, Home, Quiet
from fairground.commands.terminal import print_fitted

if TYPE_CHECKING:
    from fairground.deploy.index import IndexChange

_BUILD = "build"
IndexFolder = Annotated[Path, typer.Argument(metavar="INDEX", help="A folder that `fairground index` wrote.")]


class _BuildsByDefault(TyperGroup):
    """`fairground index MODEL DATA -o FOLDER` is `fairground index build MODEL DATA -o FOLDER`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in (*self.commands, "--help"):
            args = [_BUILD, *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_BuildsByDefault,
    help="Make a collection searchable: `fairground index MODEL DATA -o FOLDER`. Add and remove rows later.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.callback()
def index() -> None:
    """Make a collection searchable: `fairground index MODEL DATA -o FOLDER`. Add and remove rows later.

    Examples: fairground index my_model my_photos -o my_index · fairground index add my_index new_photos
    """


@app.command(_BUILD)
def build(
    model: Annotated[str, typer.Argument(metavar="MODEL", help=MODEL_HELP)],
    data: Annotated[str, typer.Argument(metavar="DATA", help=DATA_HELP)],
    out: Annotated[Path, typer.Option("--output", "-o", help="The folder to write.")],
    skip_unreadable: SkipUnreadable = False,
    home: Home = HOME,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Embed a collection into a folder that `fairground query` searches, with the model and small pictures in it.

    The word `build` may be omitted.

    Examples: fairground index build my_model my_photos -o my_index · fairground index my_model my_photos -o my_index
    """
    from fairground.deploy.index import build_index
    from fairground.deploy.model_folder import open_model

    opened = open_model(model, home=home)
    with readable_inputs(data, "indexing", is_quiet=quiet, skip_unreadable=skip_unreadable) as (inputs, tell):
        built = build_index(opened, inputs, out, tell=tell)
    if as_json:
        print(json.dumps({"folder": str(out), "n": len(built)}))
        return
    example = "picture.jpg" if inputs.images.is_picture else "features.npz"
    print_fitted(f"wrote {out}: {len(built):,} rows; search it with `fairground query {out} {example}`")


@app.command("add")
def add(
    folder: IndexFolder,
    data: Annotated[str, typer.Argument(metavar="DATA", help=DATA_HELP)],
    replace: Annotated[
        bool, typer.Option("--replace", help="Remove the rows that have the same names, in the same step.")
    ] = False,
    skip_unreadable: SkipUnreadable = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Embed more pictures with the index's own model and add them.

    Examples: fairground index add my_index new_photos · fairground index add my_index changed_photos --replace
    """
    from fairground.deploy.index import add_to_index

    with readable_inputs(data, "indexing", is_quiet=quiet, skip_unreadable=skip_unreadable) as (inputs, tell):
        change = add_to_index(folder, inputs, replace_names=replace, tell=tell)
    _print_change(folder, change, as_json)


@app.command("remove")
def remove(
    folder: IndexFolder,
    ids: Annotated[
        list[int] | None, typer.Option("--ids", help="The identifier of a row, as `query --json` shows it; repeat it.")
    ] = None,
    path: Annotated[
        list[str] | None,
        typer.Option("--path", help="The name of a row's file, or a pattern such as 'airplane/*'; repeat it."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Remove rows by identifier or by name; they are not found any more.

    Examples: fairground index remove my_index --path 'airplane/*' · fairground index remove my_index --ids 17 --ids 18
    """
    from fairground.deploy.index import remove_from_index

    _print_change(folder, remove_from_index(folder, ids=ids or (), names=path or ()), as_json)


def _print_change(folder: Path, change: "IndexChange", as_json: bool) -> None:
    if as_json:
        print(json.dumps({"folder": str(folder), **asdict(change)}))
        return
    print_fitted(f"{folder}: {change.added:,} added, {change.removed:,} removed; {change.n:,} rows")
    if change.has_dropped_classes:
        print_fitted("  their classes are left out: the index has none")
