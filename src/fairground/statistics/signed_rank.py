"""Wilcoxon's signed-rank test: do the larger differences point one way? Right over data sets with different scales.

Formula
    W = the smaller of the sums of ranks of |d_i| over d_i > 0 and over d_i < 0; differences of 0 take part in the
    ranking and are then left out (Pratt). p is exact for up to 50 pairs without ties or zeros, else from the normal
    approximation.

Paper
    Wilcoxon, "Individual comparisons by ranking methods", Biometrics 1945. Demšar, "Statistical comparisons of
    classifiers over multiple data sets", JMLR 2006, section 3.1.3, advises it for two methods over data sets.
"""

from collections.abc import Sequence

from fairground.statistics.intervals import LEVEL
from fairground.statistics.paired import Test, differences


def wilcoxon(a: Sequence[float], b: Sequence[float]) -> Test:
    """Return the two-sided signed-rank test of a - b."""
    from scipy import stats

    d = differences(a, b)
    mean = sum(d) / len(d)
    if not any(d):
        statistic, p = 0.0, 1.0
    else:
        found = stats.wilcoxon(d, zero_method="pratt")
        statistic, p = float(found.statistic), float(found.pvalue)
    return Test(
        mean=mean, low=None, high=None, statistic=statistic, p=p, n=len(d), level=LEVEL, kind="wilcoxon signed-rank"
    )
