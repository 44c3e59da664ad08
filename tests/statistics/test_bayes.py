import numpy as np
import pytest
from scipy import stats

from fairground.errors import InputError
from fairground.statistics.bayes import bayesian_signed_rank, correlated_t


def test_without_rope_or_correlation_it_is_the_one_sided_t_test():
    a, b = [0.5, 0.7, 0.9, 0.6], [0.4, 0.5, 0.8, 0.65]
    found = correlated_t(a, b, rope=0)
    assert found.worse == pytest.approx(stats.ttest_rel(a, b, alternative="greater").pvalue)
    assert found.equal == pytest.approx(0, abs=1e-12)
    assert found.better + found.equal + found.worse == pytest.approx(1)


def test_correlation_widens_and_a_wide_rope_makes_equal():
    a, b = [0.50, 0.52, 0.54, 0.53], [0.49, 0.51, 0.52, 0.50]
    assert correlated_t(a, b, rope=0, correlation=0.25).better < correlated_t(a, b, rope=0).better
    assert correlated_t(a, b, rope=0.2).equal > 0.99
    # scale^2 = s^2 (1/n + r/(1-r)) = s^2 (1/4 + 1/3), by hand with scipy's t
    d = np.subtract(a, b)
    scale = d.std(ddof=1) * np.sqrt(1 / 4 + 1 / 3)
    expected = stats.t.sf((0.01 - d.mean()) / scale, df=3)
    assert correlated_t(a, b, rope=0.01, correlation=0.25).better == pytest.approx(expected)


def test_no_scatter_at_all():
    assert correlated_t([0.5, 0.6], [0.5, 0.6]).equal == 1
    assert correlated_t([2.0, 3.0], [1.0, 2.0]).better == 1


def test_signed_rank_over_data_sets():
    a, b = [0.61, 0.72, 0.83, 0.54, 0.65, 0.76], [0.51, 0.62, 0.71, 0.46, 0.60, 0.70]
    found = bayesian_signed_rank(a, b, seed=1)
    assert found == bayesian_signed_rank(a, b, seed=1)
    assert found.better > 0.95
    mirrored = bayesian_signed_rank(b, a, seed=1)
    assert mirrored.worse == pytest.approx(found.better)
    assert bayesian_signed_rank(a, b, rope=0.3).equal > 0.95
    assert found.better + found.equal + found.worse == pytest.approx(1)


def test_signed_rank_agrees_with_a_slow_loop():
    a, b, rope = [0.3, 0.1, 0.5], [0.2, 0.15, 0.1], 0.02
    d = [0.0, *np.subtract(a, b)]
    draws = np.random.default_rng(4).dirichlet([0.5, 1, 1, 1], size=1000)
    wins = np.zeros(3)
    for w in draws:
        theta = np.zeros(3)
        for i, x in enumerate(d):
            for j, y in enumerate(d):
                theta[0 if x + y > 2 * rope else 2 if x + y < -2 * rope else 1] += w[i] * w[j]
        wins[theta.argmax()] += 1
    found = bayesian_signed_rank(a, b, rope=rope, draws=1000, seed=4)
    assert [found.better, found.equal, found.worse] == pytest.approx((wins / 1000).tolist())


def test_refusals():
    with pytest.raises(InputError, match="rope must be 0 or more; got -1"):
        correlated_t([1.0, 2.0], [1.0, 3.0], rope=-1)
    with pytest.raises(InputError, match=r"correlation must be in \[0, 1\); got 1"):
        correlated_t([1.0, 2.0], [1.0, 3.0], correlation=1)
    with pytest.raises(InputError, match="draws must be at least 1000; got 3"):
        bayesian_signed_rank([1.0, 2.0], [1.0, 3.0], draws=3)
