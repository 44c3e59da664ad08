"""Holm, effects, power, pairwise verdicts, groups, ranks and the probability of being best."""

import math

import numpy as np
import pytest
from scipy import stats

from fairground.errors import InputError
from fairground.statistics.best import probability_of_best
from fairground.statistics.effects import cliffs_delta, paired_effect, size_of
from fairground.statistics.groups import best_group
from fairground.statistics.holm import holm
from fairground.statistics.pairwise import pairwise
from fairground.statistics.power import more_pairs, pairs_needed, power_of
from fairground.statistics.ranks import critical_difference, friedman_p, nemenyi, ranks_of


def seeds(*values: float) -> dict[int, float]:
    return dict(enumerate(values))


def test_holm_by_hand():
    # sorted 0.01, 0.02, 0.03, 0.04 times 4, 3, 2, 1 = 0.04, 0.06, 0.06, 0.04, never falling
    assert holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([]) == []
    with pytest.raises(InputError, match=r"p-values lie in \[0, 1\]"):
        holm([1.2])


def test_effects_by_hand():
    # differences 1, 2, 3: mean 2, s 1; three pairs: 1 - 3 / 7
    assert paired_effect([1.0, 2.0, 3.0], [0.0] * 3, is_corrected=False) == 2
    assert paired_effect([1.0, 2.0, 3.0], [0.0] * 3) == pytest.approx(2 * 4 / 7)
    assert paired_effect([1.0, 1.0], [0.0, 0.0]) == math.inf
    assert paired_effect([1.0, 1.0], [1.0, 1.0]) == 0
    # of the six pairs a wins 3 > 1, 3 > 2, 2 > 1, ties 2 = 2, loses 0 < 1, 0 < 2
    assert cliffs_delta([3.0, 2.0, 0.0], [1.0, 2.0]) == pytest.approx((3 - 2) / 6)
    assert cliffs_delta([5.0], [1.0, 2.0]) == 1
    assert [size_of(x) for x in (0.1, -0.2, 0.4, -0.9)] == ["negligible", "small", "medium", "large"]


def test_power_agrees_with_the_noncentral_t_and_the_textbook():
    n, effect = 12, 0.8
    bar = stats.t.ppf(0.975, n - 1)
    law = stats.nct(n - 1, effect * math.sqrt(n))
    assert power_of(n, effect) == pytest.approx(law.sf(bar) + law.cdf(-bar))
    # Cohen's paired table: d = 0.5 at 80 % needs 34 pairs, d = 1 needs 10.
    assert (pairs_needed(0.5), pairs_needed(1.0)) == (34, 10)
    assert power_of(33, 0.5) < 0.8 <= power_of(34, 0.5)
    assert pairs_needed(0.0) is None
    assert pairs_needed(1e-6) is None
    assert pairs_needed(math.inf) == 2
    assert pairs_needed(50.0) == 2
    # (1.95996 + 0.84162)^2 / 0.03^2 = 8721 by the normal law; the t needs a little more
    assert 8721 <= pairs_needed(0.03) <= 8725


def test_how_many_more():
    d = [0.5, -0.5, 1.5, 0.5, 0.5]  # mean 0.5, s sqrt(0.5)
    assert more_pairs(d) == pairs_needed(0.5 / math.sqrt(0.5)) - 5
    assert more_pairs([1.0, 1.0]) == 0
    assert more_pairs([0.0, 0.0]) is None
    assert more_pairs(d, alpha=0.005) > more_pairs(d)


def test_pairwise_corrects_over_all_pairs_and_puts_the_higher_first():
    values = {
        "low": seeds(0.10, 0.12, 0.11, 0.13, 0.10),
        "high": seeds(0.50, 0.53, 0.51, 0.52, 0.50),
        "near": seeds(0.49, 0.54, 0.50, 0.53, 0.48),
    }
    found = {(v.a, v.b): v for v in pairwise(values)}
    assert set(found) == {("high", "near"), ("high", "low"), ("near", "low")}
    raw = [stats.ttest_rel(list(values[a].values()), list(values[b].values())).pvalue for a, b in found]
    assert [v.adjusted_p for v in found.values()] == pytest.approx(holm(raw))
    assert [v.is_separated for v in found.values()] == [False, True, True]
    assert found["high", "low"].delta == 1
    assert found["high", "near"].more_seeds > 0
    assert found["high", "low"].more_seeds is None
    group = best_group(values)
    assert (group.best, group.members, group.is_settled) == ("high", ("high", "near"), False)


def test_seeds_that_are_not_shared_fall_back_to_welch_and_single_runs_to_nothing():
    a, b = {0: 0.5, 1: 0.6, 2: 0.55}, {7: 0.1, 8: 0.2, 9: 0.15}
    (found,) = pairwise({"a": a, "b": b})
    assert found.test.kind == "welch t"
    assert found.is_separated
    (single,) = pairwise({"a": {0: 0.9}, "b": {0: 0.1}})
    assert single.test is None
    assert not single.is_separated
    assert pairwise({"a": a}) == []
    with pytest.raises(InputError, match="'b' has no value"):
        pairwise({"a": a, "b": {}})


def test_who_is_first_is_decided_where_the_test_looked():
    # Over all seeds a is higher, on the shared ones b is.
    a = {0: 0.1, 1: 0.2, 2: 0.9}
    b = {0: 0.3, 1: 0.41}
    (found,) = pairwise({"a": a, "b": b})
    assert (found.a, found.test.mean > 0) == ("b", True)


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


def test_probability_of_being_best():
    values = {"a": seeds(0.5, 0.6, 0.7), "b": seeds(0.1, 0.2, 0.3), "c": seeds(0.5, 0.6, 0.7)}
    assert probability_of_best(values) == {"a": 0.5, "b": 0.0, "c": 0.5}
    split = {"a": seeds(0.9, 0.9, 0.1), "b": seeds(0.1, 0.1, 0.9)}
    found = probability_of_best(split, seed=3)
    # b wins with 2 or 3 draws of the third seed: 3 * (1/9) * (2/3) + 1/27 = 7/27
    assert found["b"] == pytest.approx(7 / 27, abs=3 * math.sqrt(7 / 27 * 20 / 27 / 10_000))
    assert found == probability_of_best(split, seed=3)
    with pytest.raises(InputError, match="at least 2 that all methods share; got 1"):
        probability_of_best({"a": seeds(1.0), "b": seeds(2.0)})
