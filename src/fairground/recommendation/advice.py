"""What is recommended, and in which sentences.

The search chooses (see `search`); one comparison (`compare_values`) of the chosen method, the frozen network and the
best of each other kind says how sure that is. Its units are validation classes that all of them were measured on. It is
made for the metric that was asked for and for MAP@R, each with half the error; the first that shows a difference from
the frozen network is shown.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

import numpy as np

from fairground.comparison.compare_values import compare_values
from fairground.comparison.comparison_result import LEVEL, Comparison, Pair
from fairground.recommendation.class_folds import ENOUGH
from fairground.recommendation.methods import Method
from fairground.recommendation.request import RAW
from fairground.recommendation.search import Search
from fairground.reporting.headings_and_units import duration, heading, show, unit

#: fewer validation classes than this can show large differences alone
FEW_CLASSES = 8
#: a comparison needs no more units than this; more classes are grouped
MOST_UNITS = 24


@dataclass(frozen=True, kw_only=True)
class Decision:
    """`chosen` is what to use; `comparison` is that of `methods` by `metric`, the frozen network first.

    `scores` are means over the classes that all of them validated on, `n_classes` of them.
    """

    metric: str
    chosen: Method
    methods: Sequence[Method]
    scores: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    comparison: Comparison | None = None
    n_classes: int = 0
    n_tried: int = 0
    #: whether the chosen training was best where it ended
    still_improves: bool = False

    @property
    def frozen(self) -> Method:
        return self.methods[0]

    @property
    def is_frozen(self) -> bool:
        return self.chosen is self.frozen

    def scores_of(self, method: Method) -> Mapping[str, float]:
        return self.scores.get(method.label, {})

    def pair(self, method: Method) -> Pair | None:
        """Return how a method compares with the frozen network."""
        is_compared = self.comparison is not None and method is not self.frozen
        return self.comparison.pair(method.label, self.frozen.label) if self.comparison and is_compared else None


@dataclass(frozen=True, kw_only=True)
class UnsealedScores:
    """What the test classes say once they are open: scores by method and metric, and the pair of chosen and frozen.

    Where the frozen network is chosen, the pair is that of the best other method.
    """

    scores: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    pair: Pair | None = None
    n_classes: int = 0
    n_images: int = 0
    #: images that cannot be read
    n_left_out: int = 0
    n_openings: int = 1


def decide(search: Search | None, frozen: Method) -> Decision:
    if search is None or not search.known.folds(frozen.label):
        return Decision(metric="map@r", chosen=frozen, methods=(frozen,))
    request, known, chosen = search.request, search.known, search.chosen()
    frozen = next(iter(search.entered.values()))
    others = [one for kind in ("nothing", "head", "network") if (one := search.best([kind])) and one is not frozen]
    methods = list({one.label: one for one in (frozen, *others, chosen)}.values())
    folds = sorted(set.intersection(*({*known.folds(one.label)} for one in methods)))
    by_class = {
        metric: {one.label: known.by_class(one.label, metric, folds) for one in methods} for metric in request.metrics
    }
    marks = [one.steps for one in search.entered.values() if one.training == chosen.training]
    found = []
    for metric in request.deciding:
        comparison = None
        if len(methods) > 1:
            units = {label: dict(enumerate(_units(list(of.values())))) for label, of in by_class[metric].items()}
            comparison = compare_values(units, level=1 - (1 - LEVEL) / len(request.deciding))
        found.append(
            Decision(
                metric=metric,
                chosen=chosen,
                methods=methods,
                scores={
                    one.label: {name: fmean(of[one.label].values()) for name, of in by_class.items()} for one in methods
                },
                comparison=comparison,
                n_classes=len(by_class[metric][frozen.label]),
                n_tried=len({label for label, _ in known}),
                still_improves=chosen.steps == max(marks, default=0),
            )
        )

    def shows(decision: Decision) -> bool:
        pair = decision.pair(chosen)
        return pair is not None and pair.verdict == "better"

    return next((one for one in found if shows(one)), found[0])


def compared(by_class: Mapping[str, Mapping[int, float]], decision: Decision) -> Pair | None:
    """Compare the frozen network with the chosen method on test classes, or with the best other where it is chosen."""
    frozen = decision.frozen.label
    others = [label for label in by_class if label != frozen and (decision.is_frozen or label == decision.chosen.label)]
    if not others:
        return None
    units = {one: dict(enumerate(_units(list(by_class[one].values())))) for one in (frozen, others[0])}
    return next(iter(compare_values(units).pairs), None)


def advice_of(found: Decision, test: UnsealedScores, search: Search | None, *, elapsed: float) -> list[str]:
    """Return the advice, most important sentence first."""
    sentences = [_what_to_take(found, test), *_how_sure(found)]
    if search is not None and (search.folds.n_per_fold < ENOUGH or len(search.folds.classes) < FEW_CLASSES):
        few = f"Only {len(search.folds.classes)} classes can validate, {search.folds.n_per_fold} at a time"
        sentences.append(f"{few}: small differences cannot be seen with so few.")
    tried = "method was tried" if found.n_tried == 1 else "methods were tried"
    return [*sentences, *_on_test(found, test), f"{found.n_tried} {tried} in {duration(elapsed)}."]


def table_of(found: Decision, test: UnsealedScores, metrics: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """Return the headings and rows of the table, the frozen network first.

    Each metric has a column for validation and, once open, one for test classes. Intervals are those of the comparison.
    """
    splits = ("validation", "test") if test.scores else ("validation",)
    columns = ["method", *(f"{heading(metric)}, {split}" for metric in metrics for split in splits)]
    rows = []
    for method in found.methods:
        estimate = None if found.comparison is None else found.comparison.estimate(method.label)
        cells = [method.title + (" (recommended)" if method is found.chosen else "")]
        for metric in metrics:
            score = found.scores_of(method).get(metric)
            half = None if estimate is None or metric != found.metric else estimate.half_width
            cells.append("" if score is None else show(metric, score) + (f" ± {show(metric, half)}" if half else ""))
            if test.scores:
                value = test.scores.get(method.label, {}).get(metric)
                cells.append("sealed" if value is None else show(metric, value))
        rows.append(cells)
    return columns, rows


def verdicts_of(found: Decision) -> list[str]:
    """Return the verdict on every method against the frozen network."""
    pairs = ((method, found.pair(method)) for method in found.methods[1:])
    return [f"{_capital(method.title)}: {verdict_words(pair, found)}." for method, pair in pairs if pair]


def verdict_words(pair: Pair, found: Decision) -> str:
    ends = sorted(end for end in (pair.low, pair.high) if end is not None)
    metric, frozen = found.metric, found.frozen
    interval = f" [{', '.join(show(metric, end) for end in ends)}]" if ends else ""
    kind = "classes" if pair.n_a < MOST_UNITS else "groups of classes"
    points = " points" if unit(metric) else ""
    size = f"{show(metric, pair.difference)}{interval}{points} of {heading(metric)}, over {pair.n_a} {kind}"
    if pair.verdict == "better":
        return f"{'worse' if pair.a == frozen.label else 'better'} than the {frozen.title} by {size}"
    are = "equivalent to" if pair.verdict == "equivalent" else "not told apart from"
    return f"{are} the {frozen.title}, a difference of {size}"


def _units(values: Sequence[float]) -> list[float]:
    """Return values of classes, or the means of groups of them where they are many."""
    groups = np.array_split(np.random.default_rng(len(values)).permutation(len(values)), min(len(values), MOST_UNITS))
    return [float(np.mean(np.asarray(values)[group])) for group in groups]


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _what_to_take(found: Decision, test: UnsealedScores) -> str:
    chosen, frozen = found.chosen, found.frozen
    as_is = f"the {frozen.title} {'as they are' if frozen.title == RAW else 'as it is'}"
    if not found.scores:
        return f"Use {as_is}: nothing has been measured yet."
    if found.is_frozen:
        if found.comparison is None:
            return f"Use {as_is}: there was no time to measure anything else."
        return f"Use {as_is}: nothing that was tried is better by more than the noise."
    where, scores = ("test", test.scores) if chosen.label in test.scores else ("validation", found.scores)
    gains = []
    for metric in dict.fromkeys(("recall@1", "map@r", found.metric)):
        before, after = (scores[one.label][metric] for one in (frozen, chosen))
        gains.append(f"{heading(metric)} {show(metric, before)} to {show(metric, after)}{unit(metric)}")
    return f"Use the {chosen.title}: on {where} classes it brings {', '.join(gains)}."


def _how_sure(found: Decision) -> list[str]:
    other = found.methods[1] if found.is_frozen and len(found.methods) > 1 else found.chosen
    pair = found.pair(other)
    if pair is None:
        return []
    sure = "" if found.is_frozen or pair.verdict == "better" else " It is the best bet, not a proven one."
    return [f"On validation classes the {other.title} is {verdict_words(pair, found)}.{sure}"]


def _on_test(found: Decision, test: UnsealedScores) -> list[str]:
    """Say what the test classes say and whether they agree."""
    if not test.scores:
        return ["The test classes are still sealed: they are opened once, when the time is over."]
    seen = "" if test.n_openings < 2 else f" They were opened {test.n_openings} times by now, and never chose anything."
    of_all = f" of {test.n_images + test.n_left_out}" if test.n_left_out else ""
    sentences = [
        f"The test is {test.n_images}{of_all} images of {test.n_classes} classes, opened after this choice.{seen}"
    ]
    if test.pair is not None:
        words = verdict_words(test.pair, found)
        if test.pair.verdict != "better":
            sentences.append(f"The test classes settle nothing: {words}.")
        elif (test.pair.a == found.frozen.label) == found.is_frozen:
            sentences.append(f"The test classes agree: {words}.")
        else:
            sentences.append(f"The test classes disagree: {words}.")
    return sentences
