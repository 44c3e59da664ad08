"""`fairground published`: what the papers printed, with spreads, what they mean, and what is known against them."""

import dataclasses
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairground.commands.options import HOME, AsJson, Home
from fairground.commands.terminal import print_fitted, screen_width

#: columns of a table that name a row, and which of them is the method's name in configs
_N_NAMES, _METHOD = 6, 1

if TYPE_CHECKING:
    from fairground.papers.published import PublishedRow, PublishedTable

_SELECTION = {
    "test": "SELECTED ON THE TEST SET: optimistic numbers, which a run with a sealed test set need not reach.",
    "validation": "Selected on validation classes.",
    "nothing": "Nothing was selected.",
}


def published(
    table: Annotated[
        str | None, typer.Argument(help="A table (roth2020/table2) or a paper (mlrc2020); left out, all are listed.")
    ] = None,
    dataset: Annotated[str | None, typer.Option("--dataset", "-d", help="cub200, cars196 or sop")] = None,
    metric: Annotated[str | None, typer.Option("--metric", "-m", help="recall@1, map@r, nmi, ...")] = None,
    method: Annotated[
        str | None, typer.Option("--method", help="A loss (margin) or a loss with its preset (margin@mlrc-cub200).")
    ] = None,
    coverage: Annotated[
        bool, typer.Option("--coverage", help="List the study, the command and the cost of each number.")
    ] = False,
    compare: Annotated[bool, typer.Option("--compare", help="Compare our own runs with each number.")] = False,
    home: Home = HOME,
    as_json: AsJson = False,
) -> None:
    """Show the numbers printed in the two papers, as printed, with their spread and errata.

    Examples: fairground published · fairground published roth2020/table2 --dataset cub200 --metric recall@1 ·
    fairground published --method margin --metric map@r --compare · fairground published --coverage
    """
    from fairground.papers.published import published_rows, published_tables

    rows = published_rows(table, dataset=dataset, method=method, metric=metric)
    if coverage:
        from fairground.papers.expected_runs import coverage_of, coverage_table

        lines = coverage_of(rows)
        print(json.dumps([dataclasses.asdict(line) for line in lines]) if as_json else coverage_table(lines))
        return
    names = {row.table_name for row in rows}
    tables = [found for found in published_tables() if found.name in names]
    is_list = not any((dataset, metric, method, compare)) and (table is None or "/" not in table)
    if is_list:
        _list_tables(tables, rows, as_json=as_json)
        return
    verdicts = _verdicts(rows, home) if compare else []
    if as_json:
        print(
            json.dumps(
                {"rows": [_plain(row, tables) for row in rows], "errata": _errata(rows), "comparisons": verdicts}
            )
        )
        return
    for found in tables:
        _print_table(found, [row for row in rows if row.table_name == found.name])
    for verdict in verdicts:
        print_fitted(f"{verdict['runs']}: {verdict['sentence']}")


def _list_tables(tables: Sequence["PublishedTable"], rows: Sequence["PublishedRow"], *, as_json: bool) -> None:
    from fairground.papers.published import published_papers

    counts = {found.name: sum(row.table_name == found.name for row in rows) for found in tables}
    if as_json:
        print(json.dumps([dataclasses.asdict(t) | {"name": t.name, "numbers": counts[t.name]} for t in tables]))
        return
    width = max(len(found.name) for found in tables)
    for paper, citation in published_papers().items():
        mine = [found for found in tables if found.paper == paper]
        if mine:
            print_fitted(f"{paper}: {citation}")
        for found in mine:
            mark = "  (selected on the test set)" if found.selected_on == "test" else ""
            print_fitted(f"  {found.name:<{width}}  {counts[found.name]:>4}  {found.title}{mark}", indent=width + 8)


def _plain(row: "PublishedRow", tables: Iterable["PublishedTable"]) -> dict[str, object]:
    selected_on = next(found.selected_on for found in tables if found.name == row.table_name)
    return dataclasses.asdict(row) | {"unit": row.unit, "protocol": row.protocol, "selected_on": selected_on}


def _errata(rows: Iterable["PublishedRow"]) -> dict[str, str]:
    from fairground.papers.published import published_errata

    used = {erratum for row in rows for erratum in row.errata}
    return {erratum: about for erratum, about in published_errata().items() if erratum in used}


def _print_table(table: "PublishedTable", rows: Sequence["PublishedRow"]) -> None:
    """Print one line for each method and data set, the metrics side by side, then everything a reader must know."""
    print_fitted(f"{table.name}: {table.title}")
    print_fitted(_SELECTION[table.selected_on])
    metrics = list(dict.fromkeys(row.metric for row in rows))
    lines: dict[tuple[str, ...], dict[str, PublishedRow]] = {}
    for row in rows:
        dimension = "" if row.embedding_dim is None else str(row.embedding_dim)
        place = (row.row, row.method, row.dataset, row.network, dimension, row.setting)
        lines.setdefault(place, {})[row.metric] = row
    texts = [["row", "method", "data", "network", "dim", "setting", *metrics, "errata"]]
    for key, cells in lines.items():
        errata = _errata(cells.values())
        texts.append([*key, *(_cell(cells.get(metric)) for metric in metrics), " ".join(errata)])
    _print_columns(texts)
    meanings = dict.fromkeys(row.spread_meaning for row in rows if row.spread_meaning)
    for meaning in meanings:
        print_fitted(f"± {meaning}")
    for erratum, about in _errata(rows).items():
        print_fitted(f"{erratum}: {about}")
    for note, where in _notes(rows).items():
        print_fitted(f"note ({where}): {note}")
    print()


def _cell(row: "PublishedRow | None") -> str:
    if row is None:
        return ""
    return row.printed if row.corrected is None else f"{row.printed} (right: {row.corrected:g})"


def _print_columns(texts: Sequence[Sequence[str]]) -> None:
    """Print rows of text in columns as wide as they need; a column that says nothing is left out.

    In a narrow terminal, what is the same in all rows is said once, and the numbers stand in several tables.
    """
    kept = [column for column in range(len(texts[0])) if any(text[column] for text in texts[1:])]
    widths = {column: max(len(text[column]) for text in texts) for column in kept}
    screen = screen_width()

    def fits(columns: Sequence[int]) -> bool:
        return screen is None or sum(widths[column] + 2 for column in columns) - 2 <= screen

    if not fits(kept):
        same = [column for column in kept[1:] if len({text[column] for text in texts[1:]}) == 1]
        if same:
            print_fitted(", ".join(f"{texts[0][column]} {texts[1][column]}" for column in same))
        kept = [column for column in kept if column not in same]
    # The method's name in configs repeats the name of the row.
    if not fits(kept) and _METHOD in kept:
        kept.remove(_METHOD)
    named = [column for column in kept if column < _N_NAMES]
    groups: list[list[int]] = [[*named]]
    for column in (column for column in kept if column >= _N_NAMES):
        if len(groups[-1]) > len(named) and not fits([*groups[-1], column]):
            groups.append([*named])
        groups[-1].append(column)
    for place, columns in enumerate(groups):
        if place:
            print()
        for text in texts:
            print("  ".join(f"{text[column]:<{widths[column]}}" for column in columns).rstrip())


def _notes(rows: Sequence["PublishedRow"]) -> dict[str, str]:
    """Return each note once, with the first rows it is about and how many more there are."""
    about: dict[str, list[str]] = {}
    for row in rows:
        places = about.setdefault(row.note, [])
        place = " ".join(word for word in (row.row, row.dataset, row.metric) if word)
        if place not in places:
            places.append(place)
    about.pop("", None)
    return {note: ", ".join(p[:2]) + (f" and {len(p) - 2} more" if len(p) > 2 else "") for note, p in about.items()}


def _verdicts(rows: Sequence["PublishedRow"], home: Path) -> list[dict[str, str]]:
    """Hold every set of repeats in the store against the numbers of its own loss and protocol."""
    from fairground.papers.reproduction import repeats_of, rows_for, verdict_of
    from fairground.records.store import Store

    found: list[dict[str, str]] = []
    groups = repeats_of(Store(home).records())
    kept = {group[0].name: set(rows_for(group[0])) for group in groups}
    for row in rows:
        for group in groups:
            if row in kept[group[0].name]:
                verdict = verdict_of(group, row)
                names = ", ".join(record.name for record in group)
                words = {"outcome": str(verdict.outcome), "sentence": verdict.sentence}
                found.append({"runs": names, "row": f"{row.table_name} {row.row}", **words})
    if not found:
        asked = ", ".join(dict.fromkeys(row.protocol for row in rows if row.preset))
        none = f"no run in {home} follows {asked} with one of these losses"
        found.append({"runs": "ours", "row": "", "outcome": "not comparable", "sentence": none})
    return found
