import math

import numpy as np
import pytest
from scipy import stats

from fairground.errors import InputError
from fairground.statistics.clusters import clustered_t
from fairground.statistics.paired import on_shared, paired_t
from fairground.statistics.permutation import permutation_test
from fairground.statistics.signed_rank import wilcoxon
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
    ours, theirs = wilcoxon(a, b), stats.wilcoxon(a, b)
    assert (ours.statistic, ours.p) == (theirs.statistic, pytest.approx(theirs.pvalue))


def test_differences_without_scatter():
    assert paired_t([1.0, 2.0], [1.0, 2.0]).p == 1
    assert paired_t([2.0, 3.0], [1.0, 2.0]).p == 0
    assert paired_t([2.0, 3.0], [1.0, 2.0]).statistic == math.inf
    assert wilcoxon([1.0, 2.0], [1.0, 2.0]).p == 1
    assert welch_t([1.0, 1.0], [1.0, 1.0]).p == 1
    assert permutation_test([1.0, 2.0], [1.0, 2.0]).p == 1


def test_all_flips_of_three_pairs_by_hand():
    # Of the 8 signings of (1, 2, 3) only +++ and --- have a mean as large as 2.
    assert permutation_test([1.0, 2.0, 3.0], [0.0, 0.0, 0.0]).p == 2 / 8
    # (1, -2, 3): |sum| = 2 is reached by all but +1+2-3 and its mirror image.
    assert permutation_test([1.0, -2.0, 3.0], [0.0, 0.0, 0.0]).p == 6 / 8


def test_five_seeds_can_never_reach_one_in_twenty_by_flipping():
    assert permutation_test([0.5, 0.6, 0.7, 0.8, 0.9], [0.1] * 5).p == 2 / 32
    assert permutation_test([0.5, 0.6, 0.7, 0.8, 0.9, 1.0], [0.1] * 6).p == 2 / 64


def test_random_flips_come_near_all_flips_and_repeat():
    a, b = pairs(13)
    exact = permutation_test(a, b).p
    drawn = [permutation_test(a, b, resamples=5000, seed=seed).p for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    # Three standard deviations of a share of 5,000 draws.
    assert drawn[0] == pytest.approx(exact, abs=3 * math.sqrt(exact * (1 - exact) / 5000) + 1e-3)
    theirs = stats.permutation_test(
        (np.subtract(a, b),), np.mean, permutation_type="samples", n_resamples=np.inf, vectorized=True
    )
    assert exact == pytest.approx(theirs.pvalue)


def test_many_pairs_never_give_a_p_of_nothing():
    found = permutation_test([1.0] * 200, [0.0] * 200, resamples=999)
    assert found.p == 1 / 1000


def test_queries_of_a_class_count_once():
    # Four classes of two queries that agree: as if each class were one pair.
    a, b = [1.0, 1.0, 2.0, 2.0, 0.0, 0.0, 3.0, 3.0], [0.0] * 8
    ours = clustered_t(a, b, [0, 0, 1, 1, 2, 2, 3, 3])
    once = paired_t([1.0, 2.0, 0.0, 3.0], [0.0] * 4)
    assert ours.n == 4
    # The squared class sums are 4 times those of the single pairs, and so is N^2: the same error.
    assert ours.mean == once.mean
    assert ours.statistic == pytest.approx(once.statistic)
    assert ours.p == pytest.approx(once.p)
    alone = clustered_t([1.0, 2.0, 0.0, 3.0], [0.0] * 4, [7, 3, 5, 9])
    assert alone.p == pytest.approx(once.p)


def test_only_shared_seeds_are_paired():
    assert on_shared({0: 1.0, 1: 2.0, 5: 3.0}, {5: 30.0, 0: 10.0, 9: 0.0}) == ([1.0, 3.0], [10.0, 30.0])


def test_refusals_say_what_is_needed():
    with pytest.raises(InputError, match="as many values of a as of b; got 2 and 3"):
        paired_t([1.0, 2.0], [1.0, 2.0, 3.0])
    with pytest.raises(InputError, match="at least 2 pairs; got 1"):
        paired_t([1.0], [2.0])
    with pytest.raises(InputError, match="finite values"):
        wilcoxon([1.0, math.nan], [1.0, 2.0])
    with pytest.raises(InputError, match="resamples must be at least 100; got 7"):
        permutation_test([1.0, 2.0], [1.0, 3.0], resamples=7)
    with pytest.raises(InputError, match="at least 2 values a side; got 1 and 2"):
        welch_t([1.0], [1.0, 2.0])
    with pytest.raises(InputError, match="2 classes"):
        clustered_t([1.0, 2.0], [0.0, 0.0], [4, 4])
    with pytest.raises(InputError, match="3 labels for 2 queries"):
        clustered_t([1.0, 2.0], [0.0, 0.0], [4, 4, 5])
