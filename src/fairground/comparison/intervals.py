"""How far a mean can be trusted: Student's t interval.

Formula
    mean ± t(1 - alpha/2, n - 1) * s / sqrt(n), with s the standard deviation over n - 1

Paper
    Student, "The probable error of a mean", Biometrika 1908.
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
    kind: Literal["t", "model"]

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


def _mean(values: Sequence[float], level: float) -> float:
    require(len(values) > 0, "an interval needs at least one value; got none")
    require(all(math.isfinite(value) for value in values), f"an interval needs finite values; got {list(values)[:5]}")
    require(0 < level < 1, f"level must be between 0 and 1; got {level}")
    return math.fsum(values) / len(values)
