"""Two methods that share nothing to be paired on: Welch's t-test of two means with unequal scatter.

Formula
    t = (mean(a) - mean(b)) / sqrt(v_a + v_b), v = s^2 / n;
    degrees of freedom (v_a + v_b)^2 / (v_a^2 / (n_a - 1) + v_b^2 / (n_b - 1))

Paper
    Welch, "The generalization of Student's problem when several different population variances are involved",
    Biometrika 1947.
"""

import math
from collections.abc import Sequence

from fairground.errors import require
from fairground.statistics.intervals import LEVEL
from fairground.statistics.paired import Test, from_error


def welch_t(a: Sequence[float], b: Sequence[float], *, level: float = LEVEL) -> Test:
    """Return the test of mean(a) - mean(b); `n` is the smaller number of values."""
    require(min(len(a), len(b)) >= 2, f"Welch's test needs at least 2 values a side; got {len(a)} and {len(b)}")
    (mean_a, v_a), (mean_b, v_b) = _mean_and_error(a), _mean_and_error(b)
    spread = v_a**2 / (len(a) - 1) + v_b**2 / (len(b) - 1)
    freedom = (v_a + v_b) ** 2 / spread if spread > 0 else 1.0
    n = min(len(a), len(b))
    return from_error(mean_a - mean_b, math.sqrt(v_a + v_b), freedom, n=n, level=level, kind="welch t")


def _mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    mean = math.fsum(values) / len(values)
    return mean, math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1) / len(values)
