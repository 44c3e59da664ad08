"""`fairground compare`: whether A is better than B, and whether the two may be compared at all."""

import json
from typing import Annotated

import typer

from fairground.cli.options import HOME, AsJson, Home


def compare(
    runs: Annotated[
        list[str] | None,
        typer.Argument(
            help="Runs by name or enough of its beginning, or a method's hash for all its repeats; all but trials when "
            "left out."
        ),
    ] = None,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Show the table although it is unfair; every row says so.")
    ] = False,
    metric: Annotated[
        str | None, typer.Option("--metric", "-m", help="What to compare by (default: what the runs were selected by).")
    ] = None,
    home: Home = HOME,
    as_json: AsJson = False,
) -> None:
    """Compare methods fairly: one table with paired verdicts, or every reason why there cannot be one.

    Examples: fairground compare · fairground compare 3f2a 77c1 9b0e · fairground compare --metric recall@1
    """
    from fairground.api.compare import comparison_of, records_to_compare
    from fairground.errors import InputError
    from fairground.records.store import Store

    found = comparison_of(records_to_compare(Store(home), runs or []), homes=[home], metric=metric)
    is_shown = found.is_fair or anyway
    if as_json:
        print(json.dumps(found.to_dict(is_shown=is_shown)))
    elif is_shown:
        print(found, end="")
    else:
        raise InputError(f"{found.refusal()}\n`--anyway` shows the table with every row marked unfair.")
    if not is_shown:
        raise typer.Exit(2)
