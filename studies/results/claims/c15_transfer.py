"""C15: whether the ranking of losses carries over from one data set to another, and from heads to fine-tuning."""

from collections.abc import Sequence
from itertools import combinations
from statistics import fmean

from studies.results.arithmetic import Correlation, rank_correlation, spearman
from studies.results.claims.c17_finetuning import FEATURES_OF
from studies.results.figures import Dot, dot_rows
from studies.results.page import DATA, SHORT, Answer, Page, Picture, Section, points, table, verdict_of
from studies.results.records import ExportedRun
from studies.results.select import Table, columns, finals_by_data, means, values

METRIC = "map@r"
#: a correlation that a cheap study would have to have
BOUND = 0.5
#: fewer methods have no order to speak of
LEAST_METHODS = 5
Pair = tuple[str, str]


def page(runs: Sequence[ExportedRun], tuned: Sequence[ExportedRun] = ()) -> Page | None:
    """Return the page of two data sets or more, of the runs of C1 and of the fine-tuned ones of C17."""
    found = {data: values(some, METRIC) for data, some in finals_by_data([*runs, *tuned], DATA).items()}
    found = {data: one for data, one in found.items() if len(one) >= LEAST_METHODS}
    ranked = {data: means(one) for data, one in found.items()}
    correlations = {pair: rank_correlation(*columns(ranked[pair[0]], ranked[pair[1]])) for pair in _pairs(ranked)}
    if not correlations:
        return None
    used = [run for run in [*runs, *tuned] if run.data in ranked]
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
        short=_short(correlations),
        headline=_short(correlations),
        answers=[_answer(pair, one) for pair, one in correlations.items()],
        sections=[
            Section(heading="How sure each ranking is of itself", text=_reliability(found)),
            Section(heading="What the winner of one set costs on another", text=_regret(ranked)),
        ],
        pictures=[
            Picture(
                name="c15_transfer",
                caption=(
                    "Rank correlation of the methods' mean test MAP@R between two data sets, with its 95 % interval; "
                    "the dashed line is the 0.5 that a cheap study would have to pass."
                ),
                draw=dot_rows(
                    {"pairs of data sets": _dots(correlations)}, {"pairs of data sets": BOUND}, "correlation"
                ),
                size=(6.4, 1.2 + 0.28 * len(correlations)),
            )
        ],
        limits=[
            "What seeds alone do to an order is in the table of each ranking with itself; other classes of the same "
            "kind are not tried.",
            "Each data set has searches of its own, so that an order is in part that of the searches (C14, C16).",
            _kinds(ranked),
        ],
        studies=sorted({run.study for run in used}),
        runs=used,
    )


def _pairs(ranked: dict[str, dict[str, float]]) -> list[Pair]:
    """Return pairs of sets trained alike, and each fine-tuned set with the heads on the same pictures."""
    tuned = [data for data in ranked if data in FEATURES_OF]
    others = [data for data in ranked if data not in FEATURES_OF]
    across = [(FEATURES_OF[data], data) for data in tuned if FEATURES_OF[data] in others]
    return [*combinations(others, 2), *across, *combinations(tuned, 2)]


def _name(pair: Pair) -> str:
    if FEATURES_OF.get(pair[1]) == pair[0]:
        return f"{SHORT[pair[0]]}, heads and fine-tuning"
    return f"{SHORT[pair[0]]} and {SHORT[pair[1]]}"


def _answer(pair: Pair, one: Correlation) -> Answer:
    verdict = verdict_of(holds=one.low > BOUND, fails=one.high < BOUND)
    return Answer(data=_name(pair), verdict=verdict, sentence=f"Rank correlation {one}.")


def _short(correlations: dict[Pair, Correlation]) -> str:
    between = [one.value for pair, one in correlations.items() if FEATURES_OF.get(pair[1]) != pair[0]]
    across = {pair: one for pair, one in correlations.items() if FEATURES_OF.get(pair[1]) == pair[0]}
    parts = []
    if len(between) == 1:
        pair, one = next(iter(correlations.items()))
        parts.append(f"Rank correlation of methods between {_name(pair)}: {one.value:+.2f}")
    elif between:
        parts.append(
            f"Rank correlation of methods between {len(between)} pairs of data sets: {min(between):+.2f} to "
            f"{max(between):+.2f}, on average {fmean(between):+.2f}"
        )
    if across:
        told = ", ".join(f"{SHORT[pair[0]]} {one.value:+.2f}" for pair, one in across.items())
        parts.append(f"between heads on frozen features and fine-tuning of the same pictures: {told}")
    return "; ".join(parts) + "."


def _reliability(found: dict[str, Table]) -> str:
    """Return the correlation of the order by every second seed with that by the others: what noise alone leaves."""
    rows = []
    for data, one in found.items():
        seeds = sorted(set.intersection(*(set(row) for row in one.values())))
        halves = [
            {method: fmean(row[seed] for seed in some) for method, row in one.items()}
            for some in (seeds[::2], seeds[1::2])
            if some
        ]
        same = f"{spearman(*columns(halves[0], halves[1])):+.2f}" if len(halves) == 2 else ""
        rows.append([DATA[data], str(len(one)), str(len(seeds)), same])
    note = (
        "The order by every second seed against the order by the others: with half of the seeds each, so a lower bound."
    )
    header = ["data", "methods", "seeds", "rank correlation of a set with itself"]
    return f"{table(header, rows)}\n\n{note}"


def _regret(ranked: dict[str, dict[str, float]]) -> str:
    rows = []
    for source, ours in ranked.items():
        winner = next(iter(ours))
        cells = []
        for target, theirs in ranked.items():
            place = list(theirs).index(winner) + 1 if winner in theirs else 0
            lost = f"{points(max(theirs.values()) - theirs[winner])} ({place} of {len(theirs)})" if place else ""
            cells.append("" if target == source else lost)
        rows.append([f"{SHORT[source]}: {winner}", *cells])
    note = "Points of MAP@R behind the best method there, and its place; empty where it was not tried."
    return f"{table(['winner of', *(f'on {SHORT[data]}' for data in ranked)], rows)}\n\n{note}"


def _kinds(ranked: dict[str, dict[str, float]]) -> str:
    """Return the kinds of training that were compared, of those there are."""
    kinds = ["a linear head on features"]
    kinds += ["a small network from scratch on icons"] if "icons" in ranked else []
    kinds += ["EfficientNet-Lite0 fine-tuned at 96 pixels"] if any(data in FEATURES_OF for data in ranked) else []
    return f"Kinds of training compared: {', '.join(kinds)}."


def _dots(correlations: dict[Pair, Correlation]) -> list[Dot]:
    ordered = sorted(correlations.items(), key=lambda item: -item[1].value)
    return [(_name(pair), one.value, one.low, one.high, []) for pair, one in ordered]
