"""Holm, effects, power, pairwise verdicts, groups, ranks and the probability of being best."""

import math

import numpy as np
import pytest
from scipy import stats

from fairground.comparison.mean_ranks import critical_difference, friedman_p, nemenyi, ranks_of
from fairground.errors import InputError


def test_ranks_and_friedman_against_scipy():
    random = np.random.default_rng(1)
    table = random.normal([0, 0.5, 1, 0.2], size=(9, 4))
    assert np.array_equal(ranks_of(table), stats.rankdata(-table, axis=1))
    chi2 = stats.friedmanchisquare(*table.T).statistic
    n, k = table.shape
    f = (n - 1) * chi2 / (n * (k - 1) - chi2)
    assert friedman_p(table) == pytest.approx(stats.f.sf(f, k - 1, (k - 1) * (n - 1)))
    tied = np.round(table)
    chi2 = stats.friedmanchisquare(*tied.T).statistic
    f = (n - 1) * chi2 / (n * (k - 1) - chi2)
    assert np.array_equal(ranks_of(tied), stats.rankdata(-tied, axis=1))
    assert friedman_p(tied) == pytest.approx(stats.f.sf(f, k - 1, (k - 1) * (n - 1)))
    assert friedman_p(np.ones((5, 3))) == 1
    assert friedman_p(np.tile([1.0, 2.0, 3.0], (5, 1))) == 0


def test_the_critical_difference_is_demsars():
    # Demsar 2006, table 5: q_0.05 = 1.960, 2.343, 2.569 for k = 2, 3, 4; his example: k = 4, N = 14, CD = 1.25
    assert nemenyi(2, 1) == pytest.approx(1.960, abs=1e-3)
    assert nemenyi(3, 2) / math.sqrt(1) == pytest.approx(2.343, abs=1e-3)
    assert nemenyi(4, 14) == pytest.approx(1.25, abs=5e-3)


def test_the_diagram_has_one_bar_over_what_is_not_separated():
    n = 14
    scores = {"worst": [0.1] * n, "best": [0.9] * n, "good": [0.8] * n, "poor": [0.2] * n}
    found = critical_difference(scores)
    assert found.names == ("best", "good", "poor", "worst")
    assert found.mean_ranks == (1, 2, 3, 4)
    assert found.is_different
    # The critical difference 1.25 spans neighbours only.
    assert found.bars == (("best", "good"), ("good", "poor"), ("poor", "worst"))
    few = critical_difference({name: row[:2] for name, row in scores.items()})
    assert few.bars == (("best", "good", "poor", "worst"),)
    with pytest.raises(InputError, match="every method needs a score on every data set"):
        critical_difference({"a": [1.0, 2.0], "b": [1.0]})
    with pytest.raises(InputError, match="at least 2 methods"):
        critical_difference({"a": [1.0, 2.0]})
