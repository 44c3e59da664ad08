"""One comparison: its arithmetic, its edges, and that nothing it says contradicts anything else it says."""

import math

import numpy as np
import pytest
from scipy import stats

from fairground.comparison import CAUTION, PRIOR, Interval, Layout, paired_table, scatter_of, t_interval
from fairground.comparison.compare_values import compare_values
from fairground.errors import InputError

#: 20,000 draws know a critical value of two degrees of freedom to about two in a hundred
DRAWN = 0.04


def table(rows: np.ndarray) -> dict[str, dict[int, float]]:
    return {f"m{i}": dict(enumerate(row.tolist())) for i, row in enumerate(rows)}


def random_study(seed: int, k: int = 5, n: int = 4, gap: float = 0.0) -> dict[str, dict[int, float]]:
    random = np.random.default_rng(seed)
    return table(random.normal(size=(k, n)) + np.linspace(gap, 0, k)[:, None] + random.normal(size=n))


def test_two_methods_are_a_paired_t_test():
    a, b = [2.0, 4.0, 6.5, 3.0], [1.0, 2.0, 3.0, 2.5]
    (pair,) = compare_values({"a": dict(enumerate(a)), "b": dict(enumerate(b))}).pairs
    theirs = stats.ttest_rel(a, b)
    assert pair.difference == pytest.approx(np.mean(a) - np.mean(b))
    assert pair.p == pytest.approx(theirs.pvalue / CAUTION, rel=DRAWN)
    span = theirs.confidence_interval(1 - CAUTION * 0.05)
    assert (pair.low, pair.high) == (pytest.approx(span.low, rel=DRAWN), pytest.approx(span.high, rel=DRAWN))


def test_variances_are_drawn_towards_their_mean_as_a_slow_loop_has_them():
    y = np.random.default_rng(0).normal(size=(4, 3)) * [[1], [2], [3], [4]]
    layout = Layout(np.ones((4, 3), dtype=bool))
    q = [sum((y[i, s] - y[i].mean() - y[:, s].mean() + y.mean()) ** 2 for s in range(3)) for i in range(4)]
    freedom = 2 * 3 / 4  # (n - 1)(k - 1) / k
    pooled = sum(q) / (4 * freedom)
    found = scatter_of(layout, y.ravel())
    assert layout.freedom == pytest.approx([freedom] * 4)
    assert found.own == pytest.approx([(PRIOR * pooled + one) / (PRIOR + freedom) for one in q])
    # what seeds do: the mean square of seeds over the number of methods
    assert float(found.seeds) == pytest.approx(y.mean(axis=0).var(ddof=1))


@pytest.mark.parametrize("seed", range(40))
def test_nothing_contradicts_anything(seed):
    found = compare_values(random_study(seed, gap=seed / 8), margin=0.8 + seed / 20)
    means = [method.mean for method in found.methods]
    assert means == sorted(means, reverse=True)
    assert math.fsum(method.probability_best for method in found.methods) == pytest.approx(1)
    for pair in found.pairs:
        leaves_out_0 = pair.low > 0 or pair.high < 0
        assert (pair.verdict == "better") == leaves_out_0 == (pair.p <= 0.05)
        assert pair.low <= pair.difference <= pair.high
        assert pair.difference == pytest.approx(found.estimates[pair.a].mean - found.estimates[pair.b].mean)
        assert pair.p_alone <= pair.p
        assert (pair.verdict == "equivalent") == (pair.is_small and not leaves_out_0)
        assert (pair.more_seeds is not None) <= (pair.verdict == "unsettled")
        assert ("significant on its own" in pair.sentence) == (pair.verdict == "unsettled" and pair.p_alone <= 0.05)
        if pair.verdict == "better":
            assert found.estimates[pair.b].probability_best <= 0.025
            assert pair.b not in found.best
    assert found.best[0] == found.methods[0].name


def test_the_order_of_methods_and_seeds_does_not_matter_and_digits_repeat():
    values = random_study(3, gap=2)
    values["m1"].pop(2)
    turned = {name: dict(reversed(found.items())) for name, found in reversed(values.items())}
    first, again, other = compare_values(values), compare_values(values), compare_values(turned)
    assert first == again
    assert first.methods == other.methods
    assert first.pairs == other.pairs


def test_the_unit_does_not_matter_and_the_margin_is_in_it():
    values = random_study(4, gap=3)
    percent = {name: {seed: 100 * v + 7 for seed, v in found.items()} for name, found in values.items()}
    small, large = compare_values(values, margin=0.5), compare_values(percent, margin=50)
    for one, other in zip(small.pairs, large.pairs, strict=True):
        assert (one.verdict, one.p) == (other.verdict, other.p)
        assert other.low == pytest.approx(100 * one.low)
    assert compare_values({"a": {0: 0.3, 1: 0.4}, "b": {0: 0.3, 1: 0.5}}).margin == 0.005
    assert compare_values({"a": {0: 30, 1: 40}, "b": {0: 30, 1: 50}}).margin == 0.5


def test_lower_is_better_is_the_mirror_image():
    values = random_study(5, gap=4)
    mirrored = {name: {seed: -v for seed, v in found.items()} for name, found in values.items()}
    up, down = compare_values(values, margin=1), compare_values(mirrored, margin=1, higher_is_better=False)
    assert [m.name for m in up.methods] == [m.name for m in down.methods]
    for one, other in zip(up.pairs, down.pairs, strict=True):
        assert (one.a, one.verdict, one.p, one.low) == (other.a, other.verdict, other.p, -other.high)
        assert other.difference == -one.difference <= 0
    better = next(pair for pair in down.pairs if pair.verdict == "better")
    assert f"{better.a} is better (lower) than {better.b} by" in better.sentence


def test_a_missing_run_does_not_lose_what_seeds_do():
    # Seeds move all methods by 5, runs scatter by 0.1: a plain mean of other seeds would be off by a point.
    random = np.random.default_rng(0)
    seeds, y = 5 * random.normal(size=6), 0.1 * random.normal(size=(3, 6))
    rows = y + seeds + np.array([[0.3], [0.0], [0.0]])
    values = table(rows)
    values["m0"].pop(int(seeds.argmax()))
    found = compare_values(values)
    pair = found.pair("m0", "m1")
    assert (pair.a, pair.verdict, pair.n_a, pair.n_shared) == ("m0", "better", 5, 5)
    assert pair.low < 0.3 < pair.high
    assert found.estimates["m0"].average < found.estimates["m1"].average
    assert found.estimates["m1"].mean == pytest.approx(found.estimates["m1"].average, abs=0.2)


def test_seeds_nobody_shares_are_compared_all_the_same():
    a, b = {0: 0.50, 1: 0.60, 2: 0.55}, {7: 0.10, 8: 0.20, 9: 0.15}
    (pair,) = compare_values({"a": a, "b": b}).pairs
    assert (pair.verdict, pair.n_shared) == ("better", 0)
    assert pair.difference == pytest.approx(0.4)


def test_one_run_is_listed_and_never_called_better():
    found = compare_values({"a": {0: 0.9}, "b": {0: 0.1, 1: 0.11, 2: 0.12}, "c": {0: 0.5, 1: 0.51, 2: 0.52}})
    assert found.pair("a", "b").reason == "too few runs"
    assert found.pair("a", "b").low is None
    assert "needs at least two runs of each" in found.pair("a", "c").sentence
    assert found.pair("b", "c").verdict == "better"
    assert found.estimates["a"].low is None
    assert found.estimates["c"].probability_best is None
    alone = compare_values({"a": {0: 0.9}})
    assert (alone.pairs, alone.best) == ((), ("a",))


def test_runs_without_scatter_are_certain():
    found = compare_values({"a": {0: 0.3, 1: 0.3}, "b": {0: 0.1, 1: 0.1}, "c": {0: 0.1, 1: 0.1}}, margin=0.01)
    assert [pair.verdict for pair in found.pairs] == ["better", "better", "equivalent"]
    assert found.pairs[0].low == pytest.approx(0.2)
    assert found.best == ("a",)


def test_a_mean_by_itself_has_students_interval():
    values = [68.1, 68.3, 67.9, 68.0, 68.2]
    (only,) = compare_values({"a": dict(enumerate(values))}).methods
    half = stats.t.ppf(0.975, 4) * np.std(values, ddof=1) / math.sqrt(5)
    assert only.half_width == pytest.approx(half, rel=DRAWN)


def test_folds_are_averaged_within_their_repeat():
    folds = {"a": {0: {0: 0.2, 1: 0.4}, 1: {0: 0.3, 1: 0.5}}, "b": {0: {0: 0.1, 1: 0.1}, 1: {0: 0.0, 1: 0.3}}}
    means = {"a": {0: 0.3, 1: 0.4}, "b": {0: 0.1, 1: 0.15}}
    assert compare_values(folds).pairs[0].difference == pytest.approx(compare_values(means).pairs[0].difference)
    folds["b"][1].pop(0)
    with pytest.raises(InputError, match=r"same folds.*method 'b', seed 1 has folds 1 and the first repeat folds 0, 1"):
        compare_values(folds)


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: compare_values({}), "no method was given"),
        (lambda: compare_values({"a": {0: 1.0, 1: math.nan}}), "finite values; method 'a', seed 1"),
        (lambda: compare_values({"a": {0: 1.0}}, level=95), r"level must be between 0\.5 and 0\.999; got 95"),
        (lambda: t_interval([]), "at least one value; got none"),
        (lambda: t_interval([1.0, math.nan]), "finite values; got"),
    ],
)
def test_refusals_say_what_is_allowed(call, complaint):
    with pytest.raises(InputError, match=complaint):
        call()


def test_an_open_pair_says_why_and_what_would_settle_it():
    # By itself the difference is separated; among six comparisons it is not.
    rows = np.array([[0.33, 0.35, 0.36], [0.30, 0.33, 0.30], [0.20, 0.23, 0.22], [0.10, 0.12, 0.15]])
    found = [pair for pair in compare_values(table(rows)).pairs if pair.verdict == "unsettled"]
    assert [(pair.a, pair.b, pair.reason) for pair in found] == [("m0", "m1", "separated alone")]
    assert "not after correcting for 6 comparisons" in found[0].sentence
    assert f"about {found[0].more_seeds} more seed" in found[0].sentence


@pytest.mark.parametrize(("k", "s"), [(2, 2), (2, 7), (5, 3), (9, 12)])
def test_closed_forms_agree_with_the_general_algebra(k, s, monkeypatch):
    short = Layout(np.ones((k, s), bool))
    monkeypatch.setattr(paired_table, "is_complete", lambda has_run: False)
    general = Layout(np.ones((k, s), bool))
    assert short.is_complete
    y = np.random.default_rng(k + s).normal(size=(4, k * s)) * np.linspace(1, 3, k * s)
    (plain,), (weights,) = short.choices, general.choices
    for name in ("pair_seed_weight", "own_weights", "own_seed_weight", "on_seeds"):
        np.testing.assert_allclose(getattr(plain, name), getattr(weights, name), atol=1e-12, err_msg=name)
    pairs = np.arange(k * (k - 1) // 2)
    np.testing.assert_allclose(plain.weights_of_pairs(pairs), weights.pair_weights, atol=1e-12)
    np.testing.assert_allclose(short.freedom, general.freedom, atol=1e-12)
    assert (short.block_freedom, pytest.approx(short.block_weight)) == (general.block_freedom, general.block_weight)
    ours, theirs = scatter_of(short, y), scatter_of(general, y)
    for name in ("own", "pooled", "seeds"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-10, err_msg=name)
    np.testing.assert_allclose(plain.means_of(y), weights.means_of(y), rtol=1e-10)
    variances = plain.pair_variances(ours.own, ours.seeds)
    np.testing.assert_allclose(variances, weights.pair_variances(ours.own, ours.seeds), rtol=1e-10)


def test_students_intervals_by_hand_and_by_their_rate():
    # mean 2, s 1, and the textbook's t(0.975, 2) = 4.3027: 4.3027 / sqrt(3) = 2.4842
    found = t_interval([1.0, 2.0, 3.0])
    assert (found.mean, found.n, found.half_width) == (2, 3, pytest.approx(2.4842, abs=1e-4))
    assert (found.low, found.high) == (found.mean - found.half_width, found.mean + found.half_width)
    assert t_interval([0.5]) == Interval(mean=0.5, low=None, high=None, n=1)
    assert t_interval([0.5, 0.5, 0.5]) == Interval(mean=0.5, low=0.5, high=0.5, n=3)
    studies = np.random.default_rng(0).normal(0.7, 0.02, size=(1000, 4))
    spans = [t_interval(study) for study in studies.tolist()]
    assert 930 <= sum(span.low <= 0.7 <= span.high for span in spans) <= 970
