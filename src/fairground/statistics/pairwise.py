"""Every method against every other: who is better than whom, and what is not separated.

Formula
    For each pair the paired t-test on the seeds both have, Welch's where they share fewer than two;
    p-values corrected by Holm over ALL pairs; separated when the corrected p is at most bar = (1 - level) / 2.

To be borne in mind
    Over all pairs, not only those with the leader: the leader was picked by looking. Corrected for k - 1 comparisons
    alone, the best of ten equal methods would be called better than the worst far more often than at the stated rate.
    Below 1 - level, because the t-test keeps its rate only where differences scatter like a bell curve. At p <= 0.05
    it would call equal methods better in up to 8 % of studies of three seeds whose differences are spread evenly, and
    in 7 % of studies of five whose differences lean to one side; at half of it, in 5 % at most. No test of a mean keeps
    its rate for every shape: of differences that lean as far as waiting times do (exponential) it is 8 % with five
    seeds and 5 % with twenty. Two methods that scatter alike have differences that lean to no side.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fairground.errors import require
from fairground.statistics.effects import cliffs_delta
from fairground.statistics.holm import holm
from fairground.statistics.intervals import LEVEL
from fairground.statistics.paired import Test, on_shared, t_test
from fairground.statistics.power import more_pairs
from fairground.statistics.unpaired import welch_t

Values = Mapping[int, float]
#: how much smaller than 1 - level a corrected p must be
CAUTION = 0.5


def bar_of(level: float) -> float:
    """Return the corrected p up to which two methods are called separated: 0.025 at 95 %."""
    return CAUTION * (1 - level)


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """`a` has the higher mean of the two; `differences` are those on shared seeds. Too few values leave no `test`."""

    a: str
    b: str
    test: Test | None
    adjusted_p: float
    delta: float
    differences: tuple[float, ...]
    n_pairs: int
    level: float

    @property
    def is_separated(self) -> bool:
        """Tell whether a is better than b beyond what chance explains at the stated rate."""
        return self.test is not None and self.adjusted_p <= bar_of(self.level)

    @property
    def more_seeds(self) -> int | None:
        """How many more shared seeds would settle it, all pairs being corrected for; None when none known would."""
        if self.is_separated or len(self.differences) < 2:
            return None
        return more_pairs(self.differences, alpha=bar_of(self.level) / self.n_pairs)


def pairwise(values: Mapping[str, Values], *, level: float = LEVEL) -> list[Verdict]:
    """Return a verdict on each pair; `values` maps each method to its value by seed. Higher means come first."""
    require(0 < level < 1, f"level must be between 0 and 1; got {level}")
    for name, found in values.items():
        require(len(found) > 0, f"method '{name}' has no value to compare")
    means = {name: sum(found.values()) / len(found) for name, found in values.items()}
    ranked = sorted(values, key=lambda name: -means[name])
    pairs = [_in_order(a, b, values, level) for i, a in enumerate(ranked) for b in ranked[i + 1 :]]
    p_values = holm([1.0 if test is None else test.p for _, _, test in pairs])
    return [
        Verdict(
            a=a,
            b=b,
            test=test,
            adjusted_p=p,
            delta=cliffs_delta(list(values[a].values()), list(values[b].values())),
            differences=tuple(_subtract(*on_shared(values[a], values[b]))),
            n_pairs=len(pairs),
            level=level,
        )
        for (a, b, test), p in zip(pairs, p_values, strict=True)
    ]


def _in_order(a: str, b: str, values: Mapping[str, Values], level: float) -> tuple[str, str, Test | None]:
    """Test the pair and put first whoever is higher in what was tested: unshared seeds may lean the other way."""
    test = _test(values[a], values[b], level)
    if test is not None and test.mean < 0:
        return b, a, _test(values[b], values[a], level)
    return a, b, test


def _test(a: Values, b: Values, level: float) -> Test | None:
    shared_a, shared_b = on_shared(a, b)
    if len(shared_a) >= 2:
        return t_test(_subtract(shared_a, shared_b), level=level)
    if min(len(a), len(b)) >= 2:
        return welch_t(list(a.values()), list(b.values()), level=level)
    return None


def _subtract(a: Sequence[float], b: Sequence[float]) -> list[float]:
    return [x - y for x, y in zip(a, b, strict=True)]
