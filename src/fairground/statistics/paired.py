"""Two methods measured on the same seeds, folds, queries or data sets: the mean of their differences.

Formula
    d_i = a_i - b_i;  t = mean(d) / (s / sqrt(n)) with s the standard deviation over n - 1;
    p = P(|T| >= |t|), T Student's t with n - 1 degrees of freedom;
    interval mean(d) ± t(1 - alpha/2, n - 1) s / sqrt(n)

Paper
    Student, "The probable error of a mean", Biometrika 1908. What two methods share (the order of images, the folds)
    moves both alike and leaves the difference alone; an unpaired comparison would count it as noise.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from fairground.errors import require
from fairground.statistics.intervals import LEVEL

Kind = Literal["paired t", "welch t"]


@dataclass(frozen=True, kw_only=True)
class Test:
    """The mean difference a - b with its interval where the test has one, and the two-sided p-value."""

    mean: float
    low: float | None
    high: float | None
    statistic: float
    p: float
    n: int
    level: float
    kind: Kind

    # pytest must not take the class for a test of its own
    __test__ = False


def on_shared(a: Mapping[int, float], b: Mapping[int, float]) -> tuple[list[float], list[float]]:
    """Return the values of both on the keys both have, in the order of `a`: what one lacks is left out of both."""
    keys = [key for key in a if key in b]
    return [a[key] for key in keys], [b[key] for key in keys]


def differences(a: Sequence[float], b: Sequence[float]) -> list[float]:
    """Return a - b, refusing what cannot be paired."""
    require(len(a) == len(b), f"a paired comparison needs as many values of a as of b; got {len(a)} and {len(b)}")
    require(len(a) >= 2, f"a paired comparison needs at least 2 pairs; got {len(a)}")
    found = [float(x) - float(y) for x, y in zip(a, b, strict=True)]
    require(all(math.isfinite(d) for d in found), "a paired comparison needs finite values")
    return found


def paired_t(a: Sequence[float], b: Sequence[float], *, level: float = LEVEL) -> Test:
    """Return Student's paired t-test: right for few pairs whose differences scatter like a bell curve."""
    return t_test(differences(a, b), level=level)


def t_test(d: Sequence[float], *, level: float = LEVEL) -> Test:
    """Return the t-test of differences already taken."""
    require(0 < level < 1, f"level must be between 0 and 1; got {level}")
    n = len(d)
    mean = math.fsum(d) / n
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in d) / (n - 1))
    return from_error(mean, deviation / math.sqrt(n), n - 1, n=n, level=level, kind="paired t")


def from_error(mean: float, error: float, freedom: float, *, n: int, level: float, kind: Kind) -> Test:
    """Return the t-test of a mean whose standard error has `freedom` degrees of freedom."""
    # Not scipy.stats: that takes longer to import than most commands take to run.
    from scipy.special import stdtr, stdtrit

    if error == 0:
        # Differences without any scatter: equal methods if they are 0, otherwise certain ones.
        t = 0.0 if mean == 0 else math.copysign(math.inf, mean)
        return Test(mean=mean, low=mean, high=mean, statistic=t, p=float(mean == 0), n=n, level=level, kind=kind)
    t = mean / error
    half = float(stdtrit(freedom, (1 + level) / 2)) * error
    p = float(2 * stdtr(freedom, -abs(t)))
    return Test(mean=mean, low=mean - half, high=mean + half, statistic=t, p=p, n=n, level=level, kind=kind)
