"""C15: whether the ranking of losses carries over from one data set to another."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from studies.results.arithmetic import Correlation, rank_correlation
from studies.results.figures import scatter_panels
from studies.results.page import DATA, SHORT, Answer, Page, Picture, Section, points, table, verdict_of
from studies.results.records import ExportedRun
from studies.results.select import by_data, finals, means, values

METRIC = "map@r"


def page(runs: Sequence[ExportedRun]) -> Page | None:
    """Return the page of two data sets or more."""
    found = {data: finals(some) for data, some in by_data(runs, DATA).items()}
    ranked = {data: means(values(some, METRIC)) for data, some in found.items() if some}
    pairs = list(combinations(ranked, 2))
    if not pairs:
        return None
    correlations = {pair: _correlation(ranked[pair[0]], ranked[pair[1]]) for pair in pairs}
    return Page(
        name="c15_transfer",
        title="C15. Does the ranking of losses carry over to other data?",
        question=(
            "Do losses that are better on one data set come out better on another: does a cheap study predict an "
            "expensive one?"
        ),
        source="What every recommendation of a loss rests on, `fairground recommend` and `docs/choosing.md` included.",
        fixed="written after the search had begun and before any test score was seen",
        counts=(
            "it holds for a pair of data sets if Spearman's correlation of the methods' mean test MAP@R is above "
            "0.5 by the lower "
            "end of its 95 % interval (methods resampled); it does not hold if the upper end lies below 0.5; "
            "else cannot tell."
        ),
        short="Rank correlation of methods between sets: "
        + ", ".join(f"{SHORT[a]}-{SHORT[b]} {one.value:+.2f}" for (a, b), one in correlations.items())
        + ".",
        answers=[_answer(pair, one) for pair, one in correlations.items()],
        sections=[
            Section(heading="What the winner of one set costs on another", text=_regret(ranked)),
        ],
        pictures=[
            Picture(
                name="c15_transfer",
                caption="Mean test MAP@R in per cent of every method on two data sets.",
                draw=scatter_panels(
                    {f"{a} {b}": _columns(ranked[a], ranked[b], 100) for a, b in pairs},
                    "MAP@R on the first, %",
                    "on the second, %",
                    {f"{a} {b}": f"{SHORT[a]} and {SHORT[b]}" for a, b in pairs},
                ),
                size=(3.2 * min(3, len(pairs)), 2.9 * -(-len(pairs) // 3)),
            )
        ],
        limits=[
            "Methods that lie close together change places by chance, which pulls every correlation towards 0.",
            "Two kinds of training: a linear head on features, and a small network from scratch on icons. "
            "Fine-tuning is outstanding.",
        ],
        studies=sorted({run.study for run in runs}),
        runs=runs,
    )


def _columns(x: dict[str, float], y: dict[str, float], factor: float = 1) -> tuple[list[float], list[float]]:
    shared = [method for method in x if method in y]
    return [factor * x[method] for method in shared], [factor * y[method] for method in shared]


def _correlation(x: dict[str, float], y: dict[str, float]) -> Correlation:
    left, right = _columns(x, y)
    return rank_correlation(np.array(left), np.array(right))


def _answer(pair: tuple[str, str], one: Correlation) -> Answer:
    verdict = verdict_of(holds=one.low > 0.5, fails=one.high < 0.5)
    name = f"{SHORT[pair[0]]} and {SHORT[pair[1]]}"
    return Answer(data=name, verdict=verdict, sentence=f"Rank correlation {one}.")


def _regret(ranked: dict[str, dict[str, float]]) -> str:
    rows = []
    for source, ours in ranked.items():
        winner = next(iter(ours))
        cells = []
        for target, theirs in ranked.items():
            place = list(theirs).index(winner) + 1 if winner in theirs else None
            lost = "" if place is None else f"{points(max(theirs.values()) - theirs[winner])} (place {place})"
            cells.append("" if target == source else lost)
        rows.append([f"{SHORT[source]}: {winner}", *cells])
    note = f"Points of MAP@R behind the best method there, and its place among {len(next(iter(ranked.values())))}."
    return f"{table(['winner of', *(f'on {SHORT[data]}' for data in ranked)], rows)}\n\n{note}"
