"""`fairground published`: the numbers of the papers, with their spread, its meaning, and errata."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated

from fairground import papers, records
from fairground.commands import HOME, Answer, Home, Verbatim, aligned
from fairground.papers import PublishedRow, PublishedTable

_SELECTION = {
    "test": "SELECTED ON THE TEST SET: optimistic numbers, which a run with a sealed test set need not reach.",
    "validation": "Selected on validation classes.",
    "nothing": "Nothing was selected.",
}


def published(
    table: Annotated[
        str | None, "[TABLE]", "A table (roth2020/table2) or a paper (mlrc2020) (default: list all)."
    ] = None,
    dataset: Annotated[str | None, "-d", "cub200, cars196 or sop"] = None,
    metric: Annotated[str | None, "-m", "recall@1, map@r, nmi, ..."] = None,
    method: Annotated[str | None, "A loss (margin) or a loss with its preset (margin@mlrc-cub200)."] = None,
    coverage: Annotated[bool, "List the study, the command and the cost of each number."] = False,
    compare: Annotated[bool, "Compare our own runs with each number."] = False,
    home: Home = HOME,
) -> Answer:
    """Show the numbers printed in the two papers, as printed, with their spread and errata.

    Examples: fairground published · fairground published roth2020/table2 --dataset cub200 --metric recall@1 ·
    fairground published --method margin --metric map@r --compare · fairground published --coverage
    """
    rows = papers.published_rows(table, dataset=dataset, method=method, metric=metric)
    if coverage:
        found = papers.coverage_of(rows)
        return Answer(found, [Verbatim(papers.coverage_table(found))])
    names = {row.table_name for row in rows}
    tables = [one for one in papers.published_tables() if one.name in names]
    if not any((dataset, metric, method, compare)) and (table is None or "/" not in table):
        return _list_tables(tables, rows)
    verdicts = _verdicts(rows, home) if compare else []
    lines = [line for one in tables for line in _table(one, [row for row in rows if row.table_name == one.name])]
    lines += [f"{verdict['runs']}: {verdict['sentence']}" for verdict in verdicts]
    on = {one.name: one.selected_on for one in tables}
    more = ({"unit": row.unit, "protocol": row.protocol, "selected_on": on[row.table_name]} for row in rows)
    plain = [row._asdict() | found for row, found in zip(rows, more, strict=True)]
    return Answer({"rows": plain, "errata": _errata(rows), "comparisons": verdicts}, lines)


def _list_tables(tables: Sequence[PublishedTable], rows: Sequence[PublishedRow]) -> Answer:
    counts = {one.name: sum(row.table_name == one.name for row in rows) for one in tables}
    marks = {one.name: "  (selected on the test set)" * (one.selected_on == "test") for one in tables}
    lines: list[str] = []
    for paper, citation in papers.published_papers().items():
        mine = [one for one in tables if one.paper == paper]
        lines += [f"{paper}: {citation}"] if mine else []
        lines += aligned([[f"  {x.name}", f"{counts[x.name]:>4}", f"{x.title}{marks[x.name]}"] for x in mine])
    return Answer([one._asdict() | {"name": one.name, "numbers": counts[one.name]} for one in tables], lines)


def _errata(rows: Iterable[PublishedRow]) -> dict[str, str]:
    used = {erratum for row in rows for erratum in row.errata}
    return {erratum: about for erratum, about in papers.published_errata().items() if erratum in used}


def _table(table: PublishedTable, rows: Sequence[PublishedRow]) -> Iterator[str]:
    """Yield one line per method and data set, the metrics side by side, then spread, errata and notes."""
    yield f"{table.name}: {table.title}"
    yield _SELECTION[table.selected_on]
    metrics = list(dict.fromkeys(row.metric for row in rows))
    lines: dict[tuple[str, ...], dict[str, PublishedRow]] = {}
    notes: dict[str, dict[str, None]] = {}
    for row in rows:
        dimension = "" if row.embedding_dim is None else str(row.embedding_dim)
        place = (row.row, row.method, row.dataset, row.network, dimension, row.setting)
        lines.setdefault(place, {})[row.metric] = row
        if row.note:
            about = " ".join(part for part in (row.row, row.dataset, row.metric) if part)
            notes.setdefault(row.note, {})[about] = None
    names = ["row", "method", "data", "network", "dim", "setting"]
    cells = [
        [*place, *(_cell(found.get(metric)) for metric in metrics), " ".join(_errata(found.values()))]
        for place, found in lines.items()
    ]
    kept = [place for place, column in enumerate(zip(*cells, strict=True)) if any(column)]
    yield from aligned([[row[place] for place in kept] for row in ([*names, *metrics, "errata"], *cells)])
    for meaning in dict.fromkeys(row.spread_meaning for row in rows if row.spread_meaning):
        yield f"± {meaning}"
    for erratum, about in _errata(rows).items():
        yield f"{erratum}: {about}"
    for note, places in notes.items():
        more = f" and {len(places) - 2} more" if len(places) > 2 else ""
        yield f"note ({', '.join(list(places)[:2])}{more}): {note}"
    yield ""


def _cell(row: PublishedRow | None) -> str:
    if row is None:
        return ""
    return row.printed if row.corrected is None else f"{row.printed} (right: {row.corrected:g})"


def _verdicts(rows: Sequence[PublishedRow], home: Path) -> list[dict[str, str]]:
    found: list[dict[str, str]] = []
    groups = [(group, set(papers.rows_for(group[0]))) for group in papers.repeats_of(records.Store(home).records())]
    for row in rows:
        for group, own_rows in groups:
            if row in own_rows:
                verdict = papers.verdict_of(group, row)
                compared = {"runs": ", ".join(record.name for record in group), "row": f"{row.table_name} {row.row}"}
                found.append({**compared, "outcome": str(verdict.outcome), "sentence": verdict.sentence})
    if not found:
        asked = ", ".join(dict.fromkeys(row.protocol for row in rows if row.preset))
        none = f"no run in {home} follows {asked} with one of these losses"
        found.append({"runs": "ours", "row": "", "outcome": "not comparable", "sentence": none})
    return found
