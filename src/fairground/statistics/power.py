"""How many more seeds would settle it, were the truth what has been seen so far.

Formula
    the smallest n with  P(|T'| > t(1 - alpha/2, n - 1)) >= power,
    T' noncentral t with n - 1 degrees of freedom and noncentrality sqrt(n) |mean(d)| / s(d)

Paper
    Cohen, "Statistical Power Analysis for the Behavioral Sciences", 1988, chapter 2.

To be borne in mind
    An estimate from few seeds is itself uncertain; it is meant for planning, never as evidence. Asking for it, running
    that many and looking again is one more look: decide on the number of seeds once.
"""

import math
from collections.abc import Sequence

from fairground.errors import require

#: beyond this many, saying a number would be saying too much
MOST = 10_000


def power_of(n: int, effect: float, *, alpha: float = 0.05) -> float:
    """Return the probability that the paired t-test of n pairs finds an effect of `effect` standard deviations."""
    from scipy.special import nctdtr, stdtrit

    require(n >= 2, f"a paired t-test needs at least 2 pairs; got {n}")
    require(0 < alpha < 1, f"alpha must be between 0 and 1; got {alpha}")
    bar = float(stdtrit(n - 1, 1 - alpha / 2))
    shift = math.sqrt(n) * abs(effect)
    beyond = float(nctdtr(n - 1, shift, -bar))
    # So far out that scipy has no digits left for it, the wrong tail is empty.
    return 1 - float(nctdtr(n - 1, shift, bar)) + (beyond if math.isfinite(beyond) else 0.0)


def pairs_needed(effect: float, *, alpha: float = 0.05, power: float = 0.8) -> int | None:
    """Return how many pairs find the effect with probability `power`; None when more than 10,000."""
    require(0 < power < 1, f"power must be between 0 and 1; got {power}")
    # Twenty standard deviations and more are found with two pairs, and would lie beyond the digits of scipy's law.
    effect = min(abs(effect), 20.0)
    low, high = 1, 2
    # From below by doubling: far above the answer the law's tail has no digits left.
    while effect > 0 and high <= MOST and power_of(high, effect, alpha=alpha) < power:
        low, high = high, 2 * high
    while effect > 0 and high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power_of(middle, effect, alpha=alpha) >= power else (middle, high)
    return high if effect > 0 and high <= MOST else None


def more_pairs(d: Sequence[float], *, alpha: float = 0.05, power: float = 0.8) -> int | None:
    """Return how many pairs beyond those in `d` would settle whether their mean is 0; None when none known would."""
    require(len(d) >= 2, f"the scatter of differences needs at least 2 of them; got {len(d)}")
    mean = math.fsum(d) / len(d)
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in d) / (len(d) - 1))
    if deviation == 0:
        return None if mean == 0 else 0
    needed = pairs_needed(mean / deviation, alpha=alpha, power=power)
    return None if needed is None else max(0, needed - len(d))
