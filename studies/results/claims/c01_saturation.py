"""C1: how far the losses of both papers are apart after the same search for each."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
from studies.results.arithmetic import Spread, at_once, median_gap, rank_correlation, spread_of
from studies.results.coinciding import coinciding_sentence, coinciding_table
from studies.results.figures import compared_dots, dot_rows
from studies.results.gains import gains_picture
from studies.results.page import (
    DATA,
    NO_PETS,
    RANKED,
    SHORT,
    Answer,
    Page,
    Picture,
    Section,
    interval,
    listed,
    points,
    table,
)
from studies.results.records import ExportedRun
from studies.results.saturation import gap_in_words, saturation_of
from studies.results.select import (
    Table,
    by_data,
    finals_by_data,
    means,
    raw_features,
    unfinished,
    untrained,
    untrained_line,
    values,
)

from fairground.comparison.compare_values import compare_values
from fairground.comparison.comparison_result import Comparison
from fairground.spec.search_ranges import end_of
from fairground.spec.study_spec import LOSS_RATE

STUDIES = ("c1_features_cub200", "c1_features_cars196", "c1_features_pets", "c1_features_fruits360", "c1_icons")
METRIC = "map@r"
NAMES = {METRIC: "MAP@R", "recall@1": "Recall@1"}


def page(
    runs: Sequence[ExportedRun],
    at_defaults: Mapping[str, Table] = MappingProxyType({}),
    raw: Sequence[ExportedRun] = (),
) -> Page | None:
    """Return the page of the runs of `STUDIES`.

    Tables of C25 have the same losses at their defaults, measurements of C11 the raw features.
    """
    found = finals_by_data(runs, RANKED)
    if not found:
        return None
    tables = {data: values(some, METRIC) for data, some in found.items()}
    compared = {data: compare_values(one) for data, one in tables.items()}
    at_level = {data: compare_values(one, level=at_once(len(tables))) for data, one in tables.items()}
    spreads = {data: spread_of(one) for data, one in tables.items()}
    frozen = {data: untrained(by_data(runs, DATA)[data], METRIC) for data in found}
    whole = {data: raw_features(some) for data, some in by_data(raw, DATA).items()}
    alike = coinciding_table(found)
    return Page(
        name="c01_saturation",
        title="C1. Are the losses of deep metric learning saturated?",
        question="How far apart are the losses of both papers on unseen classes, after the same search for each?",
        source=(
            "Musgrave et al., 4.2: losses perform similarly to one another once they are compared fairly. Roth "
            "et al., 4.4: "
            "performance is saturated across objectives."
        ),
        fixed="before the runs (16 November 2026)",
        counts=(
            "losses are saturated if the median of the methods is less than a tenth of what the best one gains over "
            "the untrained network below the best, in test MAP@R, by the upper end of the interval that holds for all "
            "pairs of all sets at once at 95 %; they are not if the lower end is above that; otherwise these runs "
            "cannot tell."
        ),
        short=_short(compared, frozen),
        headline=f"{_headline(compared, frozen)}{coinciding_sentence(found)}",
        answers=[_answer(data, at_level[data], spreads[data], frozen[data], whole.get(data, {})) for data in found],
        sections=[
            Section(heading="How much of the spread is the seed", text=_spread_table(spreads, frozen, whole)),
            Section(heading="How much may be the search and the budget", text=_search_table(runs, found)),
            *([Section(heading="Losses that coincide", text=alike)] if alike else []),
            *(
                Section(heading=DATA[data], text=_table(compared[data], found[data], whole.get(data, {})))
                for data in found
            ),
        ],
        pictures=[
            gains_picture(runs, at_defaults, whole),
            Picture(
                name="c01_methods",
                caption=(
                    "Test MAP@R in per cent of every method after an equal search: mean with its 95 % interval, "
                    "single seeds as dots; the dashed line is the network before training (of frozen features, their "
                    "principal axes)."
                ),
                draw=dot_rows(
                    {data: compared_dots(compared[data], tables[data]) for data in found},
                    {data: untrained_line(runs, data, METRIC) for data in found},
                    "MAP@R, %",
                ),
                size=(3.4 * min(3, len(found)), 5.6 * -(-len(found) // 3)),
            ),
        ],
        limits=[
            "A search of 8 trials per method (4 on other data than CUB) in the ranges of Musgrave et al., who have 50 "
            "over four folds. Losses with proxies have a rate of their own to find as well, and so short a search may "
            "miss what suits a loss: by C14 the defaults of some losses beat what 8 trials found, so that the order "
            "here is in part that of the searches. One split of classes.",
            "Training is short, and most runs are still rising when it ends: what learns fast is favoured. C18 trains "
            "the heads on CUB and Cars four times as long.",
            "On features only a linear head is trained: what a loss does to a deep network is not seen there. "
            "The network on "
            "icons is small (0.09 million weights) and its training short.",
            "Batches of 128 (112 on icons) with 4 images of a class for every method; the papers have other batches.",
            "The intervals speak of seeds: not of other classes, and not of another search. By C14 another choice of "
            "settings moves a loss about as much as losses differ, so that the order and the best method are in part "
            "luck of the search.",
            "One learning rate for every head (0.0003), never searched.",
            NO_PETS,
            *(_on_the_bound(data, some) for data, some in found.items()),
            *unfinished(runs),
        ],
        studies=sorted({run.study for run in runs}),
        runs=runs,
    )


def _answer(
    data: str, compared: Comparison, spread: Spread, frozen: float | None, whole: Mapping[str, float]
) -> Answer:
    gap, gained = median_gap(compared), spread.best - (frozen or 0.0)
    over_raw = f" ({_share(gap.difference, spread.best - whole[METRIC])} over the raw features)" if whole else ""
    sentence = (
        f"{gap_in_words(gap)}: {_share(gap.difference, gained)} of what the best one gains over the untrained network"
        f"{over_raw}; {spread.n_methods} methods, {spread.n_seeds} seeds; best to worst "
        f"{points(spread.best - spread.worst)} points."
    )
    return Answer(data=data, verdict=saturation_of(gap, gained / 10), sentence=sentence)


def _share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.0f} %" if whole > 0 else "all"


def _on_the_bound(data: str, runs: Sequence[ExportedRun]) -> str:
    """Return for how many methods the search chose the highest rate of the loss' own weights that it could try."""
    rates = {run.method: run.settings.get("optimiser.loss_lr") for run in runs}
    searched = [method for method, rate in rates.items() if rate is not None]
    ended = [method for method in searched if end_of(LOSS_RATE, rates[method]) == "upper"]
    names = f": {listed(ended)}" if ended else ""
    return (
        f"On {SHORT[data]} the search chose the upper end of its range ({LOSS_RATE.high:g}) for the rate of the loss' "
        f"own weights in {len(ended)} of {len(searched)} methods that have any{names}."
    )


def _short(compared: dict[str, Comparison], frozen: dict[str, float | None]) -> str:
    parts = []
    for data, one in compared.items():
        gained = one.methods[0].mean - (frozen[data] or 0.0)
        parts.append(f"{points(median_gap(one).difference)} of {points(gained)} ({SHORT[data]})")
    return f"Points of MAP@R that the median loss lacks of what the best one gains: {', '.join(parts)}."


def _headline(compared: dict[str, Comparison], frozen: dict[str, float | None]) -> str:
    kept = []
    for data, one in compared.items():
        gained = one.methods[0].mean - (frozen[data] or 0.0)
        network = ", a small network" if data == "icons" else ""
        kept.append(f"{_share(gained - median_gap(one).difference, gained)} ({SHORT[data]}{network})")
    n_methods = max(len(one.methods) for one in compared.values())
    return (
        f"**The median of {n_methods} losses gets most of what the best one gains, not all**: {listed(kept)}, after "
        "equal short searches."
    )


def _table(compared: Comparison, runs: Sequence[ExportedRun], whole: Mapping[str, float]) -> str:
    best = compared.methods[0].name
    recalls = means(values(runs, "recall@1"))
    rows = []
    for one in compared.methods:
        pair = None if one.name == best else compared.pair(best, one.name)
        behind = "" if pair is None or pair.low is None or pair.high is None else interval(pair.low, pair.high)
        half = "" if one.half_width is None else f" ± {points(one.half_width)}"
        rows.append([one.name, f"{points(one.mean)}{half}", points(recalls[one.name]), behind])
    text = table(["method", "MAP@R", "Recall@1", "points of MAP@R behind the best"], rows)
    note = f"Means over {compared.methods[0].n} seeds; the intervals of differences hold at once at 95 %."
    return f"{text}\n\n{note} {_below(runs, whole)}"


def _below(runs: Sequence[ExportedRun], whole: Mapping[str, float]) -> str:
    """Return how many methods end below the network they began with, and below its raw features."""
    before = {metric: untrained(runs, metric) for metric in NAMES}
    start = {metric: value for metric, value in before.items() if value is not None}
    sentences = []
    for what, levels in (("Before training", start), ("The raw 1,280 features", whole)):
        parts = []
        for metric, level in levels.items():
            after = means(values(runs, metric))
            n_below = sum(value < level for value in after.values())
            parts.append(f"{points(level)} {NAMES[metric]} ({n_below} of {len(after)} methods end below it)")
        sentences += [f"{what}: {' and '.join(parts)}."] if parts else []
    return " ".join(sentences)


def _spread_table(
    spreads: Mapping[str, Spread], frozen: Mapping[str, float | None], whole: Mapping[str, Mapping[str, float]]
) -> str:
    header = ["data", "seeds", "raw features", "untrained", "worst", "best", "best - worst", "expected by seeds alone"]
    header += ["sd between methods", "sd of a seed", "seed's share of variance"]
    rows = [
        [
            DATA[data],
            str(one.n_seeds),
            points(whole[data][METRIC]) if data in whole else "",
            "" if frozen[data] is None else points(frozen[data] or 0.0),
            points(one.worst),
            points(one.best),
            points(one.best - one.worst),
            points(one.range_by_seeds),
            points(one.method),
            points(one.seed),
            f"{100 * one.seed_share:.0f} %",
        ]
        for data, one in spreads.items()
    ]
    note = (
        "MAP@R in points. *Raw features*: all 1,280 as they are; *untrained*: their 128 principal axes, where heads "
        "begin, or on icons the network before training. *Expected by seeds alone*: how far apart the best and the "
        "worst of so many equal methods would be by seed noise; another search adds to it (C14). *Seed's share*: of "
        "the variance of a single run among these methods."
    )
    return f"{table(header, rows)}\n\n{note}"


def _search_table(runs: Sequence[ExportedRun], found: dict[str, list[ExportedRun]]) -> str:
    rows = []
    for data, some in found.items():
        scores = means(values(some, METRIC))
        counts = _n_searched([run for run in runs if run.data == data])
        shared = [method for method in scores if method in counts]
        last = max(run.best_epoch or 0 for run in some)
        ended = sum(run.best_epoch == last for run in some) / len(some)
        columns = [np.array([one[method] for method in shared], float) for one in (counts, scores)]
        relation = str(rank_correlation(*columns)) if shared else ""
        rows.append([DATA[data], relation, f"{100 * ended:.0f} %"])
    note = (
        "Were a short search unfair to losses with many settings, the correlation would be negative. Where most runs "
        "are best at the last epoch, longer training would change the scores."
    )
    header = ["data", "rank correlation of MAP@R with the number of searched settings", "runs best at the last epoch"]
    return f"{table(header, rows)}\n\n{note}"


def _n_searched(runs: Sequence[ExportedRun]) -> dict[str, int]:
    """Return by method how many settings its trials differ in."""
    trials: dict[str, list[ExportedRun]] = {}
    for run in runs:
        if run.kind == "trial":
            trials.setdefault(run.method, []).append(run)
    return {
        method: sum(len({str(run.settings.get(key)) for run in some}) > 1 for key in some[0].settings)
        for method, some in trials.items()
        if len(some) > 1
    }
