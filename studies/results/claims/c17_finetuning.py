"""C17: losses on a network that is fine-tuned, next to what heads on frozen features had foretold."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from studies.results.arithmetic import Correlation, Gap, Mean, at_once, mean_of, median_gap, rank_correlation, spearman
from studies.results.figures import compared_dots, dot_rows
from studies.results.page import (
    DATA,
    SHORT,
    Answer,
    Page,
    Picture,
    Section,
    above,
    effect_of,
    in_parts,
    interval,
    listed,
    points,
    signed,
    table,
)
from studies.results.records import ExportedRun
from studies.results.saturation import gap_in_words, saturation_of
from studies.results.select import Table, by_data, columns, finals, means, unfinished, untrained, values

from fairground.comparison.compare_values import compare_values
from fairground.comparison.comparison_result import Comparison
from fairground.papers.published_numbers import published_rows

STUDIES = ("c17_finetuning_cub200", "c17_finetuning_cars196")
METRIC = "map@r"
#: a data set of photographs, and the features of the same pictures
FEATURES_OF = {"cub200_photographs": "cub200", "cars196_photographs": "cars196"}
#: Musgrave et al.'s tables of the same data
PUBLISHED = {"cub200": "mlrc2020/table4", "cars196": "mlrc2020/table5", "sop": "mlrc2020/table6"}
#: a correlation that a cheap study would have to have
USEFUL = 0.5
#: a correlation, a distance and a gain on each of two sets
N_VERDICTS = 6


@dataclass(frozen=True, kw_only=True)
class _Set:
    """One data set: its fine-tuned runs by method and seed, the frozen row, and the heads of C1 by method."""

    name: str
    tuned: Table
    recall: dict[str, float]
    frozen: float
    heads: dict[str, float]

    @property
    def means(self) -> dict[str, float]:
        """Each method's mean, best first."""
        return means(self.tuned)

    @property
    def compared(self) -> Comparison:
        """All pairs of methods, with intervals that hold at once."""
        return compare_values(self.tuned)

    @property
    def gap(self) -> Gap:
        """How far the median method is below the best, with an interval that holds at once for the page."""
        return median_gap(compare_values(self.tuned, level=at_once(N_VERDICTS)))

    @property
    def gain(self) -> Mean:
        """What fine-tuning gains over the frozen row: one mean per method."""
        return mean_of([value - self.frozen for value in self.means.values()], level=at_once(N_VERDICTS))

    @property
    def line(self) -> float:
        """The difference that matters: a tenth of what the best method gains."""
        return max(0.0, max(self.means.values()) - self.frozen) / 10

    @property
    def foretold(self) -> Correlation:
        """How the order of heads on frozen features goes with that of fine-tuned networks."""
        return rank_correlation(*columns(self.heads, self.means), level=at_once(N_VERDICTS))


def page(runs: Sequence[ExportedRun], field: Sequence[ExportedRun]) -> Page | None:
    """Return the page of the runs of `STUDIES`, and of C1 for what heads reach."""
    sets = [one for data, some in by_data(runs, DATA).items() if (one := _set(data, some, field)) is not None]
    if not sets:
        return None
    features = {FEATURES_OF[one.name] for one in sets}
    with_paper = {
        FEATURES_OF[one.name]: spearman(*columns(published(FEATURES_OF[one.name]), one.heads)) for one in sets
    }
    used = [*runs, *(run for run in field if run.data in features and run.is_final)]
    return Page(
        name="c17_finetuning",
        title="C17. Do the answers hold for a network that is fine-tuned?",
        question=(
            "How far apart are losses when all weights of EfficientNet-Lite0 train on photographs, and does a cheap "
            "study of heads on frozen features foretell their order?"
        ),
        source=(
            "Both papers fine-tune: Musgrave et al., 4.2, and Roth et al., 4.4, find losses close together. Whether a "
            "study of heads, at a small part of the cost, gives the same order is what every cheap comparison rests on."
        ),
        fixed="before the runs (17 November 2026)",
        counts=(
            "heads foretell fine-tuning if Spearman's correlation of the methods' mean test MAP@R in both is above 0.5 "
            "by the lower end of its interval (methods resampled), and do not if the upper end is below 0.5. "
            "Losses are "
            "saturated by the rule of C1, with what the best fine-tuned method gains over the frozen network at the "
            "same size. Fine-tuning helps if the mean gain over that row (one mean per method, t over the methods) is "
            "above 0, and the opposite holds if it is below; within a tenth of the best method's gain there is no "
            "difference that matters. Otherwise these runs cannot tell. The intervals of the six verdicts hold at once "
            "at 95 %."
        ),
        short=_short(sets),
        headline="**Nothing shows yet that heads tell which loss to fine-tune with.** The order of 14 losses as heads "
        "correlates "
        + listed([f"{value:+.2f} ({SHORT[data]})" for data, value in with_paper.items()])
        + " with Musgrave et al.'s fine-tuned tables; our own fine-tuning of 8 losses at 96 pixels cannot tell.",
        answers=[answer for one in sets for answer in _answers(one)],
        sections=[
            *(Section(heading=DATA[one.name], text=_table(one)) for one in sets),
            Section(heading="What validation classes saw", text=_validation(runs)),
            Section(heading="Next to Musgrave et al.", text=_next_to_the_paper(sets)),
            Section(heading="Heads against the paper", text=_heads_and_paper(sets)),
        ],
        pictures=[
            Picture(
                name="c17_finetuning",
                caption=(
                    "Test MAP@R in per cent after fine-tuning at 96 pixels: mean with its 95 % interval, single seeds "
                    "as dots; the dashed line is the same network frozen, on its principal axes."
                ),
                draw=dot_rows(
                    {one.name: compared_dots(one.compared, one.tuned) for one in sets},
                    {one.name: 100 * one.frozen for one in sets},
                    "MAP@R, %",
                ),
                size=(4.2 * len(sets), 3.2),
            )
        ],
        limits=[
            "96 pixels, where these weights are used to 224: the network sees too little, and fine-tuning has more to "
            "gain than at full size.",
            "About one pass over the training pictures (5,120 of them in batches of 64): methods that learn fast are "
            "favoured. One learning rate for all, found by two single runs on validation classes of CUB.",
            "Settings of losses are those that C1 selected for heads: none is tuned for this network. On Cars most "
            "methods are below the start after the first epoch: it ranks how well they bear a rate that is too high.",
            "Heads see 224 pixels and networks 96: two things change at once.",
            f"{len(sets[0].tuned)} methods: a rank correlation of so few has a wide interval.",
            *unfinished(runs),
        ],
        studies=sorted({run.study for run in used}),
        runs=used,
    )


def _set(data: str, runs: Sequence[ExportedRun], field: Sequence[ExportedRun]) -> _Set | None:
    """Return one data set's part, once its methods have two seeds and the frozen row is there."""
    some, frozen = finals(runs), untrained([run for run in runs if run.method == "Frozen"], METRIC)
    tuned = values(some, METRIC)
    heads = means(values(finals([run for run in field if run.data == FEATURES_OF[data]]), METRIC))
    if frozen is None or len(tuned) < 3 or min(map(len, tuned.values())) < 2:
        return None
    return _Set(name=data, tuned=tuned, recall=means(values(some, "recall@1")), frozen=frozen, heads=heads)


def _answers(one: _Set) -> list[Answer]:
    foretold, gap, gain = one.foretold, one.gap, one.gain
    said = (
        (
            "heads foretell the order",
            above(foretold, USEFUL),
            _foretold_in_words(foretold),
        ),
        ("losses are saturated", saturation_of(gap, one.line), _gap_in_words(gap, one)),
        ("fine-tuning helps", effect_of(gain, one.line), _gain_in_words(gain, one)),
    )
    return in_parts(one.name, said)


def _foretold_in_words(found: Correlation) -> str:
    return f"Rank correlation of fine-tuned networks with heads on frozen features {found}."


def _gap_in_words(gap: Gap, one: _Set) -> str:
    found = one.means
    return f"{gap_in_words(gap)}; best to worst {points(max(found.values()) - min(found.values()))}."


def _gain_in_words(gain: Mean, one: _Set) -> str:
    n_below = sum(value < one.frozen for value in one.means.values())
    return (
        f"Methods gain {signed(gain.mean)} points of MAP@R on average over the frozen network at this size, interval "
        f"{interval(gain.low, gain.high)}; {n_below} of {len(one.tuned)} methods end below it."
    )


def _short(sets: Sequence[_Set]) -> str:
    names = [SHORT[FEATURES_OF[one.name]] for one in sets]
    gains, gaps, orders = (
        listed([f"{value} ({name})" for name, value in zip(names, column, strict=True)])
        for column in zip(
            *((signed(one.gain.mean), points(one.gap.difference), f"{one.foretold.value:+.2f}") for one in sets),
            strict=True,
        )
    )
    return (
        f"Fine-tuning gains {gains} points of MAP@R over the frozen network; the median loss is {gaps} below the best; "
        f"the rank correlation with heads is {orders}."
    )


def _table(one: _Set) -> str:
    rows = []
    for estimate in one.compared.methods:
        name = estimate.name
        half = "" if estimate.half_width is None else f" ± {points(estimate.half_width)}"
        head = points(one.heads[name]) if name in one.heads else ""
        gain = signed(estimate.mean - one.frozen)
        rows.append([name, f"{points(estimate.mean)}{half}", gain, points(one.recall[name]), head])
    header = ["method", "MAP@R, fine-tuned", "over the frozen row", "Recall@1, fine-tuned", "MAP@R of heads (C1)"]
    n = min(len(row) for row in one.tuned.values())
    note = (
        f"{n} seeds per method; the frozen network has {points(one.frozen)} MAP@R at this size. Heads see 224 pixels."
    )
    return f"{table(header, rows)}\n\n{note}"


def _validation(runs: Sequence[ExportedRun]) -> str:
    """Return validation MAP@R before training, after the first epoch and at the selected one, means over seeds."""
    rows = []
    for data, some in by_data(runs, DATA).items():
        curves: dict[str, list[tuple[float, float, float]]] = {}
        for run in finals(some):
            curve = run.epochs.get(("validation", METRIC), {})
            if run.best_epoch and {0, 1, run.best_epoch} <= curve.keys():
                curves.setdefault(run.method, []).append((curve[0], curve[1], curve[run.best_epoch]))
        found = {method: np.mean(ends, axis=0) for method, ends in curves.items()}
        for method, ends in sorted(found.items(), key=lambda one: -one[1][2]):
            rows.append([SHORT[data], method, *map(points, ends), signed(ends[2] - ends[0])])
    header = ["data", "method", "before training", "after the first epoch", "at the selected one", "change"]
    note = (
        "Means over seeds. An epoch is selected among those that trained: where the change is negative, training did "
        "not get back to where it began. Margin (D) has the margins that suit heads, so wide that all tuples are "
        "active (C1)."
    )
    return f"{table(header, rows, n_text=2)}\n\n{note}"


def _next_to_the_paper(sets: Sequence[_Set]) -> str:
    """Return the losses that Musgrave et al. have too: their means, and how far they lie apart in each column."""
    blocks = []
    for one in sets:
        sources = (published(FEATURES_OF[one.name]), one.means, one.heads)
        shared = [name for name in one.means if all(name in source for source in sources)]
        scores = np.array([[source[name] for source in sources] for name in shared])
        best = scores.max(0)
        rows = [[name, *map(points, row)] for name, row in zip(shared, scores, strict=True)]
        rows.append(["best - median", *map(points, best - np.median(scores, axis=0))])
        rows.append(["best - worst", *map(points, best - scores.min(0))])
        blocks.append(table([f"{SHORT[one.name]}, MAP@R", "Musgrave et al.", "fine-tuned here", "heads here"], rows))
    note = (
        "Theirs: BN-Inception fine-tuned to convergence at 227 pixels, 128 dimensions, single models of four folds "
        "(their tables 4 and 5). Margin is left out: here it mines by distance, theirs does not."
    )
    return "\n\n".join([*blocks, note])


def _heads_and_paper(sets: Sequence[_Set]) -> str:
    """Return how the heads of C1, and the networks fine-tuned here, order the losses of the paper."""
    rows = []
    for one in sets:
        paper = published(FEATURES_OF[one.name])
        for name, scores in (("heads (C1)", one.heads), ("fine-tuned here", one.means)):
            shared = [loss for loss in paper if loss in scores]
            value = spearman(*columns(paper, scores))
            rows.append([f"{SHORT[one.name]}, {name}", str(len(shared)), f"{value:+.2f}"])
    header = ["order of", "losses", "rank correlation with Musgrave et al., MAP@R of single models"]
    return table(header, rows)


def published(data: str) -> dict[str, float]:
    """Return the paper's MAP@R of single models by loss, as shares of one."""
    rows = published_rows(PUBLISHED[data], dataset=data, metric=METRIC)
    return {row.row.replace(" / ", "/"): row.right_value / 100 for row in rows if row.setting == "separated"}
