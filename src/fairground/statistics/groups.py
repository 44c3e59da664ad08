"""The methods that cannot be told from the best.

Formula
    best = the highest mean; members = every method that no Holm-corrected comparison over all pairs separates from it
    (`pairwise`). A method outside the group is worse than the best; two methods inside it may still differ.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fairground.errors import require
from fairground.statistics.intervals import LEVEL
from fairground.statistics.pairwise import Values, Verdict, pairwise


@dataclass(frozen=True, kw_only=True)
class BestGroup:
    """The best by its mean, first among the `members` that are indistinguishable from it."""

    best: str
    members: tuple[str, ...]

    @property
    def is_settled(self) -> bool:
        """Tell whether the best stands alone."""
        return len(self.members) == 1


def best_group(values: Mapping[str, Values], *, level: float = LEVEL) -> BestGroup:
    """Return the group of the best from each method's values by seed."""
    return group_from(values, pairwise(values, level=level))


def group_from(values: Mapping[str, Values], verdicts: Iterable[Verdict]) -> BestGroup:
    """Return the group of the best from verdicts already made."""
    require(len(values) > 0, "there is no best among no methods")
    means = {name: sum(found.values()) / len(found) for name, found in values.items()}
    ranked = sorted(values, key=lambda name: -means[name])
    best = ranked[0]
    beaten = {verdict.b for verdict in verdicts if verdict.a == best and verdict.is_separated}
    return BestGroup(best=best, members=tuple(name for name in ranked if name not in beaten))
