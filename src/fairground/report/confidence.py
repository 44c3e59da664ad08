"""Whether an answer can be believed: verdicts on pairs in words, who is how probably best, and what would settle it."""

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


def confidence_of(contest: ComparisonResult, values: Mapping[str, Mapping[int, float]]) -> Confidence | None:
    """Return what the paired tests say; nothing for one method alone."""
    if len(values) < 2:
        return None
    read = contest.verdicts_to_read()
    return Confidence(
        sentences=tuple(shorten(contest.sentence(verdict), 400) for verdict in read),
        n_more=len(contest.verdicts) - len(read),
        chances=_chances(contest, values),
        n_seeds=len(_shared(values)),
    )


def _shared(values: Mapping[str, Mapping[int, float]]) -> list[int]:
    first, *others = values.values()
    return [seed for seed in first if all(seed in other for other in others)]


def _chances(contest: ComparisonResult, values: Mapping[str, Mapping[int, float]]) -> tuple[Chance, ...]:
    if not contest.has_direction or len(_shared(values)) < 2:
        return ()
    found = probability_of_best(turned(values, contest.table.higher_is_better[contest.metric]))
    leader = contest.best[0]
    with_leader = [verdict for verdict in contest.verdicts if leader in (verdict.a, verdict.b)]
    against = {verdict.b if verdict.a == leader else verdict.a: verdict for verdict in with_leader}
    chances = []
    for label, probability in sorted(found.items(), key=lambda item: -item[1]):
        verdict = against.get(label) if label != leader else None
        needed = None if verdict is None else verdict.more_seeds
        settled = f"{contest.table.extreme} mean" if label == leader else "settled"
        if verdict is not None and not verdict.is_separated:
            settled = "nobody knows how many" if needed is None else f"about {needed} more"
        chances.append(
            Chance(label=label, probability=probability, is_among_best=label in contest.best, settled_by=settled)
        )
    return tuple(chances)
