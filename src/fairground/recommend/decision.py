"""What is recommended: a method that beats the frozen network beyond noise on validation classes, or that network.

Formula
    a block is a class, or a group of classes where there are many; y_ib = the score of method i on block b, mean over
    the fresh repeats. One comparison (`statistics.many_to_one`) holds all finalists against the frozen network with
    blocks as its units: advice, ranking, verdicts and probabilities are read from it, and from it alone. Everything
    that was ever tried counts in it: fresh repeats have other folds and seeds, but the same classes. Where the first
    metric shows nothing better than the frozen network, the second decides among those that are at most half a point
    below it by the first; each has half of `ERROR`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from fairground.recommend.candidates import Candidate
from fairground.recommend.measurements import Measurements
from fairground.recommend.race import Race
from fairground.spec.metric_words import goodness
from fairground.statistics.comparison import Comparison, Pair
from fairground.statistics.intervals import LEVEL
from fairground.statistics.many_to_one import compare_with_control

#: by the first metric, so much below the frozen network does not matter where the second decides
NOT_BELOW = 0.005
#: how often something that is no better than the frozen network may be recommended
ERROR = 1 - LEVEL


@dataclass(frozen=True, kw_only=True)
class RankedMethod:
    """One method with its validation scores: means over classes, folds and repeats, by metric."""

    candidate: Candidate
    label: str
    scores: dict[str, float]
    n_repeats: int
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Decision:
    """`chosen` is what to take; `comparison` is that of `methods` by `metric`, frozen first."""

    metric: str
    chosen: RankedMethod
    frozen: RankedMethod
    methods: tuple[RankedMethod, ...]
    comparison: Comparison | None
    n_tried: int
    n_blocks: int
    #: whether fresh repeats decided; otherwise repeat 0 did
    is_confirmed: bool

    @property
    def is_frozen(self) -> bool:
        """Tell whether the network is taken as it is."""
        return self.chosen.label == self.frozen.label

    def against_frozen(self, method: RankedMethod) -> Pair | None:
        """Return how a method compares with the frozen network."""
        if self.comparison is None or method.label == self.frozen.label:
            return None
        return self.comparison.pair(method.label, self.frozen.label)


def decide(race: Race) -> Decision:
    """Return what to take, by validation classes alone."""
    counts = {one.key: _fresh(race.known, one) for one in race.finalists}
    least = 2 if any(count >= 2 for count in counts.values()) else 1
    finalists = [one for one in race.finalists if counts[one.key] >= least]
    is_confirmed = len(finalists) > 1 and finalists[0].key == race.frozen[0].key
    if not is_confirmed:
        finalists = _leading(race)
    if len(finalists) < 2:
        return _unmeasured(race)
    repeats = range(1, min(counts[one.key] for one in finalists) + 1) if is_confirmed else range(1)
    methods = [_ranked(race.known, one, repeats) for one in finalists]
    found = [_by_metric(race, metric, methods, repeats) for metric in race.deciding]
    decision = next((one for one in found if not one.is_frozen), found[0])
    return replace(decision, is_confirmed=is_confirmed)


def _by_metric(race: Race, metric: str, methods: Sequence[RankedMethod], repeats: Sequence[int]) -> Decision:
    """Return what to take by one metric; where it is not the first, nothing that the first puts below frozen."""
    is_first = metric == race.metric
    higher = race.higher_is_better if is_first else True
    frozen = methods[0]
    comparison = compare_with_control(
        {one.label: _blocks(race.known, one.candidate, repeats, metric) for one in methods},
        frozen.label,
        tried=_tried(race.known, frozen.candidate, metric),
        error=ERROR / len(race.deciding),
        higher_is_better=higher,
    )
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
        n_blocks=comparison.pairs[0].n_a,
        is_confirmed=True,
    )


def _by_first(race: Race, method: RankedMethod) -> float:
    return goodness(method.scores[race.metric], race.higher_is_better)


def _leading(race: Race) -> list[Candidate]:
    """Return the frozen network and the best four of repeat 0, where no fresh repeat is complete."""
    scored = [one for one in race.entered.values() if race.known.get(one.key, 0) is not None]
    ranked = sorted(scored, key=lambda one: -race.rank(one))
    plain = [one for one in ranked if one.key == race.frozen[0].key]
    return [*plain, *[one for one in ranked if one.key != race.frozen[0].key][:4]] if plain else []


def _unmeasured(race: Race) -> Decision:
    """Return the frozen network: there is nothing to compare it with."""
    frozen = _ranked(race.known, race.frozen[0], [0])
    return Decision(
        metric=race.metric,
        chosen=frozen,
        frozen=frozen,
        methods=(frozen,),
        comparison=None,
        n_tried=len(race.known.methods()),
        n_blocks=0,
        is_confirmed=False,
    )


def _fresh(known: Measurements, candidate: Candidate) -> int:
    """Return how many repeats from 1 on are there without a gap."""
    count = 0
    while known.get(candidate.key, count + 1) is not None:
        count += 1
    return count


def _ranked(known: Measurements, candidate: Candidate, repeats: Sequence[int]) -> RankedMethod:
    found = [one for repeat in repeats if (one := known.get(candidate.key, repeat)) is not None]
    metrics = found[0].scores if found else {}
    return RankedMethod(
        candidate=candidate,
        label=candidate.label,
        scores={metric: fmean(one.scores[metric] for one in found) for metric in metrics},
        n_repeats=len(found),
        seconds=fmean(one.seconds for one in found) if found else 0.0,
    )


def _blocks(known: Measurements, candidate: Candidate, repeats: Sequence[int], metric: str) -> list[Sequence[float]]:
    """Return the blocks of each repeat."""
    found = [known.get(candidate.key, repeat) for repeat in repeats]
    return [one.blocks[metric] for one in found if one is not None]


def _tried(known: Measurements, frozen: Candidate, metric: str) -> list[list[float]]:
    """Return by how much everything that was tried differs from the frozen network, in the first repeat it was in."""
    found = []
    for method in known.methods():
        first = next((repeat for repeat in known.repeats(method) if known.get(frozen.key, repeat) is not None), None)
        own, plain = known.get(method, first or 0), known.get(frozen.key, first or 0)
        if method != frozen.key and own is not None and plain is not None:
            found.append([a - b for a, b in zip(own.blocks[metric], plain.blocks[metric], strict=True)])
    return found
