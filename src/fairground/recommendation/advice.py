"""What is recommended, and in which sentences.

A method that beats the frozen network beyond noise on validation classes is recommended, or that network.

Formula
    a block is a class, or a group of classes where there are many; y_ib = the score of method i on block b, mean over
    the fresh repeats. One comparison (`compare_values`) of all finalists has blocks as its units: advice, ranking,
    verdicts and probabilities are read from it alone. Where the first metric shows nothing better than the frozen
    network, the second decides among those that are at most half a point below it by the first; each has half the
    error.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from fairground.comparison.compare_values import compare_values
from fairground.comparison.comparison_result import LEVEL, Comparison, Pair
from fairground.recommendation.candidates import RAW, Candidate
from fairground.recommendation.cross_validation import ENOUGH, MOST_BLOCKS, ClassFolds
from fairground.recommendation.race import Race
from fairground.recommendation.recommendation_folder import Measurements
from fairground.reporting.headings_and_units import duration, heading, show, unit

#: a method this much below the frozen network by the first metric may still be chosen by the second
NOT_BELOW = 0.005
#: the highest level a comparison can have
MOST_LEVEL = 0.999
#: methods that are compared where no fresh repeat is complete, the frozen network among them
MOST_UNCONFIRMED = 5
#: a gap between validation and test beyond this share of 1 is explained
LARGE_GAP = 0.08
#: fewer validation classes than this can show large differences alone
FEW_CLASSES = 8


@dataclass(frozen=True)
class RankedMethod:
    """One method with its validation scores by metric: means over repeats and classes, or blocks of classes."""

    candidate: Candidate
    scores: dict[str, float]
    n_repeats: int
    seconds: float

    @property
    def label(self) -> str:
        return self.candidate.label


@dataclass(frozen=True)
class Decision:
    """`chosen` is what to use; `comparison` is that of `methods` by `metric`, the frozen network first."""

    metric: str
    chosen: RankedMethod
    methods: Sequence[RankedMethod]
    comparison: Comparison | None
    n_tried: int
    #: whether fresh repeats decided; otherwise repeat 0 did, at a level corrected for all that were tried
    is_confirmed: bool

    @property
    def frozen(self) -> RankedMethod:
        return self.methods[0]

    @property
    def is_frozen(self) -> bool:
        return self.chosen is self.frozen


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


def decide(race: Race) -> Decision:
    known, plain, by = race.known, race.untrained[0], race.request.by
    counts = {one.label: known.n_fresh(one.label) for one in race.finalists}
    least = 2 if any(count >= 2 for count in counts.values()) else 1
    finalists = [one for one in race.finalists if counts[one.label] >= least]
    is_confirmed = len(finalists) > 1 and finalists[0].label == plain.label
    if not is_confirmed:
        # No fresh repeat is complete: the frozen network and the best of repeat 0.
        ranked = sorted(race.entered.values(), key=lambda one: (one.label != plain.label, -race.rank(one)))
        finalists = ranked[:MOST_UNCONFIRMED] if plain.label in race.entered else [plain]
    n_tried = len({label for label, _ in known})
    # The best of repeat 0 were picked from all that were tried, so all of them count as compared.
    n_looks = len(race.request.deciding) * (1 if is_confirmed else max(n_tried, 1))
    level = min(MOST_LEVEL, 1 - (1 - LEVEL) / n_looks)
    repeats = range(1, min(counts[one.label] for one in finalists) + 1) if is_confirmed else range(1)
    frozen, *others = (_ranked(known, one, repeats) for one in finalists)
    found = []
    for metric in race.request.deciding:
        chosen, comparison = frozen, None
        if others:
            values = {one.label: dict(enumerate(known.blocks(one.label, repeats, metric))) for one in (frozen, *others)}
            comparison = compare_values(values, level=level)
            order = [estimate.name for estimate in comparison.methods]
            others = sorted(others, key=lambda one: order.index(one.label))
            for method in reversed(others):
                pair = comparison.pair(method.label, frozen.label)
                is_better = pair.verdict == "better" and pair.a == method.label
                if is_better and method.scores[by] >= frozen.scores[by] - NOT_BELOW:
                    chosen = method
        found.append(Decision(metric, chosen, (frozen, *others), comparison, n_tried, is_confirmed))
    return next((one for one in found if not one.is_frozen), found[0])


def _ranked(known: Measurements, candidate: Candidate, repeats: Sequence[int]) -> RankedMethod:
    found = [known[candidate.label, repeat] for repeat in repeats if (candidate.label, repeat) in known]
    if not found:
        return RankedMethod(candidate, {}, 0, 0.0)
    scores = {metric: fmean(one.scores[metric] for one in found) for metric in found[0].scores}
    # Deciding metrics are means over blocks, as they are compared.
    scores |= {metric: fmean(known.blocks(candidate.label, repeats, metric)) for metric in found[0].blocks}
    return RankedMethod(candidate, scores, len(found), fmean(one.seconds for one in found))


def advice_of(
    found: Decision, test: UnsealedScores, folds: ClassFolds | None, *, first: str, elapsed: float
) -> list[str]:
    """Return the advice, most important sentence first; `first` is the metric that was to decide if it could."""
    sentences = [_what_to_take(found), *_how_sure(found, first)]
    if folds is not None and (folds.n_per_fold < ENOUGH or len(folds.classes) < FEW_CLASSES):
        sentences.append(
            f"Only {len(folds.classes)} classes can validate, {folds.n_per_fold} at a time: two or three classes "
            "decide nothing, so every class validated in turn, beside other classes each time. Small differences "
            "cannot be seen with so few."
        )
    tried = "method was tried" if found.n_tried == 1 else "methods were tried"
    return [*sentences, *_on_test(found, test, folds), f"{found.n_tried} {tried} in {duration(elapsed)}."]


def table_of(found: Decision, test: UnsealedScores, metrics: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """Return the headings and rows of the table, the frozen network first.

    Each metric has a column for validation and, once open, one for test classes. Intervals and probabilities are those
    of the one comparison.
    """
    splits = ("validation", "test") if test.scores else ("validation",)
    columns = ["method", *(f"{heading(metric)}, {split}" for metric in metrics for split in splits), "best", "time"]
    rows = []
    for method in found.methods:
        estimate = None if found.comparison is None else found.comparison.estimate(method.label)
        cells = [method.label + (" (recommended)" if method is found.chosen else "")]
        for metric in metrics:
            cell = show(metric, method.scores[metric]) if metric in method.scores else ""
            if metric == found.metric and estimate is not None:
                half = "" if estimate.half_width is None else f" ± {show(metric, estimate.half_width)}"
                cell = f"{show(metric, estimate.mean)}{half}"
            cells.append(cell)
            if test.scores:
                value = test.scores.get(method.label, {}).get(metric)
                cells.append("sealed" if value is None else show(metric, value))
        chance = None if estimate is None else estimate.probability_best
        rows.append([*cells, "" if chance is None else f"{100 * chance:.0f} %", duration(method.seconds)])
    return columns, rows


def verdicts_of(found: Decision) -> list[str]:
    """Return the verdict on every method against the frozen network, from the comparison that decided."""
    if found.comparison is None:
        return []
    pairs = [found.comparison.pair(method.label, found.frozen.label) for method in found.methods[1:]]
    return [_capital(f"{verdict_words(pair, found.metric)}.") for pair in pairs]


def verdict_words(pair: Pair, metric: str) -> str:
    ends = sorted(end for end in (pair.low, pair.high) if end is not None)
    interval = f" [{', '.join(show(metric, end) for end in ends)}]" if ends else ""
    unit_word = "classes" if pair.n_a < MOST_BLOCKS else "groups of classes"
    points = " points" if unit(metric) else ""
    size = f"{show(metric, pair.difference)}{interval}{points}, over {pair.n_a} {unit_word}"
    if pair.verdict == "better":
        return f"{pair.a} is better than {pair.b} by {size}"
    are = "are equivalent" if pair.verdict == "equivalent" else "cannot be told apart"
    return f"{pair.a} and {pair.b} {are}: they differ by {size}"


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _what_to_take(found: Decision) -> str:
    chosen, frozen, metric = found.chosen, found.frozen, found.metric
    if not frozen.scores:
        return f"Take the {frozen.label}: nothing has been measured yet."
    value = f"{heading(metric)} {show(metric, chosen.scores[metric])}{unit(metric)} on validation classes"
    if not found.is_frozen:
        gain = show(metric, abs(chosen.scores[metric] - frozen.scores[metric]))
        return f"Take {chosen.label}: {value}, {gain} points better than the {frozen.label}."
    as_is = f"the {frozen.label} {'as they are' if frozen.label == RAW else 'as it is'}"
    if not any(method.candidate.is_trained for method in found.methods):
        anything = "anything else" if found.comparison is None else "any training"
        return f"Take {as_is}: {value}. There was no time to measure {anything}."
    helps = "did not help" if found.is_confirmed else "is not shown to help"
    return f"Training {helps} here: take {as_is}, {value}."


def _how_sure(found: Decision, first: str) -> list[str]:
    """Say how sure the choice is, and why the metric that was asked for did not decide."""
    if found.comparison is None:
        return []
    chosen, frozen, n_repeats = found.chosen, found.frozen, found.chosen.n_repeats
    pair = found.comparison.pair((found.methods[1] if found.is_frozen else chosen).label, frozen.label)
    how = (
        f"{n_repeats} fresh {'repeat' if n_repeats == 1 else 'repeats'} of the folds"
        if found.is_confirmed
        else f"one repeat of the folds, corrected for the {found.n_tried} methods tried: there was no time for more"
    )
    sentences = [_capital(f"{verdict_words(pair, found.metric)}, {how}.")]
    if found.metric != first:
        sentences.append(
            f"{heading(first)} shows no method better than the {frozen.label} ({show(first, chosen.scores[first])} and "
            f"{show(first, frozen.scores[first])} here), so {heading(found.metric)} decided among those that are not "
            "below it by more than half a point."
        )
    return sentences


def _on_test(found: Decision, test: UnsealedScores, folds: ClassFolds | None) -> list[str]:
    """Say what the test classes say, whether they agree, and why they are harder or easier."""
    if not test.scores or folds is None:
        return ["The test classes are still sealed: they are opened once, when the time is over."]
    chosen, frozen, metric = found.chosen.label, found.frozen.label, found.metric
    seen = "" if test.n_openings < 2 else f" They were opened {test.n_openings} times by now, and never chose anything."
    of_all = f" of {test.n_images + test.n_left_out}" if test.n_left_out else ""
    own = f"{heading(metric)} {show(metric, test.scores[chosen][metric])}{unit(metric)}"
    sentences = [
        f"On {test.n_images}{of_all} images of {test.n_classes} test classes, opened after this choice, "
        f"{chosen} {'have' if chosen == RAW else 'has'} {own}.{seen}"
    ]
    if test.pair is not None:
        words = verdict_words(test.pair, metric)
        if test.pair.verdict != "better":
            sentences.append(f"The test classes settle nothing: {words}.")
        elif (test.pair.a == frozen) == found.is_frozen:
            sentences.append(f"The test classes agree: {words}.")
        else:
            rather = f"Prefer the {frozen}, in the folder frozen."
            unseen = "Validation could not show it; more time or classes might."
            sentences.append(f"The test classes disagree: there {words}. {unseen if found.is_frozen else rather}")
    validation, tested = found.frozen.scores[metric], test.scores[frozen][metric]
    if abs(validation - tested) >= LARGE_GAP:
        why = (
            f"a fold has {folds.n_per_fold} classes to confuse, the test {test.n_classes}"
            if folds.n_per_fold != test.n_classes
            else "the test classes are of another difficulty"
        )
        if test.n_left_out:
            why += f", and only {test.n_images}{of_all} test images can be read"
        sentences.append(
            f"The {frozen} {'themselves have' if frozen == RAW else 'itself has'} {show(metric, validation)} on "
            f"validation and {show(metric, tested)} on test classes: {why}, so compare methods within a column, not "
            "columns."
        )
    return sentences
