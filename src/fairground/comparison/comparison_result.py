"""Which method is better than which: one answer from one model, for every page, table and sentence.

Formula
    better       the interval of the difference leaves out 0 (significant)
    equivalent   it contains 0 and is within ± margin
    unsettled    neither (not significant): these runs cannot tell
    All intervals of a study hold simultaneously (`compare_values`): any false "better", and any false "equivalent",
    appears in at most 1 - level of all studies.
    t interval   mean ± t(1 - alpha/2, n - 1) * s / sqrt(n), with s the standard deviation over n - 1
    correlation  tanh(artanh(r) ± z(1 - alpha/2) / sqrt(n - 3))

Paper
    Student, "The probable error of a mean", Biometrika 1908, for the t interval.
    Fisher, "On the probable error of a coefficient of correlation", Metron 1921, for the interval of a correlation.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from fairground.errors import InputError, require

LEVEL = 0.95
Verdict = Literal["better", "equivalent", "unsettled"]
#: why a verdict is what it is
Reason = Literal["interval leaves out 0", "within margin", "separated alone", "interval holds 0", "too few runs"]

#: over what a comparison generalises: other trainings, other test classes, or both
GeneralityKind = Literal["seeds", "classes", "both"]
#: what counts as a repeat; of a comparison over data sets, those
Repeats = GeneralityKind | Literal["datasets"]
#: what would settle a pair: seeds that are advised; of a study in waves, seeds that follow, none beyond the limit, none
Prospect = Literal["advised", "follow", "limit", "none"]
#: how a number is written
Show = Callable[[float], str]


@dataclass(frozen=True, kw_only=True)
class Interval:
    """A mean of `n` values and the interval that covers the true mean; one value has no interval."""

    mean: float
    low: float | None = None
    high: float | None = None
    n: int

    @property
    def half_width(self) -> float | None:
        return None if self.low is None or self.high is None else (self.high - self.low) / 2

    @property
    def ends(self) -> dict[str, float | None]:
        """The mean and its interval as JSON has them."""
        return {"mean": self.mean, "low": self.low, "high": self.high, "n": self.n}

    def overlaps(self, other: "Interval") -> bool:
        """Tell whether the two intervals share a value; one that is missing could be anywhere and overlaps all."""
        if self.low is None or self.high is None or other.low is None or other.high is None:
            return True
        return self.low <= other.high and other.low <= self.high


def t_interval(values: Sequence[float], *, level: float = LEVEL) -> Interval:
    """Return the mean with its Student-t interval: right for few repeats that scatter like a bell curve."""
    n = len(values)
    require(n > 0, "an interval needs at least one value; got none")
    require(all(map(math.isfinite, values)), f"an interval needs finite values; got {list(values)[:5]}")
    mean = math.fsum(values) / n
    if n == 1:
        return Interval(mean=mean, n=1)
    # Imported here, and not scipy.stats: that takes longer to import than most commands take to run.
    from scipy.special import stdtrit

    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1))
    half = float(stdtrit(n - 1, (1 + level) / 2)) * deviation / math.sqrt(n)
    return Interval(mean=mean, low=mean - half, high=mean + half, n=n)


def correlation_interval(r: float, n: int, *, level: float = LEVEL) -> Interval:
    """Return a correlation of `n` independent points with its interval; fewer than four points have none."""
    if n < 4 or abs(r) > 1 - 1e-12:
        return Interval(mean=r, n=n)
    from scipy.special import ndtri

    half = float(ndtri((1 + level) / 2)) / math.sqrt(n - 3)
    low, high = (math.tanh(math.atanh(r) + sign * half) for sign in (-1, 1))
    return Interval(mean=r, low=low, high=high, n=n)


@dataclass(frozen=True, kw_only=True)
class Estimate(Interval):
    """One method: `mean` with its interval, and the plain `average` of `n` runs, another where seeds are missing."""

    name: str
    average: float
    probability_best: float | None
    is_among_best: bool


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

    @cached_property
    def repeated(self) -> "Comparison":
        methods = tuple(method for method in self.methods if method.n > 1)
        return replace(self, methods=methods, pairs=tuple(pair for pair in self.pairs if min(pair.n_a, pair.n_b) > 1))

    @property
    def single(self) -> tuple[str, ...]:
        return tuple(method.name for method in self.methods if method.n == 1)

    @cached_property
    def estimates(self) -> dict[str, Estimate]:
        return {method.name: method for method in self.methods}

    def pair(self, one: str, other: str) -> Pair:
        for found in self.pairs:
            if {found.a, found.b} == {one, other}:
                return found
        raise InputError(f"no pair '{one}' and '{other}' in the comparison; there are {', '.join(self.estimates)}")


def sentence_of(pair: Pair, *, show: Show | None = None, unit: str = "", better: str = "") -> str:
    """Return the verdict on one pair; `show` writes a number, `unit` follows it, `better` may be 'higher'."""
    if pair.low is None or pair.high is None:
        needed = "at least two runs of each" if pair.prospect == "advised" else "the first look at all methods"
        return f"{pair.a} and {pair.b}: not settled; a verdict needs {needed}"
    # Two digits of the interval's half width, nine decimals at most.
    width = (pair.high - pair.low) / 2 or abs(pair.difference) or 1.0
    decimals = min(9, max(0, 1 - math.floor(math.log10(width))))
    show, seeds = show or (lambda value: f"{value:.{decimals}f}"), _rests_on(pair)
    ends = (pair.low, pair.high) if pair.higher_is_better else (-pair.high, -pair.low)
    by = f"{show(abs(pair.difference))} [{', '.join(map(show, ends))}]{unit}"
    if pair.verdict == "better":
        small = f", which is less than the margin of {show(pair.margin)}{unit}" if pair.is_small else ""
        word = better or ("better" if pair.higher_is_better else "better (lower)")
        return f"{pair.a} is {word} than {pair.b} by {by}, {shown_p(pair.p)}, {seeds}{small}"
    if pair.verdict == "equivalent":
        within = f"within ±{show(pair.margin)}{unit}"
        return f"{pair.a} and {pair.b} are equivalent: the difference {by} is {within}, {seeds}"
    why = f"not significant ({shown_p(pair.p)})"
    if pair.reason == "separated alone":
        many = f"not after correcting for {pair.n_pairs} comparisons ({shown_p(pair.p)})"
        why = f"significant on its own ({shown_p(pair.p_alone)}), {many}"
    return f"{pair.a} and {pair.b}: not settled, difference {by}, {why}, {seeds}; {_what_would_settle(pair)}"


def no_verdict_on(single: Sequence[str]) -> str:
    return f"There is no verdict on {join_words(single)}: one run cannot tell a better method from a lucky one."


def shown_p(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"


def join_words(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _rests_on(pair: Pair) -> str:
    seeds = f"{pair.n_a} seeds" if pair.n_a == pair.n_b else f"{pair.n_a} and {pair.n_b} seeds"
    classes, datasets = f"{pair.n_classes} test classes", f"{pair.n_shared} data sets"
    return {"seeds": seeds, "classes": classes, "both": f"{seeds} and {classes}", "datasets": datasets}[pair.over]


def _what_would_settle(pair: Pair) -> str:
    if pair.over != "seeds":
        words = {"classes": "test classes", "both": "seeds or test classes", "datasets": "data sets"}
        return f"more {words[pair.over]} would tell"
    if pair.prospect == "advised" and pair.more_seeds is not None:
        return f"about {pair.more_seeds} more seed{'s' if pair.more_seeds != 1 else ''} of each would settle it"
    return {
        "advised": "no feasible number of seeds would resolve this",
        "follow": "more seeds of both follow",
        "limit": "both have the most seeds this study gives",
        "none": "this study gives them no more seeds",
    }[pair.prospect]
