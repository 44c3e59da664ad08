"""`fairground store`: check, repair, move and merge the records of a home."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairground.commands.options import HOME, AsJson, Home, Quiet
from fairground.commands.progress import counted

if TYPE_CHECKING:
    from fairground.records.store_transfer import Transfer


#: how many names of a kind are printed
_SHOWN = 20

app = typer.Typer(
    help="Look after the records of a home. Start with `fairground store check`.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.callback()
def store() -> None:
    """Look after the records of a home. Start with `fairground store check`."""


@app.command("check")
def check(home: Home = HOME, as_json: AsJson = False, quiet: Quiet = False) -> None:
    """Check every row of the store and every file of its runs; nothing is changed.

    Ends with 1 where something is damaged. Folders without a record and files of killed writers are counted, and harm
    nobody.

    Examples: fairground store check · fairground store check --home /data/runs --json
    """
    from fairground.records.store_check import check_home

    with counted("checking files", is_quiet=quiet or as_json) as tell:
        found = check_home(home, lambda done, of: tell("", done, of))
    if as_json:
        print(json.dumps(found.plain()))
    else:
        print(f"{found.n_records} records, {found.n_events} events, {found.n_folders} folders of runs")
        _list("damaged", found.damage)
        _list("runs whose record is in their folder and not, or not undamaged, in the store", found.unstored)
        _list("runs that were begun and have no record", found.unfinished)
        _list("folders that belong to no run", found.orphans)
        _list("finished runs whose folder is gone", found.without_folder)
        _list("files that a killed writer left", found.temporary)
        print("  ".join(f"{name} {_megabytes(size)}" for name, size in found.bytes.items()))
        print("sound" if found.is_sound else "damaged: `fairground store repair` mends what can be mended")
    raise typer.Exit(0 if found.is_sound else 1)


@app.command("repair")
def repair(home: Home = HOME, as_json: AsJson = False) -> None:
    """Rebuild the store from what is readable of it and from the folders of the runs; the old file is kept.

    Nobody may work in the home meanwhile. Ends with 1 where a record is lost, or where nothing tells whether one is:
    train that run again, and it ends with the same digits. A store of a newer fairground is refused.

    Example: fairground store repair
    """
    from fairground.records.store_repair import repair_home

    done = repair_home(home)
    if as_json:
        print(json.dumps(done.plain()))
    else:
        print(f"{done.from_database} records saved from the database, {done.from_folders} from folders of runs")
        print(f"{done.events} events saved, {done.specs} specs written anew, {done.swept} left-over files removed")
        if done.old:
            print(f"the old database is {home / done.old}")
        _list("lost", done.lost)
        if done.n_unnamed is None:
            print("how many further records are lost is unknown: the old database does not say how many it had")
        elif done.n_unnamed:
            print(f"{done.n_unnamed} further records are lost: superseded ones, or of runs whose names are lost too")
    raise typer.Exit(0 if done.is_complete else 1)


@app.command("export")
def export(
    out: Annotated[Path, typer.Argument(help="The file to write, like home.zip.")],
    checkpoints: Annotated[
        bool, typer.Option("--checkpoints", help="Also checkpoints, to resume runs or to use their models elsewhere.")
    ] = False,
    records_only: Annotated[
        bool, typer.Option("--records-only", help="Records and events alone, without the files of runs.")
    ] = False,
    home: Home = HOME,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Write the records of a home, and the files of its runs, into one file.

    Ends with 1 where something is left out: a damaged record, a link, a file that no run makes.

    Examples: fairground store export home.zip · fairground store export results.zip --records-only
    """
    from fairground.errors import require
    from fairground.records.store_transfer import export_home

    require(not (checkpoints and records_only), "--records-only leaves checkpoints out: say one of the two")
    with counted("writing files", is_quiet=quiet or as_json) as tell:
        done = export_home(
            home, out, checkpoints=checkpoints, files=not records_only, progress=lambda at, of: tell("", at, of)
        )
    words = f"wrote {out}: {done.records} records, {done.events} events, {done.files} files"
    _print_transfer(done, f"{words} ({_megabytes(done.bytes)})", as_json=as_json)


@app.command("import")
def import_(
    source: Annotated[Path, typer.Argument(help="A file that `fairground store export` wrote.")],
    trust_code: Annotated[
        bool, typer.Option("--trust-code", help="Also take runs and studies that use classes from outside fairground.")
    ] = False,
    home: Home = HOME,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Merge an exported file into a home: for moving a home, or for joining those of several machines.

    Every member is checked before anything is written. A run that both have with the same digits is there once; one
    with other digits is noted as a disagreement and kept in the history. An export whose runs or studies name a class
    from outside fairground is refused, because using them runs its code. Ends with 1 where a file is left out.

    Example: fairground store import other_machine.zip
    """
    from fairground.records.store_transfer import import_home

    with counted("reading files", is_quiet=quiet or as_json) as tell:
        done = import_home(source, home, lambda at, of: tell("", at, of), trust_code=trust_code)
    words = f"{done.records} records new, {done.repeated} known already, {done.history} kept in the history"
    _print_transfer(done, f"{words}; {done.events} events, {done.files} files", as_json=as_json)


def _print_transfer(done: "Transfer", words: str, *, as_json: bool) -> None:
    print(json.dumps(done.plain()) if as_json else words)
    if not as_json:
        _list("left out", done.left_out)
    raise typer.Exit(1 if done.left_out else 0)


def _list(what: str, names: Sequence[str]) -> None:
    if names:
        print(f"{what}: {len(names)}")
        for name in names[:_SHOWN]:
            print(f"  {name}")
        if len(names) > _SHOWN:
            print(f"  and {len(names) - _SHOWN} more; --json names all")


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB"
