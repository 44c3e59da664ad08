"""What is recommended: a method that beats the frozen network beyond noise on validation classes, or that network.

Formula
    a block is a class, or a group of classes where there are many; y_ib = the score of method i on block b, mean over
    the fresh repeats. One comparison (`compare_values`) of all finalists has blocks as its units: advice, ranking,
    verdicts and probabilities are read from it alone. Where the first metric shows nothing better than the frozen
    network, the second decides among those that are at most half a point below it by the first; each has half the
    error.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from fairground.comparison.compare_values import compare_values
from fairground.comparison.comparison_result import LEVEL, Comparison, Pair
from fairground.recommendation.candidates import Candidate
from fairground.recommendation.measurements import Measurements
from fairground.recommendation.race import Race
from fairground.spec.measurement_names import goodness

#: a method this much below the frozen network by the first metric may still be chosen by the second
NOT_BELOW = 0.005
#: the highest level a comparison can have
MOST_LEVEL = 0.999


@dataclass(frozen=True, kw_only=True)
class RankedMethod:
    """One method with its validation scores by metric: means over repeats and classes, or blocks of classes."""

    candidate: Candidate
    label: str
    scores: dict[str, float]
    n_repeats: int
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Decision:
    """`chosen` is what to use; `comparison` is that of `methods` by `metric`, frozen first."""

    metric: str
    chosen: RankedMethod
    frozen: RankedMethod
    methods: tuple[RankedMethod, ...]
    comparison: Comparison | None
    n_tried: int
    #: whether fresh repeats decided; otherwise repeat 0 did, at a level corrected for all that were tried
    is_confirmed: bool

    @property
    def is_frozen(self) -> bool:
        return self.chosen.label == self.frozen.label

    def against_frozen(self, method: RankedMethod) -> Pair | None:
        if self.comparison is None or method.label == self.frozen.label:
            return None
        return self.comparison.pair(method.label, self.frozen.label)


def decide(race: Race) -> Decision:
    """Return what to use, by validation classes alone."""
    counts = {one.label: _fresh(race.known, one) for one in race.finalists}
    least = 2 if any(count >= 2 for count in counts.values()) else 1
    finalists = [one for one in race.finalists if counts[one.label] >= least]
    is_confirmed = len(finalists) > 1 and finalists[0].label == race.untrained[0].label
    if not is_confirmed:
        finalists = _leading(race)
    if len(finalists) < 2:
        return _unmeasured(race)
    # The best of repeat 0 were picked from all that were tried, so all of them count as compared.
    n_looks = len(race.deciding) * (1 if is_confirmed else max(len(race.known.methods()), 1))
    repeats = range(1, min(counts[one.label] for one in finalists) + 1) if is_confirmed else range(1)
    methods = [_ranked(race.known, one, repeats) for one in finalists]
    found = [
        _by_metric(race, metric, methods, repeats, level=min(MOST_LEVEL, 1 - (1 - LEVEL) / n_looks))
        for metric in race.deciding
    ]
    decision = next((one for one in found if not one.is_frozen), found[0])
    return replace(decision, is_confirmed=is_confirmed)


def _by_metric(
    race: Race, metric: str, methods: Sequence[RankedMethod], repeats: Sequence[int], *, level: float
) -> Decision:
    """Return what to use by one metric; where it is not the first, nothing that the first puts below frozen."""
    is_first = metric == race.metric
    higher = race.higher_is_better if is_first else True
    values = {one.label: dict(enumerate(_blocks(race.known, one.candidate, repeats, metric))) for one in methods}
    comparison = compare_values(values, level=level, higher_is_better=higher)
    frozen = methods[0]
    better = [
        method
        for method in methods[1:]
        if (pair := comparison.pair(method.label, frozen.label)).a == method.label
        and pair.verdict == "better"
        and (is_first or _by_first(race, method) >= _by_first(race, frozen) - NOT_BELOW)
    ]
    chosen = max(better, key=lambda one: goodness(comparison.estimate(one.label).mean, higher), default=frozen)
    order = {estimate.name: place for place, estimate in enumerate(comparison.methods)}
    return Decision(
        metric=metric,
        chosen=chosen,
        frozen=frozen,
        methods=(frozen, *sorted(methods[1:], key=lambda method: order[method.label])),
        comparison=comparison,
        n_tried=len(race.known.methods()),
        is_confirmed=True,
    )


def _by_first(race: Race, method: RankedMethod) -> float:
    return goodness(method.scores[race.metric], race.higher_is_better)


def _leading(race: Race) -> list[Candidate]:
    """Return the frozen network and the best four of repeat 0, where no fresh repeat is complete."""
    scored = [one for one in race.entered.values() if race.known.get(one.label, 0) is not None]
    ranked = sorted(scored, key=lambda one: -race.rank(one))
    plain = [one for one in ranked if one.label == race.untrained[0].label]
    return [*plain, *[one for one in ranked if one.label != race.untrained[0].label][:4]] if plain else []


def _unmeasured(race: Race) -> Decision:
    """Return the frozen network: there is nothing to compare it with."""
    frozen = _ranked(race.known, race.untrained[0], [0])
    return Decision(
        metric=race.metric,
        chosen=frozen,
        frozen=frozen,
        methods=(frozen,),
        comparison=None,
        n_tried=len(race.known.methods()),
        is_confirmed=False,
    )


def _fresh(known: Measurements, candidate: Candidate) -> int:
    """Return how many repeats from 1 on are there without a gap."""
    count = 0
    while known.get(candidate.label, count + 1) is not None:
        count += 1
    return count


def _ranked(known: Measurements, candidate: Candidate, repeats: Sequence[int]) -> RankedMethod:
    found = [one for repeat in repeats if (one := known.get(candidate.label, repeat)) is not None]
    scores = {metric: fmean(one.scores[metric] for one in found) for metric in (found[0].scores if found else {})}
    # Deciding metrics are means over blocks, as they are compared.
    decided = {
        metric: fmean(_blocks(known, candidate, repeats, metric)) for metric in (found[0].blocks if found else {})
    }
    return RankedMethod(
        candidate=candidate,
        label=candidate.label,
        scores=scores | decided,
        n_repeats=len(found),
        seconds=fmean(one.seconds for one in found) if found else 0.0,
    )


def _blocks(known: Measurements, candidate: Candidate, repeats: Sequence[int], metric: str) -> list[float]:
    found = [known.get(candidate.label, repeat) for repeat in repeats]
    held = [one.blocks[metric] for one in found if one is not None]
    return [fmean(values) for values in zip(*held, strict=True)]
