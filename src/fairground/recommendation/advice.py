"""What a recommendation found, in sentences: what to use, how sure that is, and whether the test classes agree."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fairground.comparison.comparison_result import Comparison, Pair
from fairground.recommendation.candidates import RAW
from fairground.recommendation.decision import Decision, RankedMethod
from fairground.reporting.headings import duration, heading, show, unit

#: a gap between validation and test beyond this share of 1 is explained
LARGE_GAP = 0.08
#: from so many units on, a comparison's units are groups of classes
MOST_BLOCKS = 24
#: fewer validation classes than this can show large differences alone
FEW_CLASSES = 8


@dataclass(frozen=True, kw_only=True)
class UnsealedScores:
    """What the test classes say once they are open: scores by method and metric, and the pair of chosen and frozen."""

    scores: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    comparison: Comparison | None = None
    n_classes: int = 0
    n_images: int = 0
    #: images that cannot be read
    n_left_out: int = 0
    n_openings: int = 1

    @property
    def is_open(self) -> bool:
        return bool(self.scores)


@dataclass(frozen=True, kw_only=True)
class FoldSummary:
    """How the classes were folded for validation."""

    n_classes: int
    n_folds: int

    @property
    def per_fold(self) -> int:
        return self.n_classes // self.n_folds


def advice_of(found: Decision, test: UnsealedScores, folds: FoldSummary, *, first: str, elapsed: float) -> list[str]:
    """Return the advice, most important sentence first; `first` is the metric that was to decide if it could."""
    metric = found.metric
    return [
        _what_to_take(found, metric),
        *_how_sure(found, metric),
        *_second_metric(found, first),
        *_few_classes(folds),
        *_on_test(found, test, metric),
        *_gap(found, test, folds, metric),
        f"{found.n_tried} {'method was' if found.n_tried == 1 else 'methods were'} tried in {duration(elapsed)}.",
    ]


def table_columns(metrics: Sequence[str], *, is_open: bool) -> tuple[str, ...]:
    """Return the headings of the table: each metric on validation and, once open, on test classes."""
    splits = ("validation", "test") if is_open else ("validation",)
    return ("method", *(f"{heading(metric)}, {split}" for metric in metrics for split in splits), "best", "time")


def table_rows(found: Decision, test: UnsealedScores, metrics: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the rows of the table, the frozen network first; intervals and chances are those of the one comparison."""
    rows = []
    for method in found.methods:
        cells = [method.label + (" (recommended)" if method.label == found.chosen.label else "")]
        for one in metrics:
            cells.append(_validation_cell(found, method, one))
            if test.is_open:
                value = test.scores.get(method.label, {}).get(one)
                cells.append("sealed" if value is None else show(one, value))
        estimate = None if found.comparison is None else found.comparison.estimate(method.label)
        chance = None if estimate is None else estimate.probability_best
        rows.append((*cells, "" if chance is None else f"{100 * chance:.0f} %", duration(method.seconds)))
    return rows


def verdicts_of(found: Decision) -> list[str]:
    """Return the verdict on every method against the frozen network, from the comparison that decided."""
    pairs = [found.against_frozen(method) for method in found.methods]
    return [_capital(f"{verdict_words(pair, found.metric)}.") for pair in pairs if pair is not None]


def verdict_words(pair: Pair, metric: str) -> str:
    """Return a verdict of a comparison whose units are classes."""
    ends = sorted(end for end in (pair.low, pair.high) if end is not None)
    interval = f" [{', '.join(show(metric, end) for end in ends)}]" if ends else ""
    unit_word = "classes" if pair.n_a < MOST_BLOCKS else "groups of classes"
    points = " points" if unit(metric) else ""
    size = f"{show(metric, pair.difference)}{interval}{points}, over {pair.n_a} {unit_word}"
    match pair.verdict:
        case "better":
            return f"{pair.a} is better than {pair.b} by {size}"
        case "equivalent":
            return f"{pair.a} and {pair.b} are equivalent: they differ by {size}"
        case _:
            return f"{pair.a} and {pair.b} cannot be told apart: they differ by {size}"


def _validation_cell(found: Decision, method: RankedMethod, one: str) -> str:
    if one == found.metric and found.comparison is not None:
        estimate = found.comparison.estimate(method.label)
        half = "" if estimate.half_width is None else f" ± {show(one, estimate.half_width)}"
        return f"{show(one, estimate.mean)}{half}"
    return show(one, method.scores[one]) if one in method.scores else ""


def _what_to_take(found: Decision, metric: str) -> str:
    chosen, frozen = found.chosen, found.frozen
    if not found.frozen.scores:
        return f"Take the {frozen.label}: nothing has been measured yet."
    value = f"{heading(metric)} {show(metric, chosen.scores[metric])}{unit(metric)} on validation classes"
    if not found.is_frozen:
        gain = show(metric, abs(chosen.scores[metric] - frozen.scores[metric]))
        return f"Take {chosen.label}: {value}, {gain} points better than the {frozen.label}."
    as_is = f"the {frozen.label} {'as they are' if frozen.label == RAW else 'as it is'}"
    if found.comparison is None:
        return f"Take {as_is}: {value}. There was no time to measure anything else."
    if not any(method.candidate.is_trained for method in found.methods):
        return f"Take {as_is}: {value}. There was no time to measure any training."
    helps = "did not help" if found.is_confirmed else "is not shown to help"
    return f"Training {helps} here: take {as_is}, {value}."


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _how_sure(found: Decision, metric: str) -> list[str]:
    others = [method for method in found.methods if method.label != found.frozen.label]
    if found.comparison is None or not others:
        return []
    shown = found.chosen if not found.is_frozen else others[0]
    pair = found.against_frozen(shown)
    assert pair is not None
    how = (
        f"{found.chosen.n_repeats} fresh {'repeat' if found.chosen.n_repeats == 1 else 'repeats'} of the folds"
        if found.is_confirmed
        else f"one repeat of the folds, corrected for the {found.n_tried} methods tried: there was no time for more"
    )
    return [_capital(f"{verdict_words(pair, metric)}, {how}.")]


def _second_metric(found: Decision, first: str) -> list[str]:
    """Say why the metric that was asked for did not decide."""
    if found.metric == first:
        return []
    own, frozen = (show(first, method.scores[first]) for method in (found.chosen, found.frozen))
    return [
        f"{heading(first)} shows no method better than the {found.frozen.label} ({own} and {frozen} here), so "
        f"{heading(found.metric)} decided among those that are not below it by more than half a point."
    ]


def _few_classes(folds: FoldSummary) -> list[str]:
    if folds.per_fold >= 4 and folds.n_classes >= FEW_CLASSES:
        return []
    return [
        f"Only {folds.n_classes} classes can validate, {folds.per_fold} at a time: two or three classes decide "
        "nothing, so every class validated in turn, beside other classes each time. Small differences cannot be seen "
        "with so few."
    ]


def _on_test(found: Decision, test: UnsealedScores, metric: str) -> list[str]:
    if not test.is_open:
        return ["The test classes are still sealed: they are opened once, when the time is over."]
    own = test.scores[found.chosen.label][metric]
    seen = "" if test.n_openings < 2 else f" They were opened {test.n_openings} times by now, and never chose anything."
    late = f" of {test.n_images + test.n_left_out}" if test.n_left_out else ""
    has = "have" if found.chosen.label == RAW else "has"
    first = (
        f"On {test.n_images}{late} images of {test.n_classes} test classes, opened after this choice, "
        f"{found.chosen.label} {has} {heading(metric)} {show(metric, own)}{unit(metric)}.{seen}"
    )
    pair = _test_pair(found, test)
    return [first] if pair is None else [first, _agreement(found, pair, metric)]


def _test_pair(found: Decision, test: UnsealedScores) -> Pair | None:
    """Return the pair that the test classes judge: chosen and frozen, or frozen and the best other that was opened."""
    if test.comparison is None:
        return None
    names = [method.name for method in test.comparison.methods if method.name != found.frozen.label]
    other = found.chosen.label if not found.is_frozen else next(iter(names), None)
    return None if other is None else test.comparison.pair(other, found.frozen.label)


def _agreement(found: Decision, pair: Pair, metric: str) -> str:
    words = verdict_words(pair, metric)
    if pair.verdict != "better":
        return f"The test classes settle nothing: {words}."
    is_frozen_ahead = pair.a == found.frozen.label
    if is_frozen_ahead == found.is_frozen:
        return f"The test classes agree: {words}."
    if found.is_frozen:
        return f"The test classes disagree: there {words}. Validation could not show it; more time or classes might."
    return f"The test classes disagree: there {words}. Prefer the {found.frozen.label}, in the folder frozen."


def _gap(found: Decision, test: UnsealedScores, folds: FoldSummary, metric: str) -> list[str]:
    if not test.is_open or metric not in found.frozen.scores:
        return []
    validation, tested = found.frozen.scores[metric], test.scores[found.frozen.label][metric]
    if abs(validation - tested) < LARGE_GAP:
        return []
    why = (
        f"a fold has {folds.per_fold} classes to confuse, the test {test.n_classes}"
        if folds.per_fold != test.n_classes
        else "the test classes are of another difficulty"
    )
    if test.n_left_out:
        why += f", and only {test.n_images} of {test.n_images + test.n_left_out} test images can be read"
    has = "themselves have" if found.frozen.label == RAW else "itself has"
    return [
        f"The {found.frozen.label} {has} {show(metric, validation)} on validation and "
        f"{show(metric, tested)} on test classes: {why}, so compare methods within a column, not columns."
    ]
