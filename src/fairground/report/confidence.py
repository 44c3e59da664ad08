"""How far a headline can be trusted: verdicts on pairs in words, who is how probably best, and what would settle it."""

from collections.abc import Mapping
from dataclasses import dataclass

from fairground.report.comparison import ComparisonResult
from fairground.report.headings import shorten
from fairground.report.tables import turned
from fairground.statistics.best import probability_of_best


@dataclass(frozen=True, kw_only=True)
class Chance:
    """One method: how probably it is the best, and how many more seeds would settle it against the leader."""

    label: str
    probability: float
    is_among_best: bool
    settled_by: str


@dataclass(frozen=True, kw_only=True)
class Confidence:
    """`sentences` are verdicts on pairs; `n_more` is how many more pairs there are."""

    sentences: tuple[str, ...]
    n_more: int
    chances: tuple[Chance, ...]
    n_seeds: int


def confidence_of(comparison: ComparisonResult, values: Mapping[str, Mapping[int, float]]) -> Confidence | None:
    """Return what the paired tests say; nothing for one method alone."""
    if len(values) < 2:
        return None
    read = comparison.verdicts_to_read()
    return Confidence(
        sentences=tuple(shorten(comparison.sentence(verdict), 400) for verdict in read),
        n_more=len(comparison.verdicts) - len(read),
        chances=_chances(comparison, values),
        n_seeds=len(_shared(values)),
    )


def _shared(values: Mapping[str, Mapping[int, float]]) -> list[int]:
    first, *others = values.values()
    return [seed for seed in first if all(seed in other for other in others)]


def _chances(comparison: ComparisonResult, values: Mapping[str, Mapping[int, float]]) -> tuple[Chance, ...]:
    if not comparison.has_direction or len(_shared(values)) < 2:
        return ()
    found = probability_of_best(turned(values, comparison.table.higher_is_better[comparison.metric]))
    leader = comparison.best[0]
    with_leader = [verdict for verdict in comparison.verdicts if leader in (verdict.a, verdict.b)]
    against = {verdict.b if verdict.a == leader else verdict.a: verdict for verdict in with_leader}
    chances = []
    for label, probability in sorted(found.items(), key=lambda item: -item[1]):
        verdict = against.get(label) if label != leader else None
        needed = None if verdict is None else verdict.more_seeds
        settled = f"{comparison.table.extreme} mean" if label == leader else "settled"
        if verdict is not None and not verdict.is_separated:
            settled = "nobody knows how many" if needed is None else f"about {needed} more"
        chances.append(
            Chance(label=label, probability=probability, is_among_best=label in comparison.best, settled_by=settled)
        )
    return tuple(chances)
