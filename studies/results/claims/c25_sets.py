"""C25: whether the order of losses at their defaults carries over from one data set to another."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean

from studies.results.arithmetic import Correlation, rank_correlation, spearman
from studies.results.claims.c15_transfer import BOUND, Pair, distinct_everywhere, mean_correlation, pair_rows, regret
from studies.results.figures import dot_rows
from studies.results.page import SHORT, Answer, Page, Picture, Section, listed, points, signed, table, verdict_of
from studies.results.records import ExportedRun
from studies.results.select import UNTRAINED, Table, columns, finals, means, split_label, untrained, values

#: CUB-200-2011's runs are those of C20 with the standard split
CUB = "cub200"
SETS = (CUB, "flowers102", "gtsrb", "esc50", "clinc150")
STUDIES = tuple(f"c25_sets_{name}" for name in SETS[1:])
METRIC = "map@r"
#: a data set with fewer finished losses or seeds waits
N_LOSSES, N_SEEDS = 25, 2
#: losses of which a set's winners are shown
N_FIRST = 3


@dataclass(frozen=True, kw_only=True)
class _Set:
    """One data set: its losses' scores by seed, and what the network scores before training."""

    scores: Table
    start: float

    @property
    def ceiling(self) -> float:
        """The rank correlation of one seed's order with the other's."""
        first, second = ({name: list(row.values())[place] for name, row in self.scores.items()} for place in (0, 1))
        return spearman(*columns(first, second))


def page(runs: Sequence[ExportedRun], splits: Sequence[ExportedRun]) -> Page | None:
    """Return the page of the finished sets, two at least; `splits` are the runs of C20."""
    used = {name: [run for run in runs if run.study == f"c25_sets_{name}"] for name in SETS[1:]}
    used = {CUB: [run for run in splits if run.study == f"c20_splits_{CUB}" and _is_ours(run)], **used}
    sets = {name: found for name, some in used.items() if (found := _set(some)) is not None}
    if len(sets) < 2:
        return None
    everything = {name: means(one.scores) for name, one in sets.items()}
    kept = distinct_everywhere({name: one.scores for name, one in sets.items()})
    ranked = {name: means(one) for name, one in kept.items()}
    mean, ceiling = mean_correlation(ranked), fmean(one.ceiling for one in sets.values())
    pairs = {pair: rank_correlation(*columns(ranked[pair[0]], ranked[pair[1]])) for pair in combinations(ranked, 2)}
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
        fixed="on 18 November 2026, before the runs; those on CUB are C20's and were known",
        is_first_edition=False,
        counts=(
            "it holds if the mean over pairs of data sets of Spearman's correlation of the losses' mean test MAP@R is "
            "above 0.5 by its 95 % interval (losses resampled, the same in every set); it does not hold if the "
            "interval is below 0.5; otherwise these runs cannot tell."
        ),
        short=(
            f"Mean rank correlation of losses at their defaults over all pairs of {len(sets)} data sets "
            f"{mean}; {ceiling:+.2f} between two seeds of one set."
        ),
        headline=_headline(listed([SHORT[name] for name in sets]), mean, ceiling),
        answers=[
            Answer(
                data="mean over pairs",
                verdict=verdict_of(holds=mean.low > BOUND, fails=mean.high < BOUND),
                sentence=(
                    f"Mean rank correlation over pairs of {len(sets)} sets {mean}, of {n_distinct} losses, those that "
                    f"agree on some set counted once; of all {N_LOSSES}, {mean_correlation(everything)}."
                ),
            )
        ],
        sections=[
            Section(heading="Every pair", text=_matrix(sets, pairs)),
            Section(heading="Without one set", text=_without_one(ranked)),
            Section(heading="What training gains", text=_gains(sets)),
            Section(heading="What the winner of one set costs on another", text=regret(ranked)),
        ],
        pictures=[
            Picture(
                name="c25_sets",
                caption=(
                    "Rank correlation of the losses' mean test MAP@R at their defaults between two data sets, with its "
                    "95 % interval; the dashed line is 0.5."
                ),
                draw=dot_rows({"pairs of data sets": pair_rows(pairs)}, {"pairs of data sets": BOUND}, "correlation"),
                size=(6.4, 1.2 + 0.28 * len(pairs)),
            )
        ],
        limits=[
            "Heads of 128 dimensions on frozen features: of EfficientNet-Lite0 (CUB, Flowers, GTSRB), or simple ones "
            "without a network (ESC-50, CLINC150). Defaults are written for networks: an order of defaults is one of "
            "losses with their settings.",
            "Five sets at most, one split of classes each, one trunk, two seeds. The interval speaks of other losses, "
            "not of other data sets; the second table shows how much one of them changes.",
            "Losses whose scores agree to 0.05 points on both seeds of some set count once, as in C15: with two "
            "seeds, some may agree by chance.",
            *([f"Not finished, left out: {listed(missing)}."] if missing else []),
        ],
        studies=sorted({run.study for run in shown}),
        runs=shown,
    )


def _is_ours(run: ExportedRun) -> bool:
    return run.data == "standard" and (run.method in UNTRAINED or split_label(run.method)[1] == "default")


def _set(runs: Sequence[ExportedRun]) -> _Set | None:
    """Return a data set whose losses have all finished all seeds."""
    scores = {name.removesuffix(", default"): row for name, row in values(finals(runs), METRIC).items()}
    start = untrained(runs, METRIC)
    if start is None or len(scores) < N_LOSSES or any(len(row) < N_SEEDS for row in scores.values()):
        return None
    return _Set(scores=scores, start=start)


def _headline(names: str, mean: Correlation, ceiling: float) -> str:
    said = {
        "holds": "The order of losses at their defaults carries over to other data",
        "does not hold": "The order of losses at their defaults does not carry over to other data",
        "cannot tell": "How far the order of losses at their defaults carries over to other data is open",
    }[verdict_of(holds=mean.low > BOUND, fails=mean.high < BOUND)]
    return (
        f"**{said}**: between {names} it correlates {mean} on average, between two seeds of one set {ceiling:+.2f}; "
        "heads on frozen features."
    )


def _matrix(sets: Mapping[str, _Set], pairs: Mapping[Pair, Correlation]) -> str:
    both = {**pairs, **{(b, a): one for (a, b), one in pairs.items()}}
    rows = [
        [SHORT[a], *(f"({one.ceiling:+.2f})" if a == b else str(both[a, b]) for b in sets)] for a, one in sets.items()
    ]
    note = "In brackets: the order of one seed against that of the other, all 25 losses; no pair can be expected above."
    return f"{table(['', *(SHORT[name] for name in sets)], rows)}\n\n{note}"


def _without_one(ranked: Mapping[str, Mapping[str, float]]) -> str:
    if len(ranked) < 3:
        return "There are two sets."
    rows = []
    for left_out in ranked:
        rest = {name: one for name, one in ranked.items() if name != left_out}
        rows.append([SHORT[left_out], str(mean_correlation(rest))])
    return table(["left out", "mean correlation of the others"], rows)


def _gains(sets: Mapping[str, _Set]) -> str:
    rows = []
    for name, one in sets.items():
        order = means(one.scores)
        below = sum(value < one.start for value in order.values())
        best = max(order.values()) - one.start
        firsts = ", ".join(list(order)[:N_FIRST])
        rows.append([SHORT[name], firsts, points(one.start), signed(best), f"{below} of {N_LOSSES}"])
    header = ["data", "first three", "untrained MAP@R", "gain of the best", "losses below untrained"]
    return table(header, rows, n_text=2)
