"""C13: how often a single seed announces the wrong winner, and how many seeds separate half a point and a point."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from scipy import stats
from studies.results.arithmetic import SEED, at_once, seeds_to_separate, spread_of
from studies.results.coinciding import distinct_values
from studies.results.figures import line_panels
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
from studies.results.select import Table, finals_by_data, means, values

#: more than one table in five
BOUND = 0.2
METRICS = {"recall@1": "Recall@1", "map@r": "MAP@R"}
N_DRAWS = 20000
#: gaps between two methods' means, in shares of one
GAPS = (0.0, 0.0025, 0.005, 0.01, 0.02)


def page(runs: Sequence[ExportedRun]) -> Page | None:
    """Return the page of runs with at least three seeds a method."""
    found = finals_by_data(runs, RANKED)
    tables = {data: distinct_values(some, "recall@1") for data, some in found.items()}
    tables = {data: one for data, one in tables.items() if min(len(row) for row in one.values()) >= 3}
    if not tables:
        return None
    wrong = {data: wrong_winner(one) for data, one in tables.items()}
    n_seeds = min(len(row) for one in tables.values() for row in one.values())
    return Page(
        name="c13_single_seeds",
        title="C13. What is a single seed worth?",
        question=(
            "How often would a paper with one run per method announce another winner than the mean of all seeds, "
            "and how many seeds "
            "separate half a point and a point?"
        ),
        source=(
            "Musgrave et al., 2.1: papers report single runs without intervals while improvements are in the low "
            "single digits."
        ),
        fixed="with the first exported runs (16 November 2026), the least number of seeds an hour later",
        counts=(
            "single seeds mislead if the table of one seed, the same for every method, has another winner by Recall@1 "
            "than the mean of all seeds in more than 20 % of seeds, by the exact binomial interval over seeds; they do "
            "not if the interval is below 20 %; otherwise these runs cannot tell. The intervals of this page hold at "
            "once at 95 %."
        ),
        short="Tables of one seed with another winner, and how many points it is behind: "
        + ", ".join(f"{100 * one[0]:.0f} %, {points(one[1])} ({SHORT[data]})" for data, one in wrong.items())
        + ".",
        answers=[
            _answer(data, *wrong[data], min(map(len, tables[data].values())), at_once(len(tables))) for data in tables
        ],
        sections=[
            Section(heading="Seeds that separate two methods", text=_seeds(found, tables)),
            Section(heading="Pairs put in the wrong order by one run each", text=_pairs(tables)),
        ],
        pictures=[
            Picture(
                name="c13_winner",
                caption=(
                    "Share of tables, in per cent, whose winner by Recall@1 is not the winner of all seeds, by "
                    "the number of seeds "
                    "that each method is averaged over; all methods share the seeds, which are drawn with replacement "
                    "from those that were run."
                ),
                draw=line_panels(
                    {"": [_curve(data, one) for data, one in tables.items()]},
                    "seeds per method",
                    "wrong winner, %",
                    least_top=20.0,
                ),
                size=(5.2, 3.2),
            )
        ],
        limits=[
            "Methods that coincide (C1) count once. Ties count in equal shares.",
            NO_PETS,
            f"The winner of {n_seeds} seeds or more stands for the truth, which the judged seed is a part of, and may "
            "itself be wrong where the first methods are close.",
            "On features a seed decides batches and first proxies only, for the head starts from the principal "
            "axes; networks from "
            "scratch vary more.",
        ],
        studies=sorted({run.study for run in runs}),
        runs=runs,
    )


def wrong_winner(one: Table, n: int = 1) -> tuple[float, float]:
    """Return how often means of `n` shared seeds have another winner, and how far behind that is on average.

    One seed is taken from each that was run; more are drawn with replacement. Tied winners count in equal shares.
    """
    scores = np.array([list(row.values()) for row in one.values()])
    truth = scores.mean(1)
    n_seeds = scores.shape[1]
    drawn = np.random.default_rng(SEED).integers(0, n_seeds, (N_DRAWS, n)) if n > 1 else np.arange(n_seeds)[:, None]
    tables = scores[:, drawn].mean(2)
    winners = tables == tables.max(0)
    lost = winners * (truth.max() - truth)[:, None]
    shares = winners.sum(0)
    return float(((lost > 0).sum(0) / shares).mean()), float((lost.sum(0) / shares).mean())


def _answer(data: str, share: float, lost: float, n_seeds: int, level: float) -> Answer:
    found = stats.binomtest(round(share * n_seeds), n_seeds).proportion_ci(level)
    sentence = (
        f"{100 * share:.0f} % of {n_seeds} tables of one shared seed have another winner, interval "
        f"[{100 * found.low:.0f}, "
        f"{100 * found.high:.0f}] %; it is {points(lost)} points of Recall@1 behind on average."
    )
    return Answer(data=data, verdict=above(found, BOUND), sentence=sentence)


def _seeds(found: dict[str, list[ExportedRun]], tables: dict[str, Table]) -> str:
    rows = []
    for data in tables:
        for metric, name in METRICS.items():
            spread = spread_of(values(found[data], metric))
            needed = [str(seeds_to_separate(gap, spread.seed)) for gap in (0.005, 0.01)]
            rows.append([f"{SHORT[data]}, {name}", str(spread.n_seeds), points(spread.seed), *needed])
    text = table(["metric", "seeds run", "sd of a seed", "seeds for half a point", "seeds for a point"], rows)
    note = (
        "Runs of each of two methods, by a t test at 95 % with a power of 80 %; more where many methods are compared."
    )
    return f"{text}\n\n{note}"


def _pairs(tables: dict[str, Table]) -> str:
    rows = []
    for data, one in tables.items():
        truth = means(one)
        cells = []
        for low, high in pairwise(GAPS):
            wrong = [
                float(np.mean([one[a][seed] < one[b][seed] for seed in one[a]]))
                for a in truth
                for b in truth
                if low < truth[a] - truth[b] <= high
            ]
            cells.append(f"{100 * np.mean(wrong):.0f} % of {len(wrong)}" if wrong else "")
        rows.append([DATA[data], *cells])
    heads = [f"{100 * low:g} to {100 * high:g}" for low, high in pairwise(GAPS)]
    return table(["gap of the means in points of Recall@1", *heads], rows)


def _curve(data: str, one: Table) -> tuple[str, list[float], list[float]]:
    counts = [n for n in (1, 2, 3, 5, 10) if n <= min(map(len, one.values()))]
    return SHORT[data], [float(n) for n in counts], [100 * wrong_winner(one, n)[0] for n in counts]
