"""What papers claim for their own methods and report for the two classic losses: claims, not measurements.

There are two sources: the tables of MLRC's supplementary page (what papers report for the contrastive and the triplet
loss), and Roth's table 3 (what methods' own publications print on SOP). `tables/claims.csv` has the publication and
year of each row of the latter.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from statistics import fmean

from fairground.papers.published import PublishedRow, published_rows, published_years, read_csv

#: the losses that papers compare themselves with
CLASSICS = ("contrastive", "triplet")
_FIRST = ("recall@1", "precision@1")


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A Precision@1 in per cent that papers print: for a method of their own, or the mean over papers of a classic."""

    label: str
    year: int
    value: float
    n_papers: int


@dataclass(frozen=True, kw_only=True)
class ClaimedGain:
    """By how much, in per cent, papers say that their own method beats a classic loss: the mean over papers."""

    value: float
    n_papers: int


def claims_on(dataset: str) -> list[Claim]:
    """Return what papers claim on a data set, oldest first; a classic's label ends in *, as in MLRC's figure 2."""
    found = [
        Claim(
            label=f"{loss}*",
            year=published_years()[loss],
            value=fmean(reported.values()),
            n_papers=len(reported),
        )
        for loss in CLASSICS
        if (reported := _reported(loss, dataset))
    ]
    own = [
        Claim(label=row.row, year=year, value=row.right_value, n_papers=1)
        for row, (_, year) in _own_rows(dataset).items()
    ]
    return sorted([*found, *own], key=lambda claim: (claim.year, claim.label))


def claimed_gain(over: str, dataset: str) -> ClaimedGain | None:
    """Return what papers claim to gain over a classic loss, of those whose own number and baseline are both held."""
    reported = _reported(over, dataset)
    gains = [
        100 * (row.right_value - reported[publication]) / reported[publication]
        for row, (publication, _) in _own_rows(dataset).items()
        if publication in reported
    ]
    return ClaimedGain(value=fmean(gains), n_papers=len(gains)) if gains else None


def _reported(loss: str, dataset: str) -> dict[str, float]:
    """Return what papers report for a classic loss, by publication."""
    rows = published_rows(f"mlrc2020/reported-{loss}")
    return {row.row: row.right_value for row in rows if row.dataset == dataset and row.metric in _FIRST}


def _own_rows(dataset: str) -> dict[PublishedRow, tuple[str, int]]:
    sources = _sources()
    return {
        row: sources[row.table_name, row.row]
        for row in published_rows()
        if row.dataset == dataset and row.metric in _FIRST and (row.table_name, row.row) in sources
    }


@cache
def _sources() -> Mapping[tuple[str, str], tuple[str, int]]:
    """Return the publication and year a quoted row comes from, by table and row."""
    return {
        (f"{line['paper']}/{line['table']}", line["row"]): (line["publication"], int(line["year"]))
        for line in read_csv("claims")
    }
