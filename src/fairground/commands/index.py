"""Make a collection searchable: `fairground index MODEL DATA -o FOLDER`. Add and remove rows later."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

from fairground import deploy
from fairground.commands import HOME, Answer, Device, Home, Quiet
from fairground.commands.embed import DATA_HELP, MODEL_HELP, SkipUnreadable, readable_inputs

IndexFolder = Annotated[Path, "INDEX", "A folder that `fairground index` wrote."]


def build(
    model: Annotated[str, "MODEL", MODEL_HELP],
    data: Annotated[str, "DATA", DATA_HELP],
    out: Annotated[Path, "--output", "-o", "The folder to write."],
    precision: Annotated[
        Literal["float32", "int8", "binary"],
        "Bits per number: int8 takes a quarter of the space, binary finds by signs and scores by int8.",
    ] = "float32",
    skip_unreadable: SkipUnreadable = False,
    home: Home = HOME,
    device: Device = "auto",
    quiet: Quiet = False,
) -> Answer:
    """Embed a collection into a folder that `fairground query` searches, with the model and small pictures in it.

    The word `build` may be omitted.

    Examples: fairground index build my_model my_photos -o my_index · fairground index my_model my_photos -o my_index
    """
    opened = deploy.open_model(model, home=home, device=device)
    with readable_inputs(data, "indexing", is_quiet=quiet, skip_unreadable=skip_unreadable) as (inputs, tell):
        built = deploy.build_index(opened, inputs, out, precision=precision, tell=tell)
    example = "picture.jpg" if inputs.images.is_picture else "features.npz"
    line = f"wrote {out}: {len(built):,} rows; search it with `fairground query {out} {example}`"
    return Answer({"folder": str(out), "n": len(built)}, [line])


def add(
    folder: IndexFolder,
    data: Annotated[str, "DATA", DATA_HELP],
    replace: Annotated[bool, "Remove the rows that have the same names, in the same step."] = False,
    skip_unreadable: SkipUnreadable = False,
    device: Device = "auto",
    quiet: Quiet = False,
) -> Answer:
    """Embed more pictures with the index's own model and add them.

    Examples: fairground index add my_index new_photos · fairground index add my_index changed_photos --replace
    """
    with readable_inputs(data, "indexing", is_quiet=quiet, skip_unreadable=skip_unreadable) as (inputs, tell):
        change = deploy.add_to_index(folder, inputs, replace_names=replace, tell=tell, device=device)
    return _changed(folder, change)


def remove(
    folder: IndexFolder,
    ids: Annotated[list[int] | None, "The identifier of a row, as `query --json` shows it; repeat it."] = None,
    path: Annotated[list[str] | None, "The name of a row's file, or a pattern such as 'airplane/*'; repeat it."] = None,
) -> Answer:
    """Remove rows by identifier or by name; they are not found any more.

    Examples: fairground index remove my_index --path 'airplane/*' · fairground index remove my_index --ids 17 --ids 18
    """
    return _changed(folder, deploy.remove_from_index(folder, ids=ids or (), names=path or ()))


def _changed(folder: Path, change: "deploy.IndexChange") -> Answer:
    lines = [f"{folder}: {change.added:,} added, {change.removed:,} removed; {change.n:,} rows"]
    if change.has_dropped_classes:
        lines.append("  their classes are left out: the index has none")
    return Answer({"folder": str(folder), **asdict(change)}, lines)


COMMANDS = {"build": build, "add": add, "remove": remove}
