"""C16: how long a search must be: the methods of C1 again with three times as many trials."""

from collections.abc import Sequence
from statistics import fmean, median

import numpy as np
from studies.results.arithmetic import Correlation, Mean, over_losses, paired_gains, rank_correlation
from studies.results.figures import Dot, dot_rows
from studies.results.page import (
    DATA,
    Answer,
    Page,
    Picture,
    Section,
    gain_in_words,
    interval,
    points,
    signed,
    table,
    verdict_of,
)
from studies.results.records import ExportedRun
from studies.results.select import Table, by_data, finals, means, untrained_line, values, what_matters

STUDIES = ("c16_search_cub200",)
METRIC = "map@r"
SHORT_SEARCH, LONG_SEARCH = "8 trials", "24 trials"


def page(runs: Sequence[ExportedRun], field: Sequence[ExportedRun]) -> Page | None:
    """Return the page of the runs of `STUDIES`, and of C1 for the shorter search."""
    found = {}
    for data, some in by_data(runs, DATA).items():
        before = values(finals(by_data(field, DATA).get(data, [])), METRIC)
        after = values(finals(some), METRIC)
        if len(before.keys() & after.keys()) > 2:
            found[data] = _joined(before, after)
    if not found:
        return None
    ((data, one),) = found.items()
    methods = [label.removesuffix(f", {LONG_SEARCH}") for label in one if label.endswith(LONG_SEARCH)]
    gains = paired_gains(one, {name: (f"{name}, {SHORT_SEARCH}", f"{name}, {LONG_SEARCH}") for name in methods})
    overall, order = over_losses(gains), _order(one, methods)
    used = [*runs, *(run for run in field if run.data == data and run.method in methods)]
    best = max(gains, key=lambda name: gains[name].mean)
    return Page(
        name="c16_search",
        title="C16. How long must a search be?",
        question="Do the methods of C1 change places when each has 24 trials instead of 8?",
        source=(
            "Musgrave et al., 3.3, give every loss 50 trials; most comparisons since have fewer or none. Losses with "
            "proxies have a learning rate to find besides their margins and scales."
        ),
        fixed="before the runs (17 November 2026)",
        counts=(
            "8 trials are enough if the mean gain in test MAP@R of a search of 24 over one of 8 trials (one mean per "
            "method over shared seeds, t over the methods) is below a tenth of what the best method of C1 gains over "
            "the untrained network, by its 95 % interval; they are not if it is above; otherwise these runs cannot "
            "tell."
        ),
        short=(
            f"A search of 24 trials gains {signed(overall.mean)} points of MAP@R over one of 8 on average, "
            f"{signed(median(gain.mean for gain in gains.values()))} in the median, {best} "
            f"{signed(gains[best].mean)}; rank correlation of both orders {order.value:+.2f}."
        ),
        answers=[_answer(data, overall, order, what_matters(field, DATA, METRIC).get(data, 0.0))],
        sections=[
            Section(heading="Each method after both searches", text=_table(one, gains, runs)),
        ],
        pictures=[
            Picture(
                name="c16_search",
                caption=(
                    "Test MAP@R in per cent after 8 and after 24 trials: mean over seeds, single seeds as dots; the "
                    "dashed line is the untrained row."
                ),
                draw=dot_rows({data: _dots(one, methods)}, {data: untrained_line(field, data, METRIC)}, "MAP@R, %"),
                size=(5.6, 5.2),
            )
        ],
        limits=[
            f"{len(gains)} methods, from both ends of C1's table.",
            "Trials are judged by one seed on one set of validation classes: a longer search also finds more luck.",
            "24 trials of up to five settings are still a short search.",
            "The longer search is another path (8 Sobol points, then a Gaussian process), not a continuation of the "
            "shorter one, and it proposes some settings twice. One outlier makes most of the mean.",
            "What Contrastive gains brings it to what its defaults have without any search (C14).",
        ],
        studies=sorted({run.study for run in used}),
        runs=used,
    )


def _joined(before: Table, after: Table) -> Table:
    """Return both searches in one table, on the seeds that they share: means are then those of the gains."""
    found: dict[str, dict[int, float]] = {}
    for kind, scores, other in ((SHORT_SEARCH, before, after), (LONG_SEARCH, after, before)):
        for name in after:
            if name in before:
                row = {seed: value for seed, value in scores[name].items() if seed in other[name]}
                found[f"{name}, {kind}"] = row
    return found


def _order(one: Table, methods: Sequence[str]) -> Correlation:
    score = means(one)
    columns = [np.array([score[f"{name}, {kind}"] for name in methods]) for kind in (SHORT_SEARCH, LONG_SEARCH)]
    return rank_correlation(columns[0], columns[1])


def _answer(data: str, gain: Mean, order: Correlation, line: float) -> Answer:
    verdict = verdict_of(holds=gain.high < line, fails=gain.low > line)
    sentence = (
        f"A search of 24 trials gains {signed(gain.mean)} points of MAP@R over one of 8 on average, interval "
        f"{interval(gain.low, gain.high)}; {points(line)} would matter; rank correlation of both orders {order}."
    )
    return Answer(data=data, verdict=verdict, sentence=sentence)


def _table(one: Table, gains: dict[str, Mean], runs: Sequence[ExportedRun]) -> str:
    rows = []
    for name, gain in sorted(gains.items(), key=lambda item: -item[1].mean):
        cells = [points(fmean(one[f"{name}, {kind}"].values())) for kind in (SHORT_SEARCH, LONG_SEARCH)]
        tried = [str(run.settings) for run in runs if run.method == name and run.kind == "trial"]
        rows.append([name, *cells, gain_in_words(gain), f"{len(set(tried))} of {len(tried)}"])
    header = ["method, test MAP@R", SHORT_SEARCH, LONG_SEARCH, "gain, points", "distinct trials of the longer search"]
    return table(header, rows)


def _dots(one: Table, methods: Sequence[str]) -> list[Dot]:
    score = means(one)
    found: list[Dot] = []
    for name in sorted(methods, key=lambda name: -score[f"{name}, {LONG_SEARCH}"]):
        for kind in (LONG_SEARCH, SHORT_SEARCH):
            row = [100 * value for value in one[f"{name}, {kind}"].values()]
            found.append((f"{name}, {kind}", fmean(row), min(row), max(row), row))
    return found
