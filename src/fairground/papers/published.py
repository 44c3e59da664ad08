"""The numbers two papers printed, read from `published/*.csv` and checked, each with its spread and what that means.

A value is kept as printed; where an erratum corrects it, `corrected` holds the right one. A method is our own word for
it, `loss` or `loss@preset`, so that it can be trained by that name; a setting is written as a run's override.
"""

import csv
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Literal, get_args

from fairground.errors import StoreError, require
from fairground.spec.catalogue import nearest

SelectedOn = Literal["test", "validation", "nothing"]
Unit = Literal["percent", "epoch", "setting"]


@dataclass(frozen=True, kw_only=True)
class Spread:
    """What the number after ± is, and over how many runs; `n` is None where the paper does not say."""

    kind: Literal["population deviation", "t half-width"]
    n: int | None


#: every meaning a spread may have, by the words the CSV uses
SPREADS: Mapping[str, Spread] = {
    "population standard deviation over 5 seeds": Spread(kind="population deviation", n=5),
    "population standard deviation, number of seeds not printed": Spread(kind="population deviation", n=None),
    "95 % Student-t half-width over 10 runs": Spread(kind="t half-width", n=10),
}


@dataclass(frozen=True, kw_only=True)
class PublishedTable:
    """One table of one paper, what its runs were selected on, and the studies that make its numbers.

    `reason` says why the rows that no study makes have none.
    """

    paper: str
    table: str
    title: str
    selected_on: SelectedOn
    studies: tuple[str, ...] = ()
    reason: str = ""

    @property
    def name(self) -> str:
        """What the table is called: `roth2020/table2`."""
        return f"{self.paper}/{self.table}"


@dataclass(frozen=True, kw_only=True)
class PublishedRow:
    """One printed number: whose, of what, and what is known against it. Empty text means not said."""

    paper: str
    table: str
    row: str
    method: str
    dataset: str
    network: str
    embedding_dim: int | None
    metric: str
    value: float
    corrected: float | None
    spread: float | None
    spread_meaning: str
    setting: str
    errata: tuple[str, ...]
    note: str
    printed: str

    @property
    def table_name(self) -> str:
        """The table it stands in: `roth2020/table2`."""
        return f"{self.paper}/{self.table}"

    @property
    def loss(self) -> str:
        """The loss of the method, without the preset."""
        return self.method.partition("@")[0]

    @property
    def preset(self) -> str:
        """The preset of the method, without the loss."""
        return self.method.partition("@")[2]

    @property
    def protocol(self) -> str:
        """The protocol a run must follow to be held against this number."""
        return f"{self.paper}-{self.dataset}" if self.dataset else ""

    @property
    def right_value(self) -> float:
        """The corrected value where there is one, otherwise the printed one."""
        return self.value if self.corrected is None else self.corrected

    @property
    def unit(self) -> Unit:
        """Per cent for metrics; epochs and hyperparameters are plain numbers."""
        if self.metric == "best_epoch":
            return "epoch"
        return "setting" if "." in self.metric else "percent"


@cache
def published_papers() -> Mapping[str, str]:
    """Return the papers by name, each with where it appeared."""
    return {line["paper"]: line["citation"] for line in _read("papers")}


@cache
def published_errata() -> Mapping[str, str]:
    """Return the errata that bear on a printed number, each with one sentence."""
    return {line["erratum"]: line["about"] for line in _read("errata")}


@cache
def published_years() -> Mapping[str, int]:
    """Return the year MLRC gives each loss in its table 7, by our word for the loss; its figure 2 is drawn by these."""
    found: dict[str, int] = {}
    for number, line in enumerate(_read("years"), start=2):
        where = f"published/years.csv, line {number}"
        require(line["paper"] in published_papers(), f"{where}: no paper '{line['paper']}'", StoreError)
        require(line["year"].isdecimal(), f"{where}: '{line['year']}' is no year", StoreError)
        year = int(line["year"])
        same = found.setdefault(line["method"], year) == year
        require(same, f"{where}: {line['method']} has two years", StoreError)
    return found


@cache
def published_tables() -> tuple[PublishedTable, ...]:
    """Return every table in the papers' order."""
    found = []
    for line in _read("tables"):
        chosen = next((word for word in get_args(SelectedOn) if word == line["selected_on"]), None)
        require(chosen is not None, f"published/tables.csv: no selection '{line['selected_on']}'", StoreError)
        assert chosen is not None
        found.append(
            PublishedTable(
                **{key: line[key] for key in ("paper", "table", "title", "reason")},
                selected_on=chosen,
                studies=tuple(line["studies"].split()),
            )
        )
    return tuple(found)


def published_rows(
    name: str | None = None, *, dataset: str | None = None, method: str | None = None, metric: str | None = None
) -> tuple[PublishedRow, ...]:
    """Return the numbers of a table (`roth2020/table2`), a paper (`roth2020`) or both papers, narrowed down.

    `method` is a loss (`margin`) or a loss with its preset (`margin@roth-beta12-cub200`). Precision@1 and recall@1 are
    the same number and found by either name. A word that nothing is called is refused with the nearest right one.
    """
    rows = _all_rows() if name is None else _named(name)
    if dataset is not None:
        chosen = _choose("data set", dataset, [row.dataset for row in rows])
        rows = tuple(row for row in rows if row.dataset == chosen)
    if method is not None:
        known = [word for row in rows for word in (row.loss, row.method)]
        chosen = _choose("method", method, known)
        rows = tuple(row for row in rows if chosen in (row.loss, row.method))
    if metric is not None:
        chosen = _choose("metric", _plain_metric(metric), [_plain_metric(row.metric) for row in rows], given=metric)
        rows = tuple(row for row in rows if _plain_metric(row.metric) == chosen)
    return rows


def _named(name: str) -> tuple[PublishedRow, ...]:
    tables = [table.name for table in published_tables()]
    folded = name.strip().lower()
    require(
        folded in tables or folded in published_papers(),
        f"no published table '{name}'.{nearest(folded, [*tables, *published_papers()])} "
        "`fairground published` lists them.",
    )
    return tuple(row for row in _all_rows() if folded in (row.table_name, row.paper))


def _choose(what: str, word: str, known: Iterable[str], *, given: str | None = None) -> str:
    there = list(dict.fromkeys(name for name in known if name))
    folded = {re.sub(r"[\W_]", "", name).lower(): name for name in there}
    match = word if word in there else folded.get(re.sub(r"[\W_]", "", word).lower())
    shown = [name for name in there if "@roth" not in name and "@mlrc" not in name]
    require(
        match is not None,
        f"no {what} '{given or word}' here.{nearest(word, there)} There are: {', '.join(shown)}.",
    )
    return str(match)


def _plain_metric(word: str) -> str:
    """Return one spelling for what people write: `R@1`, `P@1`, `precision@1` and `recall_at_1` are `recall@1`."""
    plain = re.sub(r"_?(?:@|at)_?(?=[\drc])", "@", re.sub(r"[\s-]+", "_", word.strip().lower()))
    plain = re.sub(r"^r@(?=\d)", "recall@", plain)
    return {"p@1": "recall@1", "precision@1": "recall@1", "rp": "r_precision"}.get(plain, plain)


@cache
def _all_rows() -> tuple[PublishedRow, ...]:
    return tuple(_row(paper, number, line) for paper in published_papers() for number, line in _numbered(paper))


def _numbered(paper: str) -> Iterable[tuple[int, dict[str, str]]]:
    # Line 1 of the file is its heading.
    return enumerate(_read(paper), start=2)


def _row(paper: str, number: int, line: Mapping[str, str]) -> PublishedRow:
    def check(condition: bool, complaint: str) -> None:
        require(condition, f"published/{paper}.csv, line {number}: {complaint}", StoreError)

    def as_number(column: str) -> float | None:
        try:
            value = float(line[column]) if line[column] else None
        except ValueError:
            value = math.nan
        check(value is None or math.isfinite(value), f"{column} '{line[column]}' is not a number")
        return value

    value, spread, dimension = as_number("value"), as_number("spread"), as_number("embedding_dim")
    errata = tuple(line["erratum"].split())
    check(line["paper"] == paper, f"the paper is '{line['paper']}'")
    check(value is not None, "a value is missing")
    check(bool(line["row"]) and bool(line["metric"]), "the row's label or the metric is missing")
    check((spread is None) == (line["spread_meaning"] == ""), "a spread needs its meaning, and only a spread does")
    check(spread is None or (spread >= 0 and line["spread_meaning"] in SPREADS), "the spread's meaning is not known")
    check(all(erratum in published_errata() for erratum in errata), f"no erratum among '{line['erratum']}'")
    check(any((paper, line["table"]) == (t.paper, t.table) for t in published_tables()), f"no table '{line['table']}'")
    assert value is not None
    return PublishedRow(
        **{key: line[key] for key in ("paper", "table", "row", "method", "dataset", "network", "metric")},
        **{key: line[key] for key in ("spread_meaning", "setting", "note")},
        embedding_dim=None if dimension is None else int(dimension),
        value=value,
        corrected=as_number("corrected"),
        spread=spread,
        errata=errata,
        printed=line["value"] + (f" ± {line['spread']}" if line["spread"] else ""),
    )


def _read(file: str) -> list[dict[str, str]]:
    text = resources.files("fairground").joinpath("papers", "tables", f"{file}.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines(), strict=True))
