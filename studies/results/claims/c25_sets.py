"""C25: whether the order of losses at their defaults carries over from one data set to another."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import sqrt
from statistics import fmean, median

import numpy as np
from scipy import stats
from studies.results.arithmetic import Correlation, spearman
from studies.results.claims.c15_transfer import BOUND, Pair, distinct_everywhere, mean_correlation
from studies.results.figures import Dot, dot_rows
from studies.results.page import SHORT, Answer, Page, Picture, Section, above, listed, points, signed, table
from studies.results.records import ExportedRun
from studies.results.select import (
    CLASS_WEIGHTS,
    UNTRAINED,
    Table,
    columns,
    finals,
    means,
    split_label,
    untrained,
    values,
)

#: CUB-200-2011's runs are those of C20 with the standard split
CUB = "cub200"
SETS = (
    CUB,
    "flowers102",
    "gtsrb",
    "esc50",
    "clinc150",
    "cars196",
    "fruits360",
    "omniglot",
    "groceries",
    "audiomnist",
)
#: sets whose features no network has made
SIMPLE = ("esc50", "clinc150", "audiomnist")
STUDIES = tuple(f"c25_sets_{name}" for name in SETS[1:])
METRIC = "map@r"
#: a data set with fewer finished losses or seeds waits
N_LOSSES, N_SEEDS = 25, 2
#: losses of which a set's winners are shown
N_FIRST = 3


@dataclass(frozen=True, kw_only=True)
class DefaultsOnSet:
    """One data set: its losses' scores by seed, and what the network scores before training."""

    scores: Table
    start: float

    @property
    def repeated(self) -> float:
        """The rank correlation of one seed's order with the other's."""
        first, second = ({name: list(row.values())[place] for name, row in self.scores.items()} for place in (0, 1))
        return spearman(*columns(first, second))

    @property
    def reliability(self) -> float:
        """The rank correlation to expect of the order of two seeds' means with that of two further seeds."""
        return 2 * self.repeated / (1 + self.repeated)


def page(runs: Sequence[ExportedRun], splits: Sequence[ExportedRun]) -> Page | None:
    """Return the page of the finished sets, two at least; `splits` are the runs of C20."""
    used = _used(runs, splits)
    sets = finished(runs, splits)
    if len(sets) < 2:
        return None
    everything = {name: means(one.scores) for name, one in sets.items()}
    kept = distinct_everywhere({name: one.scores for name, one in sets.items()})
    ranked = {name: means(one) for name, one in kept.items()}
    every, others_alone = mean_correlation(everything), mean_correlation(without_class_weights(everything))
    mean, others = mean_correlation(ranked), over_sets(ranked)
    pairs = {(a, b): spearman(*columns(ranked[a], ranked[b])) for a, b in combinations(ranked, 2)}
    ceiling = fmean(sqrt(sets[a].reliability * sets[b].reliability) for a, b in pairs)
    n_distinct = len(next(iter(ranked.values())))
    shown = [run for name in sets for run in used[name]]
    missing = [SHORT[name] for name in SETS if name not in sets]
    return Page(
        name="c25_sets",
        title="C25. Does the order of losses at their defaults carry over to other data?",
        question=(
            "C15 asked it after short searches, which reshuffle an order by themselves. With nothing searched, do "
            "losses that are better on one data set come out better on another?"
        ),
        source="What every recommendation of a loss rests on, `fairground recommend` and `docs/choosing.md` included.",
        fixed=(
            "on 18 November 2026, before the runs; those on CUB are C20's and were known, and five sets were added on "
            "19 November, before their runs"
        ),
        is_first_edition=False,
        counts=(
            "it holds if the mean over pairs of data sets of Spearman's correlation of the losses' mean test MAP@R is "
            "above 0.5 by its 95 % interval (losses resampled, the same in every set); it does not hold if the "
            "interval is below 0.5; otherwise these runs cannot tell."
        ),
        short=(
            f"Mean rank correlation of losses at their defaults over all pairs of {len(sets)} data sets "
            f"{mean}; seeds alone would allow {ceiling:+.2f}."
        ),
        headline=_headline(sets, mean, every, others_alone, ceiling),
        answers=[
            Answer(
                data="mean over pairs",
                verdict=above(mean, BOUND),
                sentence=(
                    f"Mean rank correlation over pairs of {len(sets)} sets {mean}, of {n_distinct} losses, those that "
                    f"agree on some set counted once; of all {N_LOSSES}, {every}; of the "
                    f"{N_LOSSES - len(CLASS_WEIGHTS)} without class weights, {others_alone} "
                    "(asked after the results; decides nothing). For other "
                    f"sets instead of other losses the interval is [{others.low:+.2f}, {others.high:+.2f}] (jackknife "
                    "over sets, decides nothing)."
                ),
            )
        ],
        sections=[
            Section(heading="Every pair", text=_matrix(sets, pairs, ceiling)),
            Section(heading="Without class weights", text=_alone(everything)),
            Section(heading="Without one set", text=_without_one(ranked)),
            Section(heading="What training gains", text=_gains(sets)),
            Section(heading="What the winner of one set costs on another", text=_costs(sets)),
            Section(heading="What each loss gets", text=_every_loss(sets)),
        ],
        pictures=[
            Picture(
                name="c25_sets",
                caption=(
                    "Rank correlation of a data set's order of losses at their defaults (mean test MAP@R) with that of "
                    "each other set: the mean, and single sets as small dots; the dashed line is 0.5."
                ),
                draw=dot_rows({"data sets": _dots(pairs)}, {"data sets": BOUND}, "correlation"),
                size=(6.4, 1.2 + 0.28 * len(sets)),
            )
        ],
        limits=[
            f"Heads of 128 dimensions on frozen features: of EfficientNet-Lite0 ({_named(sets, is_simple=False)}), or "
            f"simple ones without a network ({_named(sets, is_simple=True)}). Defaults are written for networks: an "
            "order of defaults is one of losses with their settings.",
            "One split of classes each, one trunk, two seeds.",
            "Losses whose scores agree to 0.05 points on both seeds of some set count once, as in C15: with two "
            "seeds, some agree by chance, and the more so the more sets there are.",
            *([f"Not finished, left out: {listed(missing)}."] if missing else []),
        ],
        studies=sorted({run.study for run in shown}),
        runs=shown,
    )


def finished(runs: Sequence[ExportedRun], splits: Sequence[ExportedRun]) -> dict[str, DefaultsOnSet]:
    """Return the data sets whose losses have all finished all seeds, by name; `splits` are the runs of C20."""
    return {name: found for name, some in _used(runs, splits).items() if (found := _set(some)) is not None}


def _used(runs: Sequence[ExportedRun], splits: Sequence[ExportedRun]) -> dict[str, list[ExportedRun]]:
    on_cub = [run for run in splits if run.study == f"c20_splits_{CUB}" and _is_ours(run)]
    return {CUB: on_cub, **{name: [run for run in runs if run.study == f"c25_sets_{name}"] for name in SETS[1:]}}


def _is_ours(run: ExportedRun) -> bool:
    return run.data == "standard" and (run.method in UNTRAINED or split_label(run.method)[1] == "default")


def _set(runs: Sequence[ExportedRun]) -> DefaultsOnSet | None:
    """Return a data set whose losses have all finished all seeds."""
    scores = {name.removesuffix(", default"): row for name, row in values(finals(runs), METRIC).items()}
    start = untrained(runs, METRIC)
    if start is None or len(scores) < N_LOSSES or any(len(row) < N_SEEDS for row in scores.values()):
        return None
    return DefaultsOnSet(scores=scores, start=start)


def _headline(
    sets: Mapping[str, DefaultsOnSet], mean: Correlation, every: Correlation, alone: Correlation, ceiling: float
) -> str:
    chosen = {name: _best_on_average(_rest(sets, name)) for name in sets}
    missed = [_missed(loss, sets[name]) for name, loss in chosen.items()]
    order = {
        "holds": "Whole orders of losses carry over",
        "does not hold": "Whole orders of losses do not carry over",
        "cannot tell": "How far whole orders of losses carry over is open",
    }[above(mean, BOUND)]
    if alone.high < every.value / 2:
        order = "Whole orders have little in common but that losses with class weights do badly at their defaults"
    names = set(chosen.values())
    first = (
        f"{names.pop()} gets {_share(1 - max(missed))} or more of what the best loss gains on each of {len(sets)} data "
        "sets, all at their defaults"
        if len(names) == 1
        else f"The loss that is best on other data sets gets most of the best gain on each of {len(sets)}"
    )
    return (
        f"**{first}**: chosen on the others, it misses {_share(median(missed))} in the median, the winner of one other "
        f"set {_share(median(_losses_of(sets)))}. {order}: they correlate {every} on average, those of the "
        f"{N_LOSSES - len(CLASS_WEIGHTS)} losses without class weights {alone}, where seeds alone would allow "
        f"{ceiling:+.2f}."
    )


def without_class_weights(ranked: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
    return {name: {loss: one[loss] for loss in one if loss not in CLASS_WEIGHTS} for name, one in ranked.items()}


def _alone(everything: Mapping[str, Mapping[str, float]]) -> str:
    some = without_class_weights(everything)
    rows = [
        [SHORT[a], SHORT[b], f"{spearman(*columns(everything[a], everything[b])):+.2f}", f"{one:+.2f}"]
        for a, b in combinations(some, 2)
        for one in [spearman(*columns(some[a], some[b]))]
    ]
    n_below = sum(float(row[-1]) < 0 for row in rows)
    note = (
        f"{listed(CLASS_WEIGHTS)} learn a vector per class that begins at random, and at their defaults it learns no "
        f"faster than the head. Without them {n_below} of {len(rows)} pairs are negative. Added after the results were "
        "known."
    )
    header = ["data", "and", f"{N_LOSSES} losses", f"{N_LOSSES - len(CLASS_WEIGHTS)} without class weights"]
    return f"{note}\n\n{table(header, rows, n_text=2)}"


def _share(part: float) -> str:
    return f"{100 * part:.0f} %"


def _named(sets: Mapping[str, DefaultsOnSet], *, is_simple: bool) -> str:
    return ", ".join(SHORT[name] for name in sets if (name in SIMPLE) == is_simple)


def over_sets(ranked: Mapping[str, Mapping[str, float]]) -> Correlation:
    """Return the mean correlation with a t interval over sets: a jackknife that leaves out one of them at a time."""
    n, value = len(ranked), mean_correlation(ranked).value
    if n < 3:
        return Correlation(value=value, low=-1.0, high=1.0)
    rests = [mean_correlation(_others(ranked, name)).value for name in ranked]
    error = (n - 1) / sqrt(n) * float(np.std(rests, ddof=1))
    width = float(stats.t.ppf(0.975, n - 1)) * error
    return Correlation(value=value, low=value - width, high=value + width)


def _others(ranked: Mapping[str, Mapping[str, float]], left_out: str) -> dict[str, Mapping[str, float]]:
    return {name: one for name, one in ranked.items() if name != left_out}


def _matrix(sets: Mapping[str, DefaultsOnSet], pairs: Mapping[Pair, float], ceiling: float) -> str:
    both = {**pairs, **{(b, a): one for (a, b), one in pairs.items()}}
    rows = [
        [SHORT[a], *(f"({one.repeated:+.2f})" if a == b else f"{both[a, b]:+.2f}" for b in sets)]
        for a, one in sets.items()
    ]
    note = (
        "In brackets: the order of one seed against that of the other, all 25 losses. The order of a mean of two seeds "
        f"is surer: were the true orders of all sets one, pairs would correlate {ceiling:+.2f} on average."
    )
    return f"{table(['', *(SHORT[name] for name in sets)], rows)}\n\n{note}"


def _dots(pairs: Mapping[Pair, float]) -> list[Dot]:
    """Return a row per set with its correlations with all others, the highest mean first."""
    by_set: dict[str, list[float]] = {}
    for pair, value in pairs.items():
        for name in pair:
            by_set.setdefault(name, []).append(value)
    ordered = sorted(by_set.items(), key=lambda item: -fmean(item[1]))
    return [(SHORT[name], mean, mean, mean, some) for name, some in ordered for mean in [fmean(some)]]


def _missed(winner: str, there: DefaultsOnSet) -> float:
    """Return what share of the best loss' gain on a set another set's winner misses there."""
    scores = means(there.scores)
    best = max(scores.values())
    return (best - scores[winner]) / (best - there.start)


def _losses_of(sets: Mapping[str, DefaultsOnSet]) -> list[float]:
    """Return what the winner of every set misses on every other."""
    winners = {name: next(iter(means(one.scores))) for name, one in sets.items()}
    return [_missed(winners[a], sets[b]) for a in sets for b in sets if a != b]


def _rest(sets: Mapping[str, DefaultsOnSet], left_out: str) -> list[DefaultsOnSet]:
    return [one for name, one in sets.items() if name != left_out]


def _mean_missed(loss: str, sets: Sequence[DefaultsOnSet]) -> float:
    return fmean(_missed(loss, one) for one in sets)


def _best_on_average(sets: Sequence[DefaultsOnSet]) -> str:
    """Return the loss that misses the least on average."""
    return min(sets[0].scores, key=lambda loss: _mean_missed(loss, sets))


def _every_loss(sets: Mapping[str, DefaultsOnSet]) -> str:
    some = list(sets.values())
    rows = []
    for loss in sorted(some[0].scores, key=lambda loss: _mean_missed(loss, some)):
        worst = max(sets, key=lambda name: _missed(loss, sets[name]))
        most = f"{_share(1 - _missed(loss, sets[worst]))} ({SHORT[worst]})"
        rows.append([loss, _share(1 - _mean_missed(loss, some)), most])
    note = (
        "Share of what the best loss of each set gains over the untrained network; below 0 a loss is worse than that "
        "network. Defaults favour losses whose defaults suit heads that train for 320 steps."
    )
    return f"{table(['loss', 'mean over sets', 'least'], rows)}\n\n{note}"


def _costs(sets: Mapping[str, DefaultsOnSet]) -> str:
    rows = []
    for source, ours in sets.items():
        winner = next(iter(means(ours.scores)))
        cells = ["" if target == source else _share(_missed(winner, there)) for target, there in sets.items()]
        rows.append([f"{SHORT[source]}: {winner}", *cells])
    by_others = {target: _best_on_average(_rest(sets, target)) for target in sets}
    rows.append(
        ["*all others*", *(f"{loss} {_share(_missed(loss, sets[target]))}" for target, loss in by_others.items())]
    )
    note = (
        "Of what the best loss gains there over the untrained network, the part that this one misses; all 25 losses. "
        "*All others*: the loss that misses least on average on all sets but the one it is judged on."
    )
    return f"{table(['winner of', *(f'on {SHORT[name]}' for name in sets)], rows)}\n\n{note}"


def _without_one(ranked: Mapping[str, Mapping[str, float]]) -> str:
    if len(ranked) < 3:
        return "There are two sets."
    rows = []
    for left_out in ranked:
        rows.append([SHORT[left_out], str(mean_correlation(_others(ranked, left_out)))])
    return table(["left out", "mean correlation of the others"], rows)


def _gains(sets: Mapping[str, DefaultsOnSet]) -> str:
    rows = []
    for name, one in sets.items():
        order = means(one.scores)
        below = sum(value < one.start for value in order.values())
        best = max(order.values()) - one.start
        firsts = ", ".join(list(order)[:N_FIRST])
        rows.append([SHORT[name], firsts, points(one.start), signed(best), f"{below} of {N_LOSSES}"])
    header = ["data", "first three", "untrained MAP@R", "gain of the best", "losses below untrained"]
    return table(header, rows, n_text=2)
