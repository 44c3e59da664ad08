"""`fairground compare`: whether A is better than B, and whether the two may be compared at all."""

import json
import shlex
from pathlib import Path
from typing import Annotated, Literal

import typer

from fairground.cli.options import HOME, AsJson, Home

HELP_ORDER = 60


def compare(
    runs: Annotated[
        list[str] | None,
        typer.Argument(
            help="Runs by name or enough of its beginning, or a method's hash for all its repeats; all but trials when "
            "left out."
        ),
    ] = None,
    data: Annotated[
        str | None, typer.Option("--data", help="Only runs on this data set, by its name in `fairground list runs`.")
    ] = None,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Show the table although it is unfair; every row says so.")
    ] = False,
    metric: Annotated[
        str | None, typer.Option("--metric", "-m", help="What to compare by (default: what the runs were selected by).")
    ] = None,
    values: Annotated[
        Path | None,
        typer.Option(
            "--values",
            help="Compare the numbers of a CSV file instead of runs: columns method, seed, value, and dataset, fold if "
            "there are any.",
        ),
    ] = None,
    lower_is_better: Annotated[
        bool, typer.Option("--lower-is-better", help="Of the numbers of --values, less is better.")
    ] = False,
    over_datasets: Annotated[
        bool, typer.Option("--over-datasets", help="Rank the methods over all data sets as well.")
    ] = False,
    generality: Annotated[
        Literal["seeds", "classes", "both"],
        typer.Option(
            "--generality",
            help="What verdicts hold for beyond these runs: other trainings (seeds), other test classes, or both.",
        ),
    ] = "seeds",
    margin: Annotated[
        float | None,
        typer.Option(
            "--margin", help="The difference that does not matter, in the unit shown (default: half a point)."
        ),
    ] = None,
    level: Annotated[float, typer.Option("--level", help="How surely the intervals of all pairs hold at once.")] = 0.95,
    home: Home = HOME,
    as_json: AsJson = False,
) -> None:
    """Compare methods fairly: one table with a verdict on every pair, or every reason why there cannot be one.

    Examples: fairground compare · fairground compare 3f2a 77c1 9b0e · fairground compare --metric recall@1 ·
    fairground compare --generality both · fairground compare --values results.csv --margin 0.3
    """
    from fairground.errors import require

    if values is not None:
        is_bare = not runs and metric is None and generality == "seeds" and data is None
        require(is_bare, "--values compares a file's numbers; leave out runs, --data, --metric and --generality")
        _compare_file(
            values, margin=margin, level=level, is_lower=lower_is_better, is_over=over_datasets, as_json=as_json
        )
        return
    require(not lower_is_better, "--lower-is-better belongs to --values; runs say which way their metrics are better")
    if over_datasets:
        is_plain = generality == "seeds" and not anyway and data is None
        require(is_plain, "--over-datasets compares fair tables over seeds; leave out --anyway, --data, --generality")
        _compare_over_datasets(runs or [], home, metric=metric, level=level, margin=margin, as_json=as_json)
        return
    from fairground.api.compare import comparison_of, names_of_data, records_to_compare
    from fairground.api.terminal import screen_width
    from fairground.errors import InputError
    from fairground.records.store import Store

    records = records_to_compare(Store(home), runs or [], data=data)
    found = comparison_of(
        records,
        homes=[home],
        metric=metric,
        level=level,
        margin=margin,
        generality=generality,
    )
    is_shown = found.is_fair or anyway
    if as_json:
        print(json.dumps(found.to_dict(is_shown=is_shown)))
    elif is_shown:
        print(found.result.text(hints=found.hints, width=screen_width()), end="")
    else:
        names = names_of_data(records)
        one = f"`--data {shlex.quote(names[0])}` takes the runs on one data set; there are {', '.join(names)}.\n"
        hint = f"{one if len(names) > 1 else ''}`--anyway` shows the table with every row marked unfair."
        raise InputError(f"{found.refusal()}\n{hint}")
    if not is_shown:
        raise typer.Exit(2)


def _compare_over_datasets(
    runs: list[str], home: Path, *, metric: str | None, level: float, margin: float | None, as_json: bool
) -> None:
    from fairground.api.compare import compare_over_datasets

    found = compare_over_datasets(*runs, metric=metric, level=level, margin=margin, home=home, quiet=True)
    print(json.dumps(found.to_dict()) if as_json else found, end="\n" if as_json else "")


def _compare_file(
    path: Path, *, margin: float | None, level: float, is_lower: bool, is_over: bool, as_json: bool
) -> None:
    from fairground.comparison.compare_values import compare_values
    from fairground.comparison.over_datasets import over_datasets
    from fairground.reporting import values_file

    read = values_file.read_values(path)
    found = {
        dataset: compare_values(values, level=level, margin=margin, higher_is_better=not is_lower)
        for dataset, values in read.items()
    }
    over = over_datasets(read, level=level, margin=margin, higher_is_better=not is_lower) if is_over else None
    if as_json:
        plain = [{"dataset": name or None, **values_file.comparison_plain(one)} for name, one in found.items()]
        aggregated = None if over is None else values_file.over_plain(over)
        # One data set is the usual case: its pairs are at hand without asking for a data set.
        print(json.dumps(plain[0] if len(plain) == 1 else {"datasets": plain, "over_datasets": aggregated}))
        return
    parts = [values_file.comparison_text(one, dataset=name) for name, one in found.items()]
    print("\n".join([*parts, *([] if over is None else [values_file.over_text(over)])]), end="")
