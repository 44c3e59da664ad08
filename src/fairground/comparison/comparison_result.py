"""Which method is better than which: one answer from one model, for every page, table and sentence.

Formula
    better       the interval of the difference leaves out 0 (significant)
    equivalent   it contains 0 and is within ± margin
    unsettled    neither (not significant): these runs cannot tell
    All intervals of a study hold simultaneously (`mixed_model`): any false "better", and any false "equivalent",
    appears in at most 1 - level of all studies.
"""

from dataclasses import dataclass, replace
from typing import Literal

from fairground.comparison.intervals import Interval
from fairground.comparison.sentences import sentence_of, summary_of
from fairground.errors import require

Verdict = Literal["better", "equivalent", "unsettled"]
#: why a verdict is what it is
Reason = Literal["interval leaves out 0", "within margin", "separated alone", "interval holds 0", "too few runs"]

#: over what a comparison generalises: other trainings, other test classes, or both
GeneralityKind = Literal["seeds", "classes", "both"]
#: what counts as a repeat; of a comparison over data sets, those
Repeats = GeneralityKind | Literal["datasets"]
#: what would settle a pair: seeds that are advised; of a study in waves, seeds that follow, none beyond the limit, none
Prospect = Literal["advised", "follow", "limit", "none"]


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """One method: `mean` with the interval of this mean alone, and the plain `average` of its `n` runs.

    The two differ only where methods were run on other seeds and seeds matter. With one run there is no interval.
    """

    name: str
    mean: float
    average: float
    low: float | None
    high: float | None
    n: int
    probability_best: float | None
    is_among_best: bool

    @property
    def half_width(self) -> float | None:
        """Half the length of the interval, the number after ±."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Two methods, `a` the leading one: `difference` is a - b in the unit and direction of the values.

    `low` and `high` hold for all pairs of the study simultaneously and `p` is corrected for all of them; `p_alone` is
    not. `more_seeds` is how many more both need; None where the pair is settled or no feasible number would settle it.
    `prospect` says whether they are advised or a study in waves adds them. `over` is what the interval generalises
    over, `n_classes` how many test classes it rests on where that is not seeds alone.
    """

    a: str
    b: str
    difference: float
    low: float | None
    high: float | None
    p: float
    p_alone: float
    verdict: Verdict
    reason: Reason
    n_a: int
    n_b: int
    n_shared: int
    more_seeds: int | None
    n_pairs: int
    margin: float
    level: float
    higher_is_better: bool
    prospect: Prospect = "advised"
    over: Repeats = "seeds"
    n_classes: int = 0

    @property
    def is_settled(self) -> bool:
        return self.verdict != "unsettled"

    @property
    def is_small(self) -> bool:
        """Tell whether the difference is shown to be below the margin, real or not."""
        return self.low is not None and self.high is not None and -self.margin < self.low and self.high < self.margin

    @property
    def sentence(self) -> str:
        return sentence_of(self)


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """`methods` from best to worst; `pairs` in their order. Everything is read from one model."""

    methods: tuple[Estimate, ...]
    pairs: tuple[Pair, ...]
    level: float
    margin: float
    higher_is_better: bool

    @property
    def best(self) -> tuple[str, ...]:
        """Every method that no other is better than, the highest mean first."""
        return tuple(method.name for method in self.methods if method.is_among_best)

    @property
    def repeated(self) -> "Comparison":
        """The comparison without methods of one run, on which there is no verdict."""
        kept = {method.name for method in self.methods if method.n > 1}
        if len(kept) == len(self.methods):
            return self
        return replace(
            self,
            methods=tuple(method for method in self.methods if method.name in kept),
            pairs=tuple(pair for pair in self.pairs if pair.a in kept and pair.b in kept),
        )

    @property
    def single(self) -> tuple[str, ...]:
        return tuple(method.name for method in self.methods if method.n == 1)

    @property
    def is_settled(self) -> bool:
        """Tell whether one method is better than, or equivalent to, every other."""
        leader = self.methods[0].name
        return all(pair.is_settled for pair in self.pairs if pair.a == leader)

    @property
    def critical_difference(self) -> float | None:
        """The difference above which any two methods are separated: half the longest interval of a pair."""
        halves = [(pair.high - pair.low) / 2 for pair in self.pairs if pair.low is not None and pair.high is not None]
        return max(halves, default=None)

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """The longest runs of neighbours, best to worst, in which none is better than another."""
        names = [method.name for method in self.methods]
        separated = {(pair.a, pair.b) for pair in self.pairs if pair.verdict == "better"}
        found: list[tuple[str, ...]] = []
        reach = 0
        for start in range(len(names)):
            end = start + 1
            while end < len(names) and not any((name, names[end]) in separated for name in names[start:end]):
                end += 1
            if end > reach and end - start > 1:
                found.append(tuple(names[start:end]))
            reach = max(reach, end)
        return tuple(found)

    @property
    def sentence(self) -> str:
        return summary_of(self)

    def interval(self, name: str) -> Interval | None:
        """Return a method's mean with its interval; None where the comparison does not have it."""
        found = next((method for method in self.methods if method.name == name), None)
        if found is None:
            return None
        return Interval(mean=found.mean, low=found.low, high=found.high, n=found.n, level=self.level, kind="model")

    def estimate(self, name: str) -> Estimate:
        """Return one method by name."""
        found = {method.name: method for method in self.methods}
        require(name in found, f"no method '{name}' in the comparison; there are {', '.join(found)}")
        return found[name]

    def pair(self, one: str, other: str) -> Pair:
        """Return the pair of two methods, whichever leads."""
        for found in self.pairs:
            if {found.a, found.b} == {one, other} and one != other:
                return found
        known = ", ".join(method.name for method in self.methods)
        require(False, f"no pair '{one}' and '{other}' in the comparison; there are {known}")
        raise AssertionError
