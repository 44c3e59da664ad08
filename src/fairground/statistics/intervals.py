"""How far a mean can be trusted: Student's t interval and the bootstrap.

Formula
    t:          mean ± t(1 - alpha/2, n - 1) * s / sqrt(n), with s the standard deviation over n - 1
    bootstrap:  bias-corrected and accelerated percentiles of the means of resamples drawn with replacement, taken at
                z = sqrt(n / (n - 1)) t(1 - alpha/2, n - 1) instead of the normal quantile

Paper
    Student, "The probable error of a mean", Biometrika 1908. Efron, "Better bootstrap confidence intervals", JASA 1987.
    Hesterberg, "What teachers should know about the bootstrap", 2015, section 4.3.3, for the wider z: a resample
    scatters by s sqrt((n - 1) / n) and like a normal, so that plain percentiles cover less than they say.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from fairground.errors import require

LEVEL = 0.95


@dataclass(frozen=True, kw_only=True)
class Interval:
    """A mean of `n` values and the interval that covers the true mean at rate `level`; one value has no interval."""

    mean: float
    low: float | None
    high: float | None
    n: int
    level: float
    kind: Literal["t", "bootstrap", "model"]

    @property
    def half_width(self) -> float | None:
        """Half the length of the interval, the number after ±."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2

    def overlaps(self, other: "Interval") -> bool:
        """Tell whether the two intervals share a value; one that is missing could be anywhere and overlaps all."""
        if self.low is None or self.high is None or other.low is None or other.high is None:
            return True
        return self.low <= other.high and other.low <= self.high


def t_interval(values: Sequence[float], *, level: float = LEVEL) -> Interval:
    """Return the mean with its Student-t interval: right for few repeats that scatter like a bell curve."""
    mean = _mean(values, level)
    n = len(values)
    if n == 1:
        return Interval(mean=mean, low=None, high=None, n=1, level=level, kind="t")
    # Imported here, and not scipy.stats: that takes longer to import than most commands take to run.
    from scipy.special import stdtrit

    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1))
    half = float(stdtrit(n - 1, (1 + level) / 2)) * deviation / math.sqrt(n)
    return Interval(mean=mean, low=mean - half, high=mean + half, n=n, level=level, kind="t")


def bootstrap_interval(
    values: Sequence[float], *, level: float = LEVEL, resamples: int = 10_000, seed: int = 0
) -> Interval:
    """Return the mean with its bootstrap interval: assumes no bell curve; covers at its rate from twenty values on."""
    require(resamples >= 100, f"resamples must be at least 100; got {resamples}")
    mean = _mean(values, level)
    n = len(values)
    if n == 1:
        return Interval(mean=mean, low=None, high=None, n=1, level=level, kind="bootstrap")
    if min(values) == max(values):
        # Every resample has the same mean, and the correction would divide nothing by nothing.
        return Interval(mean=mean, low=mean, high=mean, n=n, level=level, kind="bootstrap")
    low, high = _corrected_percentiles(values, mean, level, resamples, seed)
    return Interval(mean=mean, low=low, high=high, n=n, level=level, kind="bootstrap")


def _corrected_percentiles(
    values: Sequence[float], mean: float, level: float, resamples: int, seed: int
) -> tuple[float, float]:
    """Return the two percentiles, moved for how lopsided the resampled means are (z0) and their spread (a)."""
    import numpy as np
    from scipy.special import ndtr, ndtri, stdtrit

    sample = np.asarray(values, dtype=float)
    n = len(sample)
    means = sample[np.random.default_rng(seed).integers(n, size=(resamples, n))].mean(axis=1)
    below = (np.sum(means < mean) + np.sum(means == mean) / 2) / resamples
    z0 = ndtri(np.clip(below, 1 / resamples, 1 - 1 / resamples))
    without_one = (sample.sum() - sample) / (n - 1)
    gaps = without_one.mean() - without_one
    a = np.sum(gaps**3) / (6 * np.sum(gaps**2) ** 1.5)
    z = z0 + math.sqrt(n / (n - 1)) * stdtrit(n - 1, np.array([1 - level, 1 + level]) / 2)
    low, high = np.quantile(means, ndtr(z0 + z / (1 - a * z)))
    return float(low), float(high)


def _mean(values: Sequence[float], level: float) -> float:
    require(len(values) > 0, "an interval needs at least one value; got none")
    require(all(math.isfinite(value) for value in values), f"an interval needs finite values; got {list(values)[:5]}")
    require(0 < level < 1, f"level must be between 0 and 1; got {level}")
    return math.fsum(values) / len(values)
