"""The sign-flip permutation test: were the methods equal, every difference could as well have the other sign.

Formula
    p = share of sign vectors e in {-1, +1}^n with |mean(e * d)| >= |mean(d)|
    All 2^n vectors where there are at most `resamples` of them; otherwise `resamples` random ones, the data counted in:
    p = (1 + #) / (1 + resamples).

Paper
    Fisher, "The Design of Experiments", 1935, section 21; Phipson and Smyth, "Permutation p-values should never be
    zero", 2010, for the random draws.

To be borne in mind
    With n pairs no p-value is below 2 / 2^n: five seeds can never reach 0.05 (2/32 = 0.0625), six can.
"""

from collections.abc import Sequence

import numpy as np

from fairground.errors import require
from fairground.statistics.intervals import LEVEL
from fairground.statistics.paired import Test, differences

#: sign vectors held in memory at a time
_BLOCK = 1 << 14


def permutation_test(a: Sequence[float], b: Sequence[float], *, resamples: int = 10_000, seed: int = 0) -> Test:
    """Return the two-sided test of mean(a - b); it assumes that differences are symmetric, and no bell curve."""
    require(resamples >= 100, f"resamples must be at least 100; got {resamples}")
    d = np.array(differences(a, b))
    n = len(d)
    observed = float(d.mean())
    # Equal up to rounding counts as equal: the identity itself must never be lost to the order of a sum.
    threshold = abs(observed) - 1e-12 * float(np.abs(d).max())
    if n < 63 and 2**n <= resamples:
        p = _count(d, threshold, _all_signs(n)) / 2**n
    else:
        p = (1 + _count(d, threshold, _random_signs(n, resamples, seed))) / (1 + resamples)
    return Test(
        mean=observed, low=None, high=None, statistic=observed, p=p, n=n, level=LEVEL, kind="sign-flip permutation"
    )


def _count(d: np.ndarray, threshold: float, blocks: "Sequence[np.ndarray]") -> int:
    return sum(int(np.sum(np.abs(signs @ d) / len(d) >= threshold)) for signs in blocks)


def _all_signs(n: int) -> list[np.ndarray]:
    codes = np.arange(2**n)[:, None] >> np.arange(n) & 1
    return [2.0 * codes - 1.0]


def _random_signs(n: int, resamples: int, seed: int) -> list[np.ndarray]:
    random = np.random.default_rng(seed)
    block = max(1, min(resamples, _BLOCK * 64 // n))
    sizes = [min(block, resamples - start) for start in range(0, resamples, block)]
    return [2.0 * random.integers(2, size=(size, n)) - 1.0 for size in sizes]
