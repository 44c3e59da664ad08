"""`fairground compare`: whether A is better than B, and whether the two may be compared at all."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from fairground.cli.options import HOME, AsJson, Home

if TYPE_CHECKING:
    from fairground.records.record import RunRecord
    from fairground.records.store import Store
    from fairground.spec.space import Range


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
    from fairground.errors import InputError
    from fairground.records.store import Store
    from fairground.report.comparison import ComparisonResult

    store = Store(home)
    records = _records(store, runs or [])
    comparison = ComparisonResult.from_records(records, metric=metric, ranges=searched_ranges(records))
    is_shown = comparison.is_fair or anyway
    hints = _hints(store, records)
    if as_json:
        print(json.dumps({**comparison.plain(is_shown=is_shown), "hints": hints}))
    elif is_shown:
        print(comparison.text(hints=hints), end="")
    else:
        raise InputError(f"{comparison.refusal()}\n`--anyway` shows the table with every row marked unfair.")
    if not is_shown:
        raise typer.Exit(2)


def _records(store: "Store", words: Sequence[str]) -> "list[RunRecord]":
    """Return each run once: those named, every repeat of a method named by its hash, or all that are done.

    Left out when all are meant: trials of a search, and models that a study joined out of others.
    """
    from fairground.errors import require

    found: dict[str, RunRecord] = {}
    for word in words:
        repeats = list(store.records(method=word)) or [store.get(word)]
        found |= {record.name: record for record in repeats}
    if not words:
        done = store.records(state="done")
        found = {record.name: record for record in done if not record.is_trial and "ensemble" not in record.spec}
    is_any = any(record.state == "done" for record in found.values())
    require(is_any, f"there is no finished run to compare in {store.root}")
    return list(found.values())


def searched_ranges(records: "Iterable[RunRecord]") -> "dict[str, Range]":
    """Return the ranges that components declare, for searched runs whose records are too old to say theirs."""
    from fairground.spec.declarations import tunable_of
    from fairground.spec.run import ROOM_OF

    found: dict[str, Range] = {}
    for record in records:
        is_unsaid = record.search is not None and not record.search.ranges
        parts = ROOM_OF.items() if is_unsaid else ()
        for part, room in parts:
            settings = record.spec.get(part)
            if isinstance(settings, Mapping):
                name = str(settings["name"])
                found |= {f"{part}.{name}.{key}": span for key, span in tunable_of(room, name).items()}
    return found


def _hints(store: "Store", records: "Iterable[RunRecord]") -> list[str]:
    """Say where repeats lie unused: a run named by itself stands alone although its method was run more often."""
    named = {record.name for record in records}
    hints = []
    for method in dict.fromkeys(record.method for record in records):
        n_others = len(set(store.names(method=method, state="done")) - named)
        if n_others:
            hints.append(f"{n_others} more finished of a method in the table: name it by its hash, {method}, for all")
    return hints
