"""How far a headline can be trusted: verdicts on pairs in words, who is how probably best, and what would settle it."""

from dataclasses import dataclass

from fairground.report.comparison import ComparisonResult
from fairground.report.headings import shorten
from fairground.statistics.comparison import Estimate


@dataclass(frozen=True, kw_only=True)
class Chance:
    """One method: how probably it is the best, and what would settle it against the leader."""

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


def confidence_of(found: ComparisonResult) -> Confidence | None:
    """Return what the comparison says; nothing for one method alone."""
    if not found.pairs:
        return None
    read = found.pairs_to_read()
    return Confidence(
        sentences=tuple(shorten(found.sentence(pair), 400) for pair in read),
        n_more=len(found.pairs) - len(read),
        chances=_chances(found) if found.has_direction else (),
    )


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
    leader = found.comparison.methods[0].name
    if method.name == leader:
        return f"{found.table.extreme} mean"
    pair = found.comparison.pair(leader, method.name)
    if pair.is_settled:
        return "equivalent" if pair.verdict == "equivalent" else "settled"
    if pair.prospect != "advised":
        return {"follow": "more follow", "limit": "limit reached", "none": "no more"}[pair.prospect]
    return "none within reach" if pair.more_seeds is None else f"about {pair.more_seeds} more"
