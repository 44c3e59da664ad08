"""Methods that are one method by several names: pairs whose scores agree on every seed.

Formula
    two methods coincide if |score of a - score of b| <= `WITHIN` on every seed that both have, two seeds at least
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from studies.results.page import DATA, SHORT, listed, table
from studies.results.records import ExportedRun
from studies.results.select import Table, values

#: what coincides is judged by one metric, whatever else is asked of the methods
METRIC = "map@r"
#: in shares of one: 0.05 points
WITHIN = 0.0005
#: settings of a loss that say from where on a tuple is active
MARGINS = ("margin", "beta", "negative_margin", "positive_margin", "second_margin")
NOTE = (
    "Pairs whose test MAP@R agrees to 0.05 points on every seed. The search chose margins so wide that nearly every "
    "mined tuple is active. Of active tuples, contrastive, margin and triplet loss all have the gradient of d(a, p) "
    "- d(a, n), up to a factor, which Adam takes out: they are one loss by three names, and a table that lists them "
    "lists one result three times."
)


@dataclass(frozen=True, kw_only=True)
class CoincidingPair:
    """Two methods of one data set, and the largest difference of their scores on a shared seed."""

    first: str
    second: str
    largest: float
    n_seeds: int


def coinciding(scores: Table) -> list[CoincidingPair]:
    """Return the pairs of methods that coincide, the closest first."""
    found = []
    for first, second in combinations(scores, 2):
        shared = scores[first].keys() & scores[second].keys()
        largest = max((abs(scores[first][seed] - scores[second][seed]) for seed in shared), default=1.0)
        if len(shared) > 1 and largest <= WITHIN:
            found.append(CoincidingPair(first=first, second=second, largest=largest, n_seeds=len(shared)))
    return sorted(found, key=lambda pair: (pair.largest, pair.first, pair.second))


def coinciding_table(runs: Mapping[str, Sequence[ExportedRun]]) -> str:
    """Return the pairs of every data set with their margins, and what makes them one; nothing where there are none."""
    rows = []
    for data, some in runs.items():
        margins = {run.method: _margins(run) for run in some}
        for pair in coinciding(values(some, METRIC)):
            named = [f"{name} ({margins[name]})" for name in (pair.first, pair.second)]
            rows.append([DATA[data], *named, f"{100 * pair.largest:.3f}", str(pair.n_seeds)])
    header = ["data", "method", "and", "largest difference on a seed, points", "seeds"]
    return f"{table(header, rows, n_text=3)}\n\n{NOTE}" if rows else ""


def coinciding_sentence(runs: Mapping[str, Sequence[ExportedRun]]) -> str:
    """Return which methods are one by several names, and where; nothing if there are none."""
    places: dict[str, list[str]] = {}
    for data, some in runs.items():
        for group in _groups(coinciding(values(some, METRIC))):
            places.setdefault(listed(sorted(group)), []).append(SHORT[data])
    return "".join(f" {names} end as one loss ({listed(sets)})." for names, sets in places.items())


def doubled(scores: Table) -> set[str]:
    """Return the methods that coincide with another one, which stands for them: the first by name."""
    return {name for group in _groups(coinciding(scores)) for name in sorted(group)[1:]}


def distinct_values(runs: Sequence[ExportedRun], metric: str) -> Table:
    """Return one metric by method and seed, with one row of every group of methods that coincide in MAP@R."""
    left_out = doubled(values(runs, METRIC))
    return {name: row for name, row in values(runs, metric).items() if name not in left_out}


def _groups(pairs: Sequence[CoincidingPair]) -> list[set[str]]:
    """Return the methods that pairs join, directly or through others."""
    found: list[set[str]] = []
    for pair in pairs:
        both = {pair.first, pair.second}
        touched = [group for group in found if group & both]
        found = [group for group in found if not group & both] + [both.union(*touched)]
    return found


def _margins(run: ExportedRun) -> str:
    said = {name: run.settings.get(f"loss.{name}") for name in MARGINS}
    return ", ".join(f"{name} {value:.3g}" for name, value in said.items() if isinstance(value, float))
