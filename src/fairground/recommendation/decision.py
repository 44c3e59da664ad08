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
from fairground.recommendation.folder import Measurements
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
    scores: dict[str, float]
    n_repeats: int
    seconds: float

    @property
    def label(self) -> str:
        return self.candidate.label


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
    known, plain = race.known, race.untrained[0]
    counts = {one.label: known.n_fresh(one.label) for one in race.finalists}
    least = 2 if any(count >= 2 for count in counts.values()) else 1
    finalists = [one for one in race.finalists if counts[one.label] >= least]
    is_confirmed = len(finalists) > 1 and finalists[0].label == plain.label
    if not is_confirmed:
        # No fresh repeat is complete: the frozen network and the best four of repeat 0.
        scored = [one for one in race.entered.values() if known.get(one.label, 0) is not None]
        ranked = sorted(scored, key=lambda one: (one.label != plain.label, -race.rank(one)))
        finalists = ranked[:5] if ranked and ranked[0].label == plain.label else []
    n_tried = len(known.methods())
    if len(finalists) < 2:
        frozen = _ranked(known, plain, [0])
        return Decision(
            metric=race.metric,
            chosen=frozen,
            frozen=frozen,
            methods=(frozen,),
            comparison=None,
            n_tried=n_tried,
            is_confirmed=False,
        )
    # The best of repeat 0 were picked from all that were tried, so all of them count as compared.
    n_looks = len(race.deciding) * (1 if is_confirmed else max(n_tried, 1))
    repeats = range(1, min(counts[one.label] for one in finalists) + 1) if is_confirmed else range(1)
    methods = [_ranked(known, one, repeats) for one in finalists]
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
    values = {one.label: dict(enumerate(race.known.blocks(one.label, repeats, metric))) for one in methods}
    comparison = compare_values(values, level=level, higher_is_better=higher)
    frozen = methods[0]

    def by_first(method: RankedMethod) -> float:
        return goodness(method.scores[race.metric], race.higher_is_better)

    better = [
        method
        for method in methods[1:]
        if (pair := comparison.pair(method.label, frozen.label)).a == method.label
        and pair.verdict == "better"
        and (is_first or by_first(method) >= by_first(frozen) - NOT_BELOW)
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


def _ranked(known: Measurements, candidate: Candidate, repeats: Sequence[int]) -> RankedMethod:
    found = [one for repeat in repeats if (one := known.get(candidate.label, repeat)) is not None]
    if not found:
        return RankedMethod(candidate=candidate, scores={}, n_repeats=0, seconds=0.0)
    scores = {metric: fmean(one.scores[metric] for one in found) for metric in found[0].scores}
    # Deciding metrics are means over blocks, as they are compared.
    scores |= {metric: fmean(known.blocks(candidate.label, repeats, metric)) for metric in found[0].blocks}
    seconds = fmean(one.seconds for one in found)
    return RankedMethod(candidate=candidate, scores=scores, n_repeats=len(found), seconds=seconds)
