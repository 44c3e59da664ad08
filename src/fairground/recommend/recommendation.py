"""What a race recommends: the best method on the validation split, or the cheapest of those level with it.

The test split has no say: it is opened for what was chosen, once it was chosen.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from fairground.errors import require
from fairground.recommend.standings import MethodStanding
from fairground.spec.metric_words import goodness
from fairground.statistics.compare import compare_values
from fairground.statistics.comparison import Comparison

#: level methods may differ by this much at most for the cheaper one to be taken
EQUAL = 0.01
#: a method is cheaper when it saves at least this share of the time
SAVING = 0.2


@dataclass(frozen=True, kw_only=True)
class Recommendation:
    """`chosen` is what to take; `leaders` have several seeds, and no other is better than the `level` ones of them.

    `comparison` is that of the leaders. `is_baseline` says that training did not beat the network as it was.
    """

    chosen: MethodStanding
    best: MethodStanding
    leaders: tuple[MethodStanding, ...]
    level: tuple[MethodStanding, ...]
    comparison: Comparison | None
    baseline: MethodStanding | None
    is_baseline: bool

    @property
    def is_cheaper(self) -> bool:
        """Tell whether the chosen method was taken for its cost."""
        return self.chosen.label != self.best.label and not self.is_baseline


def recommend(standings: Sequence[MethodStanding], baselines: Sequence[MethodStanding]) -> Recommendation:
    """Return what to take, by the validation split alone."""
    require(len(standings) + len(baselines) > 0, "no run has come far enough to recommend anything yet")
    baseline = max(baselines, key=lambda standing: standing.goodness, default=None)
    if not standings:
        assert baseline is not None
        return _untrained(baseline)
    leaders = leaders_of(standings)
    comparison = compare_values(
        {standing.label: standing.validation for standing in leaders}, higher_is_better=leaders[0].higher_is_better
    )
    known = {standing.label: standing for standing in leaders}
    level = tuple(known[label] for label in comparison.best)
    best = known[comparison.methods[0].name]
    chosen = _cheapest(best, level)
    is_baseline = baseline is not None and not _beats(chosen, baseline, comparison)
    return Recommendation(
        chosen=baseline if is_baseline and baseline is not None else chosen,
        best=best,
        leaders=leaders,
        level=level,
        comparison=comparison,
        baseline=baseline,
        is_baseline=is_baseline,
    )


def leaders_of(standings: Sequence[MethodStanding]) -> tuple[MethodStanding, ...]:
    """Return the methods that were trained longest, and of these the ones with most seeds if some have several."""
    longest = [standing for standing in standings if standing.epochs == standings[0].epochs]
    several = [standing for standing in longest if len(standing.validation) > 1]
    return tuple(sorted(several or longest, key=lambda standing: -standing.goodness))


def _cheapest(best: MethodStanding, level: Sequence[MethodStanding]) -> MethodStanding:
    """Return the cheapest method that is as good as the best for all that is known, and clearly cheaper."""
    several = [standing for standing in level if len(standing.validation) > 1]
    cheaper = [
        standing
        for standing in several
        if best.goodness - standing.goodness <= EQUAL and standing.seconds <= (1 - SAVING) * best.seconds
    ]
    return min(cheaper, key=lambda standing: standing.seconds, default=best)


def _beats(chosen: MethodStanding, baseline: MethodStanding, comparison: Comparison) -> bool:
    """Tell whether training helped: on every seed, or by the interval of the mean.

    An untrained network has one score, which every seed is held against.
    """
    is_higher = chosen.higher_is_better
    if min(goodness(value, is_higher) for value in chosen.validation.values()) > baseline.goodness:
        return True
    found = comparison.estimate(chosen.label)
    nearer = found.low if is_higher else found.high
    return nearer is not None and goodness(nearer, is_higher) > baseline.goodness


def _untrained(baseline: MethodStanding) -> Recommendation:
    return Recommendation(
        chosen=baseline,
        best=baseline,
        leaders=(),
        level=(),
        comparison=None,
        baseline=baseline,
        is_baseline=True,
    )
