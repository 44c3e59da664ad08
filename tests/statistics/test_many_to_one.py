"""Many methods against one: a value by hand, the luck of picking, and a rate of errors that holds."""

import numpy as np
import pytest
from scipy.stats import t as student

from fairground.errors import InputError
from fairground.statistics.law import CAUTION
from fairground.statistics.many_to_one import DRAWS, Picking, compare_with_control

FROZEN = [0.1, 0.2, 0.3, 0.4, 0.5]


def above(*gains):
    """Return one repeat of a method that is above the frozen one by so much, class by class."""
    return [[one + gain for one, gain in zip(FROZEN, gains, strict=True)]]


def test_one_method_and_one_repeat_is_students_t_test():
    gains = (0.05, 0.03, 0.04, 0.06, 0.02)
    found = compare_with_control({"frozen": [FROZEN], "a": above(*gains)}, "frozen", error=0.05)
    (pair,) = found.pairs
    assert (pair.a, pair.b, pair.verdict) == ("a", "frozen", "better")
    # mean 0.04, standard deviation 0.0158, standard error 0.00707; one side of Student's t with 4 degrees
    assert pair.difference == pytest.approx(0.04)
    half = student.ppf(1 - 0.05 * CAUTION, 4) * 0.0158114 / 5**0.5
    assert pair.high - pair.difference == pytest.approx(half, rel=0.05)
    assert pair.p == pytest.approx(student.sf(0.04 / 0.0070711, 4) / CAUTION, abs=0.002)


def test_p_is_at_most_the_error_exactly_where_the_interval_leaves_out_nothing():
    generator = np.random.default_rng(0)
    for _ in range(40):
        gains = 0.01 + 0.02 * generator.normal(size=(3, 5))
        values = {"frozen": [FROZEN]} | {str(place): above(*row) for place, row in enumerate(gains)}
        for pair in compare_with_control(values, "frozen", error=0.05).pairs:
            assert (pair.p <= 0.05) == (pair.low > 0) == (pair.verdict == "better")


def test_the_same_methods_picked_from_many_need_a_larger_lead():
    generator = np.random.default_rng(1)
    values = {
        "frozen": [FROZEN, FROZEN],
        "a": [*above(0.05, 0.03, 0.04, 0.06, 0.02), *above(0.04, 0.04, 0.03, 0.05, 0.03)],
    }
    alone = compare_with_control(values, "frozen", error=0.05).pairs[0]
    tried = (0.02 * generator.normal(size=(60, 5))).tolist()
    picked = compare_with_control(values, "frozen", tried=tried, error=0.05).pairs[0]
    assert picked.difference == alone.difference
    assert picked.high > alone.high
    assert picked.n_pairs == 60


def test_less_is_better_turns_everything_round():
    values = {"frozen": [FROZEN], "a": above(-0.05, -0.03, -0.04, -0.06, -0.02)}
    pair = compare_with_control(values, "frozen", error=0.05, higher_is_better=False).pairs[0]
    assert (pair.a, pair.verdict) == ("a", "better")
    assert pair.low < pair.difference < pair.high < 0


def test_a_method_like_the_control_is_never_better_and_a_constant_lead_is_certain():
    values = {"frozen": [FROZEN], "same": [FROZEN], "above": above(*[0.25] * 5)}
    found = {
        pair.b if pair.a == "frozen" else pair.a: pair
        for pair in compare_with_control(values, "frozen", error=0.05).pairs
    }
    assert found["same"].verdict != "better"
    assert found["above"].verdict == "better"


def test_an_unknown_control_is_refused():
    with pytest.raises(InputError, match="no control 'b' among a"):
        compare_with_control({"a": [FROZEN]}, "b", error=0.05)


def test_what_comes_back_in_other_repeats_is_told_from_noise():
    generator = np.random.default_rng(2)
    units, noise = generator.normal(size=(400, 30)), 2.0
    tried = units + noise * generator.normal(size=units.shape)
    repeats = np.stack([units[:, :3] + noise * generator.normal(size=(400, 3)) for _ in range(4)])
    found = Picking.of(tried, repeats)
    assert found.kept == pytest.approx(1 / (1 + noise**2), abs=0.05)
    assert found.noise == pytest.approx(noise**2 / 4, rel=0.05)
    once = Picking.of(tried, repeats[:1])
    assert (once.kept, once.noise) == (1.0, 0.0)
    assert len(found.highest()) == DRAWS


@pytest.mark.parametrize("shared", [0.5, 0.9])
def test_the_best_of_thirty_that_are_no_better_is_seldom_called_better(shared, monkeypatch):
    monkeypatch.setattr("fairground.statistics.many_to_one.DRAWS", 600)
    generator, n, wrong, studies = np.random.default_rng(3), 9, 0, 120
    for _ in range(studies):
        own = generator.normal(size=(n, 30))
        units = shared**0.5 * generator.normal(size=(n, 1)) + (1 - shared) ** 0.5 * own
        first, *fresh = (units + 0.7 * generator.normal(size=units.shape) for _ in range(4))
        picked = np.argsort(-first.mean(axis=0))[:3]
        values = {"frozen": np.zeros((3, n))} | {str(i): [one[:, i] for one in fresh] for i in picked}
        found = compare_with_control(values, "frozen", tried=first.T.tolist(), error=0.05)
        wrong += any(pair.verdict == "better" and pair.b == "frozen" for pair in found.pairs)
    # 5 % are allowed: 6 of 120, and 12 or more would come in 2 of 100 tries
    assert wrong < 12
