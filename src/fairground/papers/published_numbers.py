"""The numbers two papers printed, read from `papers/tables/*.csv`, each with its spread and what that means.

A value is kept as printed, `corrected` is right. A method has our name, `loss@preset`; a setting is a run's override.
Claims of papers for their own methods are from MLRC's supplementary page (what papers report for the contrastive and
the triplet loss) and Roth's table 3 (what methods' own publications print on SOP), years from `tables/claims.csv`.
"""

import csv
import re
from collections.abc import Mapping
from functools import cache
from importlib import resources
from statistics import fmean
from typing import Any, Literal, NamedTuple

from fairground.comparison import Interval
from fairground.spec import declared_metric, nearest, require

SelectedOn = Literal["test", "validation", "nothing"]
_FIRST = ("recall@1", "precision@1")
#: the losses that papers compare themselves with
CLASSICS = ("contrastive", "triplet")


class Spread(NamedTuple):
    """What the number after ± is, and over how many runs; `n` is None where the paper does not say."""

    kind: Literal["population deviation", "t half-width"]
    n: int | None


#: every meaning a spread may have, as the CSV names it
SPREADS: Mapping[str, Spread] = {
    "population standard deviation over 5 seeds": Spread("population deviation", 5),
    "population standard deviation, number of seeds not printed": Spread("population deviation", None),
    "95 % Student-t half-width over 10 runs": Spread("t half-width", 10),
}


class PublishedTable(NamedTuple):
    """One table of one paper, and the studies that make its numbers; `reason` says why some rows have none."""

    paper: str
    table: str
    title: str
    selected_on: SelectedOn
    studies: tuple[str, ...] = ()
    reason: str = ""

    @property
    def name(self) -> str:
        return f"{self.paper}/{self.table}"


class PublishedRow(NamedTuple):
    """One printed number, what it measures, and what is known against it. Empty text means not given."""

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
        return f"{self.paper}/{self.table}"

    @property
    def loss(self) -> str:
        return self.method.partition("@")[0]

    @property
    def preset(self) -> str:
        return self.method.partition("@")[2]

    @property
    def protocol(self) -> str:
        return f"{self.paper}-{self.dataset}" if self.dataset else ""

    @property
    def right_value(self) -> float:
        return self.value if self.corrected is None else self.corrected

    @property
    def title(self) -> str:
        declared = declared_metric(self.metric)
        return self.metric if declared is None else declared.title

    @property
    def unit(self) -> Literal["percent", "epoch", "setting"]:
        """Per cent for metrics; epochs and hyperparameters are plain numbers."""
        if self.metric == "best_epoch":
            return "epoch"
        return "setting" if "." in self.metric else "percent"

    @property
    def scale(self) -> float:
        """The unit of the row over ours: scores are printed in per cent."""
        return 100.0 if self.unit == "percent" else 1.0


def printed_elsewhere(row: PublishedRow) -> list[PublishedRow]:
    """Return the other numbers that a paper prints for the runs of a row, which contradict it (E64), one per value."""
    if "E64" not in row.errata:
        return []
    found = published_rows(row.paper, dataset=row.dataset, method=row.method, metric=row.metric)
    return list({one.value: one for one in found if "E64" in one.errata and one.value != row.value}.values())


@cache
def published_papers() -> Mapping[str, str]:
    return {line["paper"]: line["citation"] for line in read_csv("papers")}


@cache
def published_errata() -> Mapping[str, str]:
    return {line["erratum"]: line["about"] for line in read_csv("errata")}


@cache
def published_years() -> Mapping[str, int]:
    """Return the year MLRC gives each loss in its table 7, by our name of the loss; its figure 2 is drawn by these."""
    return {line["method"]: int(line["year"]) for line in read_csv("years")}


@cache
def published_tables() -> tuple[PublishedTable, ...]:
    lines: list[dict[str, Any]] = [{**line, "studies": tuple(line["studies"].split())} for line in read_csv("tables")]
    return tuple(PublishedTable(**line) for line in lines)


def published_rows(
    name: str | None = None, *, dataset: str | None = None, method: str | None = None, metric: str | None = None
) -> tuple[PublishedRow, ...]:
    """Return the numbers of a table (`roth2020/table2`), a paper (`roth2020`) or both papers, narrowed down.

    `method` is a loss or a loss with its preset (`margin@roth-beta12-cub200`). Precision@1 and recall@1 are one number.
    """
    rows = _all_rows()
    if name is not None:
        known, chosen = [*(table.name for table in published_tables()), *published_papers()], name.strip().lower()
        hint = f"{nearest(chosen, known)} `fairground published` lists them."
        require(chosen in known, f"no published table '{name}'.{hint}")
        rows = tuple(row for row in rows if chosen in (row.table_name, row.paper))
    for what, given, names_of in (
        ("data set", dataset, lambda row: (row.dataset,)),
        ("method", method, lambda row: (row.loss, row.method)),
        ("metric", metric and _plain_metric(metric), lambda row: (_plain_metric(row.metric),)),
    ):
        if given is not None:
            there = list(dict.fromkeys(name for row in rows for name in names_of(row) if name))
            folded = {re.sub(r"[\W_]", "", name).lower(): name for name in there}
            match = given if given in there else folded.get(re.sub(r"[\W_]", "", given).lower())
            shown = ", ".join(name for name in there if "@roth" not in name and "@mlrc" not in name)
            require(match is not None, f"no {what} '{given}' here.{nearest(given, there)} There are: {shown}.")
            rows = tuple(row for row in rows if match in names_of(row))
    return rows


def _plain_metric(word: str) -> str:
    """Return one name for what people write: `R@1`, `P@1`, `precision@1` and `recall_at_1` are `recall@1`."""
    plain = word if (found := declared_metric(word)) is None else found.word
    return "recall@1" if plain == "precision@1" else plain


@cache
def _all_rows() -> tuple[PublishedRow, ...]:
    rows = []
    for line in (line for paper in published_papers() for line in read_csv(paper)):
        cells: dict[str, Any] = dict(line)
        dimension, erratum = cells.pop("embedding_dim"), cells.pop("erratum")
        for column in ("value", "corrected", "spread"):
            cells[column] = float(line[column]) if line[column] else None
        rows.append(
            PublishedRow(
                **cells,
                embedding_dim=int(dimension) if dimension else None,
                errata=tuple(erratum.split()),
                printed=line["value"] + (f" ± {line['spread']}" if line["spread"] else ""),
            )
        )
    return tuple(rows)


def read_csv(file: str) -> list[dict[str, str]]:
    text = resources.files("fairground").joinpath("papers", "tables", f"{file}.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines(), strict=True))


class Claim(NamedTuple):
    """A Precision@1 in per cent that papers print: for a method of their own, or the mean over papers of a classic."""

    label: str
    year: int
    value: float
    n_papers: int


def claims_on(dataset: str) -> list[Claim]:
    """Return what papers claim on a data set, oldest first; a classic's label ends in *, as in MLRC's figure 2."""
    found = [
        Claim(f"{loss}*", published_years()[loss], fmean(reported.values()), len(reported))
        for loss in CLASSICS
        if (reported := _reported(loss, dataset))
    ]
    own = [Claim(row.row, year, row.right_value, 1) for row, (_, year) in _own_rows(dataset).items()]
    return sorted([*found, *own], key=lambda claim: (claim.year, claim.label))


def claimed_gain(over: str, dataset: str) -> Interval | None:
    """Return the mean gain over a classic loss, in per cent, of papers that print their own number and the baseline."""
    reported = _reported(over, dataset)
    gains = [
        100 * (row.right_value - reported[publication]) / reported[publication]
        for row, (publication, _) in _own_rows(dataset).items()
        if publication in reported
    ]
    return Interval(mean=fmean(gains), low=None, high=None, n=len(gains)) if gains else None


def _reported(loss: str, dataset: str) -> dict[str, float]:
    rows = published_rows(f"mlrc2020/reported-{loss}")
    return {row.row: row.right_value for row in rows if row.dataset == dataset and row.metric in _FIRST}


def _own_rows(dataset: str) -> dict[PublishedRow, tuple[str, int]]:
    sources = {
        (f"{line['paper']}/{line['table']}", line["row"]): (line["publication"], int(line["year"]))
        for line in read_csv("claims")
    }
    return {
        row: sources[row.table_name, row.row]
        for row in published_rows()
        if row.dataset == dataset and row.metric in _FIRST and (row.table_name, row.row) in sources
    }
