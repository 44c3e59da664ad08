"""How far a headline can be trusted: verdicts on pairs in words, who is how probably best, and what would settle it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

from fairground.comparison.comparison_result import Comparison, Estimate, GeneralityKind, Pair
from fairground.comparison.generality import Generality
from fairground.reporting.comparison import ComparisonResult
from fairground.reporting.headings import shorten, show


@dataclass(frozen=True, kw_only=True)
class Chance:
    """One method: how probably it is the best, and what would settle it against the leader."""

    label: str
    probability: float
    is_among_best: bool
    settled_by: str

    @property
    def shown(self) -> str:
        """The probability in per cent; a method that may be best is never shown as impossible or certain."""
        if self.is_among_best and self.probability < 0.005:
            return "below 1 %"
        return "above 99 %" if 0.995 < self.probability < 1 else f"{100 * self.probability:.0f} %"


@dataclass(frozen=True, kw_only=True)
class PairByKind:
    """A pair with the difference and, over seeds, over test classes and over both, its interval and verdict."""

    a: str
    b: str
    difference: str
    shown: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Confidence:
    """`sentences` are verdicts on pairs; `n_more` is how many more pairs there are.

    `by_kind` are the same pairs over seeds, over `n_classes` test classes and over both, where that is known.
    """

    sentences: tuple[str, ...]
    n_more: int
    chances: tuple[Chance, ...]
    by_kind: tuple[PairByKind, ...] = ()
    n_classes: int = 0


def confidence_of(found: ComparisonResult, generality: Generality | None = None) -> Confidence | None:
    """Return what the comparison says, and over what it holds where that is known; nothing for one method alone."""
    if not found.pairs:
        return None
    read = found.pairs_to_read()
    kinds = [] if generality is None else [generality.over(kind) for kind in get_args(GeneralityKind)]
    return Confidence(
        sentences=tuple(shorten(found.sentence(pair), 400) for pair in read),
        n_more=len(found.pairs) - len(read),
        chances=_chances(found) if found.has_direction else (),
        by_kind=tuple(_by_kind(found.metric, pair, kinds) for pair in read) if kinds else (),
        n_classes=0 if generality is None else generality.n_classes,
    )


def _by_kind(metric: str, pair: Pair, kinds: Sequence[Comparison]) -> PairByKind:
    """Return one pair over seeds, over classes and over both, its leader first in each."""
    shown = []
    for one in (comparison.pair(pair.a, pair.b) for comparison in kinds):
        if one.low is None or one.high is None:
            shown.append("one run only")
            continue
        ends = sorted((one.low, one.high), reverse=not one.higher_is_better)
        ahead = [end if one.higher_is_better else -end for end in ends]
        ahead = ahead if one.a == pair.a else [-end for end in reversed(ahead)]
        span = ", ".join(show(metric, end) for end in ahead)
        shown.append(f"[{span}] {one.verdict.replace('unsettled', 'not settled')}")
    return PairByKind(a=pair.a, b=pair.b, difference=show(metric, abs(pair.difference)), shown=tuple(shown))


def _chances(found: ComparisonResult) -> tuple[Chance, ...]:
    known = [(method.probability_best, method) for method in found.comparison.methods]
    chances = [
        Chance(
            label=method.name,
            probability=probability,
            is_among_best=method.is_among_best,
            settled_by=_settled_by(found, method),
        )
        for probability, method in known
        if probability is not None
    ]
    return tuple(sorted(chances, key=lambda chance: -chance.probability))


def _settled_by(found: ComparisonResult, method: Estimate) -> str:
    leader = found.comparison.repeated.methods[0].name
    if method.name == leader:
        return f"{found.table.extreme} mean"
    pair = found.comparison.pair(leader, method.name)
    if pair.is_settled:
        return "equivalent" if pair.verdict == "equivalent" else "settled"
    if pair.prospect != "advised":
        return {"follow": "more follow", "limit": "limit reached", "none": "no more"}[pair.prospect]
    return "none within reach" if pair.more_seeds is None else f"about {pair.more_seeds} more"
