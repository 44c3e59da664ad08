"""What papers claim for their own methods, and by how much they say to beat the classic losses; not measurements.

From MLRC's supplementary page (what papers report for the contrastive and the triplet loss) and Roth's table 3 (what
methods' own publications print on SOP), with publication and year in `tables/claims.csv`.
"""

from statistics import fmean
from typing import NamedTuple

from fairground.comparison import Interval
from fairground.papers.published_numbers import _FIRST, PublishedRow, published_rows, published_years, read_csv

#: the losses that papers compare themselves with
CLASSICS = ("contrastive", "triplet")


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
