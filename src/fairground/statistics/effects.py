"""How large a difference is, beside how certain: standardised mean difference and Cliff's delta.

Formula
    d_z   = mean(d) / s(d), the mean paired difference in standard deviations of the differences
    g_z   = d_z (1 - 3 / (4 (n - 1) - 1)), which takes away most of the upward bias of few pairs
    delta = (#{a_i > b_j} - #{a_i < b_j}) / (n_a n_b), from -1 (b always higher) to 1 (a always higher)

Paper
    Cohen, "Statistical Power Analysis for the Behavioral Sciences", 1988; Hedges, "Distribution theory for Glass's
    estimator of effect size", 1981; Cliff, "Dominance statistics", Psychological Bulletin 1993.
    The words for delta are those of Romano et al., 2006: below 0.147, 0.33 and 0.474.
"""

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from fairground.errors import require
from fairground.statistics.paired import differences

Size = Literal["negligible", "small", "medium", "large"]


def paired_effect(a: Sequence[float], b: Sequence[float], *, is_corrected: bool = True) -> float:
    """Return g_z, or d_z when not corrected; infinite when the differences have no scatter at all."""
    d = differences(a, b)
    n = len(d)
    mean = math.fsum(d) / n
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in d) / (n - 1))
    if deviation == 0:
        return 0.0 if mean == 0 else math.copysign(math.inf, mean)
    # With two pairs the correction would be 0; it is derived for more.
    factor = 1 - 3 / (4 * (n - 1) - 1) if is_corrected and n > 2 else 1.0
    return factor * mean / deviation


def cliffs_delta(a: Sequence[float], b: Sequence[float]) -> float:
    """Return how much more often a is above b than below, over all pairs of one value each; O(n log n)."""
    require(len(a) > 0 and len(b) > 0, f"Cliff's delta needs values on both sides; got {len(a)} and {len(b)}")
    ordered = np.sort(np.asarray(b, dtype=float))
    above = np.searchsorted(ordered, np.asarray(a, dtype=float), side="left").sum()
    not_below = np.searchsorted(ordered, np.asarray(a, dtype=float), side="right").sum()
    return float((above - (len(a) * len(b) - not_below)) / (len(a) * len(b)))


def size_of(delta: float) -> Size:
    """Return the usual word for a Cliff's delta."""
    bounds: tuple[tuple[float, Size], ...] = ((0.147, "negligible"), (0.33, "small"), (0.474, "medium"))
    return next((word for bound, word in bounds if abs(delta) < bound), "large")
