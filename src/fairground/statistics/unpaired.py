"""Two methods that share nothing to be paired on: Welch's t-test of two means with unequal scatter.

Formula
    t = (mean(a) - mean(b)) / sqrt(v_a + v_b), v = s^2 / n;
    degrees of freedom min(n_a, n_b) - 1

Paper
    Welch, "The generalization of Student's problem when several different population variances are involved",
    Biometrika 1947. Hsu, "Contribution to the theory of Student's t-test", 1938, for the degrees of freedom.

Departures from the paper
    Welch estimates the degrees of freedom from the two scatters. With two values on one side and ten on the other that
    rejects equal methods in 10 % of studies instead of 5 %; the smaller count never rejects too often.
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
    n = min(len(a), len(b))
    return from_error(mean_a - mean_b, math.sqrt(v_a + v_b), n - 1, n=n, level=level, kind="welch t")


def _mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    mean = math.fsum(values) / len(values)
    return mean, math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1) / len(values)
