"""Which method is better than which: one answer from one model, for every page, table and sentence.

Formula
    better       the interval of the difference leaves out 0
    equivalent   it holds 0 and lies within ± margin
    unsettled    neither: these runs cannot tell
    All intervals of a study hold at once (`model`), so that any false "better", and any false "equivalent", appears in at
    most 1 - level of all studies.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fairground.errors import require
from fairground.statistics.intervals import LEVEL
from fairground.statistics.model import Model, fit
from fairground.statistics.runs import Runs, Values
from fairground.statistics.seeds_needed import more_seeds
from fairground.statistics.sentences import sentence_of, summary_of

Verdict = Literal["better", "equivalent", "unsettled"]
#: why a verdict is what it is
Reason = Literal["interval leaves out 0", "within margin", "separated alone", "interval holds 0", "too few runs"]


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

    `low` and `high` hold for all pairs of the study at once and `p` is corrected for all of them; `p_alone` is not.
    `more_seeds` is how many more both need; None where the pair is settled or none within reach would settle it.
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

    @property
    def is_settled(self) -> bool:
        """Tell whether the pair needs no more seeds."""
        return self.verdict != "unsettled"

    @property
    def is_small(self) -> bool:
        """Tell whether the difference is shown to be below the margin, real or not."""
        return self.low is not None and self.high is not None and -self.margin < self.low and self.high < self.margin

    @property
    def sentence(self) -> str:
        """The verdict in words, with its numbers."""
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
        """Who is best, in words."""
        return summary_of(self)

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


def compare_values(
    values: Values,
    *,
    level: float = LEVEL,
    margin: float | None = None,
    higher_is_better: bool = True,
) -> Comparison:
    """Compare methods by their values by seed: `{"A": {0: 0.31, 1: 0.33}, "B": {...}}`.

    A value may itself be a mapping of folds, which are averaged. Runs may be missing; methods of one run are listed and
    never called better. `margin` is the difference that does not matter, in the unit of the values: by default half a
    point, 0.005 where every value lies in [-1, 1] and 0.5 otherwise.
    """
    runs = Runs.from_values(values)
    margin = default_margin(runs) if margin is None else margin
    check_settings(level, margin)
    return compare_runs(runs, error=1 - level, level=level, margin=margin, higher_is_better=higher_is_better)


def default_margin(runs: Runs) -> float:
    """Return half a point in the unit of the values: shares of 1, or per cent."""
    return 0.005 if float(np.nanmax(np.abs(runs.table))) <= 1 else 0.5


def check_settings(level: float, margin: float) -> None:
    """Refuse a level or margin that no comparison can have."""
    require(0.5 <= level <= 0.999, f"level must be between 0.5 and 0.999; got {level}")
    require(margin >= 0, f"margin must be 0 or more, in the unit of the values; got {margin}")


def compare_runs(runs: Runs, *, error: float, level: float, margin: float, higher_is_better: bool) -> Comparison:
    """Compare with a rate of errors of `error` for the intervals of pairs; `level` is that of single means."""
    sign = 1.0 if higher_is_better else -1.0
    oriented = Runs(names=runs.names, seeds=runs.seeds, table=sign * runs.table)
    means, averages, counts = oriented.averages, runs.averages, runs.counts
    # In an order of their own, so that the same runs give the same digits in whatever order they are given.
    ordered = sorted(range(len(means)), key=lambda i: (-counts[i], -means[i], runs.names[i]))
    repeated = np.array([i for i in ordered if counts[i] >= 2], dtype=np.int64)
    model = fit(oriented.select(repeated)) if len(repeated) else None
    if model is not None:
        means[repeated] = model.means
    order = sorted(range(len(means)), key=lambda i: (-means[i], runs.names[i]))
    pairs = _Pairs(model=model, runs=oriented, means=means, error=error, level=level, margin=margin, sign=sign)
    found = tuple(pairs.pair(order[i], order[j]) for i in range(len(order)) for j in range(i + 1, len(order)))
    beaten = {pair.b for pair in found if pair.verdict == "better"}
    halves = {} if model is None else dict(zip(model.names, model.half_widths(level), strict=True))
    # Among some methods only, nobody can be called the best of all.
    is_full = model is not None and len(repeated) == len(runs.names)
    chances = dict(zip(model.names, model.probabilities(), strict=True)) if model is not None and is_full else {}
    methods = tuple(
        Estimate(
            name=(name := runs.names[i]),
            mean=(mean := float(sign * means[i])),
            average=float(averages[i]),
            low=mean - float(halves[name]) if name in halves else None,
            high=mean + float(halves[name]) if name in halves else None,
            n=int(counts[i]),
            probability_best=float(chances[name]) if name in chances else None,
            is_among_best=name not in beaten,
        )
        for i in order
    )
    return Comparison(methods=methods, pairs=found, level=level, margin=margin, higher_is_better=higher_is_better)


class _Pairs:
    """What the model says of each pair, turned so that the leading method comes first."""

    def __init__(
        self,
        *,
        model: Model | None,
        runs: Runs,
        means: NDArray[np.float64],
        error: float,
        level: float,
        margin: float,
        sign: float,
    ) -> None:
        self.runs, self.means, self.level, self.margin, self.sign = runs, means, level, margin, sign
        self.has_run = runs.has_run
        self.numbers: dict[frozenset[str], tuple[float, float, float, int]] = {}
        if model is None:
            return
        a, b = model.layout.pairs
        half = model.critical(error) * model.pair_errors
        corrected, alone = model.p_values(), model.p_values(is_alone=True)
        needed = more_seeds(model, error=error, margin=margin)
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            key = frozenset((model.names[x], model.names[y]))
            p = float(corrected[i])
            self.numbers[key] = float(half[i]), p, min(p, float(alone[i])), int(needed[i])

    def pair(self, i: int, j: int) -> Pair:
        """Return the pair of methods i and j, i having the higher mean."""
        a, b = self.runs.names[i], self.runs.names[j]
        ahead = float(self.means[i] - self.means[j])
        known = self.numbers.get(frozenset((a, b)))
        half, p, p_alone, needed = (0.0, 1.0, 1.0, 0) if known is None else known
        ends = sorted((self.sign * (ahead - half), self.sign * (ahead + half)))
        verdict, reason = self._verdict(ahead, half, p_alone) if known else ("unsettled", "too few runs")
        return Pair(
            a=a,
            b=b,
            difference=self.sign * ahead,
            low=ends[0] if known else None,
            high=ends[1] if known else None,
            p=p,
            p_alone=p_alone,
            verdict=verdict,
            reason=reason,
            n_a=int(self.has_run[i].sum()),
            n_b=int(self.has_run[j].sum()),
            n_shared=int((self.has_run[i] & self.has_run[j]).sum()),
            more_seeds=needed if verdict == "unsettled" and needed else None,
            n_pairs=len(self.numbers),
            margin=self.margin,
            level=self.level,
            higher_is_better=self.sign > 0,
        )

    def _verdict(self, ahead: float, half: float, p_alone: float) -> tuple[Verdict, Reason]:
        if ahead - half > 0:
            return "better", "interval leaves out 0"
        if ahead + half < self.margin and half - ahead < self.margin:
            return "equivalent", "within margin"
        return "unsettled", "separated alone" if p_alone <= 1 - self.level else "interval holds 0"
