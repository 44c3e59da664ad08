"""What is recommended, and in which sentences.

The search chooses (see `search`); one comparison (`compare_values`) of the chosen method, the frozen network and the
best of each other kind says how sure that is. Its units are validation classes that all of them were measured on. It is
made for the metric that was asked for and for MAP@R, each with half the error; the first that shows a difference from
the frozen network is shown.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import NamedTuple

import numpy as np

from fairground.comparison.compare_values import compare_values
from fairground.comparison.comparison_result import LEVEL, Comparison, Pair
from fairground.evaluation import BootstrapInterval, EmbeddingView, Evaluation
from fairground.recommendation.methods import Method
from fairground.recommendation.request import RAW
from fairground.recommendation.sealed_classes_and_folds import ENOUGH
from fairground.recommendation.search import Search
from fairground.reporting.headings_and_units import duration, heading, show, unit

#: a comparison needs no more units than this; more classes are grouped
MOST_UNITS = 24
#: a difference that does not matter: the default, half the deviation between runs, is ten points between classes
MARGIN = 0.01


@dataclass(frozen=True, kw_only=True)
class Decision:
    """`chosen` is what to use; `comparison` is that of `methods` by `metric`, the frozen network first.

    `scores` are means over the classes that all of them validated on.
    """

    metric: str
    chosen: Method
    methods: Sequence[Method]
    scores: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    comparison: Comparison | None = None
    n_tried: int = 0
    #: whether the chosen training was best where it ended
    still_improves: bool = False

    @property
    def frozen(self) -> Method:
        return self.methods[0]

    @property
    def best_closed(self) -> Method:
        """The frozen network, or the closed form that is compared with it where it scores more."""
        some = [one for one in self.methods if one.trains == "nothing"]
        return max(some, key=lambda one: self.scores_of(one).get(self.metric, 0.0))

    @property
    def is_frozen(self) -> bool:
        return self.chosen is self.frozen

    def scores_of(self, method: Method) -> Mapping[str, float]:
        return self.scores.get(method.label, {})

    def pair(self, method: Method) -> Pair | None:
        """Return how a method compares with the frozen network."""
        if self.comparison is None or method is self.frozen:
            return None
        return self.comparison.pair(method.label, self.frozen.label)


class Bar(NamedTuple):
    """A score, or a gain, with the ends of its interval; `role` is "recommended", "simple", or nothing."""

    name: str
    role: str
    text: str
    value: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class UnsealedScores:
    """What the test classes say once they are open: scores by method and metric, and the pair of chosen and frozen.

    `intervals` are bootstraps over classes. Where the frozen network is chosen, the pair is that of the best other.
    """

    scores: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    intervals: Mapping[str, Mapping[str, BootstrapInterval]] = field(default_factory=dict)
    views: Mapping[str, EmbeddingView] = field(default_factory=dict)
    rows: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))
    pair: Pair | None = None
    n_classes: int = 0
    #: images that cannot be read
    n_left_out: int = 0
    n_openings: int = 1


def decide(search: Search | None, frozen: Method) -> Decision:
    if search is None or not search.known.folds(frozen.label):
        return Decision(metric="map@r", chosen=frozen, methods=(frozen,))
    request, known, chosen = search.request, search.known, search.chosen()
    frozen = next(iter(search.entered.values()))
    methods = list({one.label: one for one in (frozen, *search.best_of_each(), chosen)}.values())
    folds = sorted(set.intersection(*({*known.folds(one.label)} for one in methods)))
    by_class = {
        metric: {one.label: known.by_class(one.label, metric, folds) for one in methods} for metric in request.metrics
    }
    marks = [one.steps for one in search.entered.values() if one.training == chosen.training]
    found = Decision(
        metric=request.by,
        chosen=chosen,
        methods=methods,
        scores={one.label: {name: fmean(of[one.label].values()) for name, of in by_class.items()} for one in methods},
        n_tried=len({label for label, _ in known}),
        still_improves=chosen.steps == max(marks, default=0),
    )
    if len(methods) < 2:
        return found
    by_metric = []
    for metric in request.deciding:
        units = {label: _units(list(of.values())) for label, of in by_class[metric].items()}
        comparison = compare_values(units, level=1 - (1 - LEVEL) / len(request.deciding), margin=MARGIN)
        by_metric.append(replace(found, metric=metric, comparison=comparison))
    # The first that shows a difference; of the others, what is open says more than what is equal.
    says = ("better", "unsettled", "equivalent")
    return min(by_metric, key=lambda one: says.index(pair.verdict) if (pair := one.pair(chosen)) else 0)


def compared(found: Mapping[str, Evaluation], decision: Decision) -> Pair | None:
    """Compare the frozen network with the chosen method on test classes, or with the best other where it is chosen."""
    frozen = decision.frozen.label
    others = [label for label in found if label != frozen and (decision.is_frozen or label == decision.chosen.label)]
    if not others:
        return None
    units = {one: _units(np.nan_to_num(found[one].per_class[decision.metric])) for one in (frozen, others[0])}
    return next(iter(compare_values(units, margin=MARGIN).pairs), None)


def advice_of(found: Decision, test: UnsealedScores, search: Search | None, *, elapsed: float) -> list[str]:
    """Return the advice, most important sentence first."""
    sentences = [_what_to_take(found, test), *_how_sure(found)]
    if search is not None and search.folds.n_per_fold < ENOUGH:
        few = f"Only {len(search.folds.classes)} classes can validate, {search.folds.n_per_fold} at a time"
        sentences.append(f"{few}: small differences cannot be seen with so few.")
    tried = "method was tried" if found.n_tried == 1 else "methods were tried"
    return [*sentences, *_on_test(found, test), f"{found.n_tried} {tried} in {duration(elapsed)}."]


def table_of(found: Decision, test: UnsealedScores, metrics: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """Return the headings and rows of the table, the frozen network first.

    Scores are those of the test classes, once open. A few validation classes are easier to tell apart than many test
    classes, so validation shows differences from the frozen network alone, with the intervals of the comparison.
    """
    columns = ["method"]
    if test.scores:
        columns += [f"{heading(metric)}, test" for metric in metrics]
    columns += [f"{heading(metric)}, gain on validation" for metric in metrics]
    rows = []
    for method in found.methods:
        cells = [method.title + (" (recommended)" if method is found.chosen else "")]
        if test.scores:
            scores = test.scores.get(method.label, {})
            cells += [show(metric, scores[metric]) if metric in scores else "not opened" for metric in metrics]
        for metric in metrics:
            gain, half = _gain(found, method, metric)
            is_known = method is not found.frozen and found.scores
            cells.append(_signed(metric, gain) + (f" ± {show(metric, half)}" if half else "") if is_known else "")
        rows.append(cells)
    return columns, rows


def bars_of(found: Decision, test: UnsealedScores, metric: str) -> list[Bar]:
    """Return test scores with their intervals; before the test is open, gains on validation classes."""
    made = []
    for method in found.methods:
        is_simple = method.trains == "nothing" and method is not found.frozen
        role = "recommended" if method is found.chosen else "simple" if is_simple else ""
        if not test.scores:
            gain, half = _gain(found, method, metric)
            made.append(Bar(method.title, role, _signed(metric, gain), gain, gain - (half or 0), gain + (half or 0)))
        elif method.label in test.scores:
            score = test.scores[method.label][metric]
            ends = test.intervals[method.label][metric]
            made.append(Bar(method.title, role, show(metric, score), score, ends.low, ends.high))
    return made


def verdicts_of(found: Decision) -> list[str]:
    """Return the verdict on every method against the frozen network."""
    told = ((one.title, verdict_words(pair, found)) for one in found.methods if (pair := found.pair(one)))
    return [f"{title[:1].upper()}{title[1:]}: {words}." for title, words in told]


def verdict_words(pair: Pair, found: Decision) -> str:
    metric, frozen, difference = found.metric, found.frozen, pair.difference
    ends = [end for end in (pair.low, pair.high) if end is not None]
    if pair.verdict != "better" and pair.a == frozen.label:
        # From the view of the other method, as in the table.
        difference, ends = -difference, [-end for end in ends]
    interval = f" [{', '.join(show(metric, end) for end in sorted(ends))}]" if ends else ""
    kind = "classes" if pair.n_a < MOST_UNITS else "groups of classes"
    points = " points" if unit(metric) else ""
    size = f"{show(metric, difference)}{interval}{points} of {heading(metric)}, over {pair.n_a} {kind}"
    if pair.verdict == "better":
        return f"{'worse' if pair.a == frozen.label else 'better'} than the {frozen.title} by {size}"
    are = "equivalent to" if pair.verdict == "equivalent" else "not significantly different from"
    return f"{are} the {frozen.title}, a difference of {size}"


def _units(values: Sequence[float] | np.ndarray) -> dict[int, float]:
    """Return values of classes, or the means of groups of them where they are many."""
    groups = np.array_split(np.random.default_rng(len(values)).permutation(len(values)), min(len(values), MOST_UNITS))
    return {number: float(np.mean(np.asarray(values)[group])) for number, group in enumerate(groups)}


def _what_to_take(found: Decision, test: UnsealedScores) -> str:
    """Say it so that it can be passed on: how many searches find the right class first."""
    chosen, frozen = found.chosen, found.frozen
    as_is = f"the {frozen.title} {'as they are' if frozen.title == RAW else 'as it is'}"
    if not found.scores:
        return f"Use {as_is}: nothing has been measured yet."
    first, where = "of searches find the right class first", f"the {test.n_classes} classes kept for the test"
    hits = {label: f"{100 * scores['recall@1']:.1f} %" for label, scores in test.scores.items()}
    if found.is_frozen:
        because = "nothing that was tried is better by more than the noise"
        if found.n_tried < 2:
            because = "there was no time to measure anything else"
        known = f" On {where}, {hits[frozen.label]} {first}." if hits else ""
        return f"Use {as_is}: {because}.{known}"
    if hits:
        found_first = f"{hits[chosen.label]} {first}, instead of {hits[frozen.label]} with the {frozen.title}"
        mine, its = test.scores[chosen.label], test.scores[frozen.label]
        if mine["recall@1"] == its["recall@1"]:
            found_first = f"{hits[chosen.label]} {first}, as with the {frozen.title}"
            found_first += f"; MAP@R is {show('map@r', mine['map@r'])} instead of {show('map@r', its['map@r'])}"
        if mine["recall@1"] < its["recall@1"]:
            return f"Validation classes chose the {chosen.title}, but on {where} only {found_first}."
        return f"Use the {chosen.title}: on {where}, {found_first}."
    gain, _ = _gain(found, chosen, "recall@1")
    more = f"{100 * abs(gain):.1f} points {'more' if gain >= 0 else 'fewer'}"
    return f"Use the {chosen.title}: on validation classes, {more} {first} than with the {frozen.title}."


def _gain(found: Decision, method: Method, metric: str) -> tuple[float, float | None]:
    """Return the difference from the frozen network on validation classes, and half its interval where it has one."""
    scores, first = found.scores_of(method), found.scores_of(found.frozen)
    pair = found.pair(method) if metric == found.metric else None
    half = None if pair is None or pair.low is None or pair.high is None else abs(pair.high - pair.low) / 2
    return scores.get(metric, 0.0) - first.get(metric, 0.0), half


def _signed(metric: str, value: float) -> str:
    return ("+" if value > 0 else "") + show(metric, value)


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
    n = len(test.rows)
    of_all = f" of {n + test.n_left_out}" if test.n_left_out else ""
    noun = "items" if found.frozen.title == RAW else "images"
    sentences = [f"The test is {n}{of_all} {noun} of {test.n_classes} classes, opened after this choice.{seen}"]
    if test.pair is not None:
        words = verdict_words(test.pair, found)
        if test.pair.verdict != "better":
            sentences.append(f"The test classes settle nothing: {words}.")
        elif (test.pair.a == found.frozen.label) == found.is_frozen:
            sentences.append(f"The test classes agree: {words}.")
        else:
            sentences.append(f"The test classes disagree: {words}.")
    return sentences
