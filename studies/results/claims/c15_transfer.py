"""C15: whether the ranking of losses carries over from one data set to another."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from statistics import fmean

import numpy as np
from scipy import stats
from studies.results.arithmetic import N_DRAWS, SEED, Correlation, rank_correlation, spearman
from studies.results.claims.c17_finetuning import FEATURES_OF, published
from studies.results.coinciding import doubled
from studies.results.figures import Dot, dot_rows
from studies.results.page import (
    DATA,
    NO_PETS,
    RANKED,
    SHORT,
    Answer,
    Page,
    Picture,
    Section,
    above,
    points,
    table,
)
from studies.results.records import ExportedRun
from studies.results.select import Table, columns, finals_by_data, means, values

METRIC = "map@r"
#: a correlation that a cheap study would have to have
BOUND = 0.5
#: fewer methods have no order to speak of
LEAST_METHODS = 5
Pair = tuple[str, str]


def page(runs: Sequence[ExportedRun]) -> Page | None:
    """Return the page of two data sets or more, of the runs of C1."""
    kept = {data: some for data, some in finals_by_data(runs, RANKED).items() if data not in FEATURES_OF}
    found = distinct_everywhere({data: values(some, METRIC) for data, some in kept.items()})
    found = {data: one for data, one in found.items() if len(one) >= LEAST_METHODS}
    ranked = {data: means(one) for data, one in found.items()}
    pairs = {pair: rank_correlation(*columns(ranked[pair[0]], ranked[pair[1]])) for pair in combinations(ranked, 2)}
    if not pairs:
        return None
    mean, published_ones = mean_correlation(ranked), _published()
    used = [run for run in runs if run.data in ranked]
    return Page(
        name="c15_transfer",
        title="C15. Does the ranking of losses carry over to other data?",
        question=(
            "Do losses that are better on one data set come out better on another, and how much of what is missing is "
            "noise of the searches?"
        ),
        source="What every recommendation of a loss rests on, `fairground recommend` and `docs/choosing.md` included.",
        fixed="with the first exported runs (16 November 2026), for every pair of sets by itself",
        counts=(
            "it holds if the mean over pairs of data sets of Spearman's correlation of the methods' mean test MAP@R is "
            "above 0.5 by the lower end of its 95 % interval (methods resampled, the same in every set); it does not "
            "hold if the upper end is below 0.5; otherwise these runs cannot tell."
        ),
        short=(
            f"Mean rank correlation of methods over {len(pairs)} pairs of data sets {mean}; in Musgrave et al.'s "
            f"tables "
            f"{_between(published_ones)}."
        ),
        headline=(
            f"**Orders found by short searches are not shown to carry over.** Between {len(ranked)} data sets they "
            f"correlate {mean} on average; between CUB, Cars and SOP, fine-tuned by Musgrave et al., "
            f"{_between(published_ones)}."
        ),
        answers=[
            Answer(
                data="mean over pairs",
                verdict=above(mean, BOUND),
                sentence=f"Mean rank correlation over {len(pairs)} pairs {mean}.",
            )
        ],
        sections=[
            Section(heading="Every pair", text=_every_pair(pairs, published_ones)),
            Section(heading="How sure each ranking is of itself", text=_reliability(found, runs)),
            Section(heading="What the winner of one set costs on another", text=regret(ranked)),
        ],
        pictures=[
            Picture(
                name="c15_transfer",
                caption=(
                    "Rank correlation of the methods' mean test MAP@R between two data sets, with its 95 % interval; "
                    "the dashed line is the 0.5 that a cheap study would have to pass."
                ),
                draw=dot_rows({"pairs of data sets": pair_rows(pairs)}, {"pairs of data sets": BOUND}, "correlation"),
                size=(6.4, 1.2 + 0.28 * len(pairs)),
            )
        ],
        limits=[
            "Each data set has a search of its own of 4 to 8 trials, and the second table shows how little of an order "
            "such a search keeps: the correlation is as much about searches as about losses.",
            "Heads on frozen features and one small network from scratch. C17 compares heads with fine-tuning.",
            "One split of classes per set. Methods that coincide (C1) count once.",
            NO_PETS,
        ],
        studies=sorted({run.study for run in used}),
        runs=used,
    )


def distinct_everywhere(tables: Mapping[str, Table]) -> dict[str, Table]:
    """Return every set's scores with one method of those that coincide on any set."""
    left_out = {name for one in tables.values() for name in doubled(one)}
    return {data: {name: row for name, row in one.items() if name not in left_out} for data, one in tables.items()}


def mean_correlation(ranked: Mapping[str, Mapping[str, float]]) -> Correlation:
    """Return the mean rank correlation over all pairs of sets, with its interval over methods."""
    shared = [name for name in next(iter(ranked.values())) if all(name in one for one in ranked.values())]
    scores = np.array([[one[name] for name in shared] for one in ranked.values()])

    rows = np.random.default_rng(SEED).integers(0, len(shared), (N_DRAWS // 4, len(shared)))
    low, high = np.nanquantile(_mean_over_pairs(scores[:, rows]), [0.025, 0.975])
    value = float(_mean_over_pairs(scores[:, np.newaxis])[0])
    return Correlation(value=value, low=float(low), high=float(high))


def _mean_over_pairs(scores: np.ndarray) -> np.ndarray:
    """Return the mean Spearman's correlation over pairs of sets, of scores (sets, draws, methods), by draw."""
    ranks = stats.rankdata(scores, axis=-1)
    centred = ranks - ranks.mean(axis=-1, keepdims=True)
    lengths = np.sqrt((centred**2).sum(axis=-1, keepdims=True))
    with np.errstate(invalid="ignore"):  # a draw of one method again and again has no order
        unit = centred / lengths
    found: np.ndarray = np.mean(
        [(unit[a] * unit[b]).sum(axis=-1) for a, b in combinations(range(len(unit)), 2)], axis=0
    )
    return found


def _published() -> dict[Pair, float]:
    tables = {data: published(data) for data in ("cub200", "cars196", "sop")}
    return {pair: spearman(*columns(tables[pair[0]], tables[pair[1]])) for pair in combinations(tables, 2)}


def _between(correlations: Mapping[Pair, float]) -> str:
    return f"{min(correlations.values()):+.2f} to {max(correlations.values()):+.2f}"


def _every_pair(pairs: Mapping[Pair, Correlation], published_ones: Mapping[Pair, float]) -> str:
    names = {**SHORT, "sop": "SOP"}
    rows = [[_name(pair), str(one), ""] for pair, one in pairs.items()]
    by_name = {row[0]: row for row in rows}
    for pair, value in published_ones.items():
        name = f"{names[pair[0]]} and {names[pair[1]]}"
        if name not in by_name:
            rows.append(by_name.setdefault(name, [name, "", ""]))
        by_name[name][2] = f"{value:+.2f}"
    note = "Theirs: 14 losses, BN-Inception fine-tuned, 50 trials each, single models (tables 4 to 6)."
    return f"{table(['pair', 'here', 'Musgrave et al.'], rows)}\n\n{note}"


def _name(pair: Pair) -> str:
    return f"{SHORT[pair[0]]} and {SHORT[pair[1]]}"


def _reliability(found: Mapping[str, Table], runs: Sequence[ExportedRun]) -> str:
    """Return how an order correlates with itself: between halves of the seeds, and between halves of the search."""
    rows = []
    for data, one in found.items():
        seeds = sorted(set.intersection(*(set(row) for row in one.values())))
        halves = [
            {method: fmean(row[seed] for seed in some) for method, row in one.items()}
            for some in (seeds[::2], seeds[1::2])
            if some
        ]
        same = f"{spearman(*columns(halves[0], halves[1])):+.2f}" if len(halves) == 2 else ""
        rows.append([DATA[data], str(len(one)), str(len(seeds)), same, _search_halves(runs, data)])
    note = (
        "Seeds: the order by every second seed against that by the others. Search: the methods' best validation MAP@R "
        "among every second trial against that among the others. Half of the seeds, or of the trials, each: lower "
        "bounds."
    )
    header = ["data", "methods", "seeds", "correlation between halves of the seeds", "between halves of the search"]
    return f"{table(header, rows)}\n\n{note}"


def _search_halves(runs: Sequence[ExportedRun], data: str) -> str:
    trials: dict[str, list[float]] = {}
    for run in runs:
        if run.data == data and run.kind == "trial" and ("validation", METRIC) in run.scores:
            trials.setdefault(run.method, []).append(run.scores["validation", METRIC])
    both = {method: some for method, some in trials.items() if len(some) > 1}
    halves = [{method: max(some[start::2]) for method, some in both.items()} for start in (0, 1)]
    return f"{spearman(*columns(halves[0], halves[1])):+.2f}" if len(both) > 2 else ""


def regret(ranked: Mapping[str, Mapping[str, float]]) -> str:
    """Return a table of how far the best method of each set is behind the best of every other set."""
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


def pair_rows(pairs: Mapping[Pair, Correlation]) -> list[Dot]:
    """Return the rows of a drawing of correlations, the highest first."""
    ordered = sorted(pairs.items(), key=lambda item: -item[1].value)
    return [(_name(pair), one.value, one.low, one.high, []) for pair, one in ordered]
