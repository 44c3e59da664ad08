import math

import numpy as np
import pytest
from scipy import stats

from fairground.errors import InputError
from fairground.statistics.paired import on_shared, paired_t
from fairground.statistics.unpaired import welch_t


def pairs(n: int, shift: float = 0.3, seed: int = 0) -> tuple[list[float], list[float]]:
    random = np.random.default_rng(seed)
    shared = random.normal(size=n)
    return (shared + shift + random.normal(size=n)).tolist(), (shared + random.normal(size=n)).tolist()


def test_three_pairs_by_hand():
    # differences 1, 2, 3: mean 2, s 1, t = 2 / (1 / sqrt(3)) = 3.4641, half width 4.3027 / sqrt(3) = 2.4842
    found = paired_t([2.0, 4.0, 6.0], [1.0, 2.0, 3.0])
    assert found.mean == 2
    assert found.statistic == pytest.approx(math.sqrt(12))
    assert found.low == pytest.approx(2 - 2.4842, abs=1e-4)
    assert found.high == pytest.approx(2 + 2.4842, abs=1e-4)
    # P(|T_2| > t) = 1 - t / sqrt(t^2 + 2)
    assert found.p == pytest.approx(1 - math.sqrt(12 / 14))


@pytest.mark.parametrize("n", [2, 5, 30])
def test_scipy_agrees(n):
    a, b = pairs(n)
    ours, theirs = paired_t(a, b), stats.ttest_rel(a, b)
    assert (ours.statistic, ours.p) == (pytest.approx(theirs.statistic), pytest.approx(theirs.pvalue))
    interval = theirs.confidence_interval(0.95)
    assert (ours.low, ours.high) == (pytest.approx(interval.low), pytest.approx(interval.high))
    ours, theirs = welch_t(a, b), stats.ttest_ind(a, b, equal_var=False)
    assert ours.statistic == pytest.approx(theirs.statistic)
    assert ours.p == pytest.approx(2 * stats.t.sf(abs(theirs.statistic), n - 1))
    assert ours.p >= theirs.pvalue


def test_differences_without_scatter():
    assert paired_t([1.0, 2.0], [1.0, 2.0]).p == 1
    assert paired_t([2.0, 3.0], [1.0, 2.0]).p == 0
    assert paired_t([2.0, 3.0], [1.0, 2.0]).statistic == math.inf
    assert welch_t([1.0, 1.0], [1.0, 1.0]).p == 1


def test_only_shared_seeds_are_paired():
    assert on_shared({0: 1.0, 1: 2.0, 5: 3.0}, {5: 30.0, 0: 10.0, 9: 0.0}) == ([1.0, 3.0], [10.0, 30.0])


def test_refusals_say_what_is_needed():
    with pytest.raises(InputError, match="as many values of a as of b; got 2 and 3"):
        paired_t([1.0, 2.0], [1.0, 2.0, 3.0])
    with pytest.raises(InputError, match="at least 2 pairs; got 1"):
        paired_t([1.0], [2.0])
    with pytest.raises(InputError, match="finite values"):
        paired_t([1.0, math.nan], [1.0, 2.0])
    with pytest.raises(InputError, match="at least 2 values a side; got 1 and 2"):
        welch_t([1.0], [1.0, 2.0])
