"""Seeds in waves: who gets them, when it ends, and that looking again is paid for."""

import math

import numpy as np
import pytest

from fairground.comparison.seed_waves import Wave, errors_of, next_wave
from fairground.errors import InputError
from fairground.spec.study_spec import UntilSettledSpec as Plan

PLAN = Plan(first=3, wave=2, limit=9)


def run(truth: dict[str, float], plan: Plan = PLAN, *, scatter: float = 1.0, seed: int = 0) -> tuple[Wave, dict]:
    """Play a study in waves to its end."""
    random = np.random.default_rng(seed)
    scores = {name: mean + scatter * random.normal(size=plan.limit) for name, mean in truth.items()}
    values: dict[str, dict[int, float]] = {name: {} for name in truth}
    while (wave := next_wave(values, plan, margin=0.1)).state == "running":
        assert wave.needs
        for name, seeds in wave.needs.items():
            values[name].update({s: float(scores[name][s]) for s in seeds})
    return wave, values


def test_looks_and_their_errors_add_up_to_the_stated_rate():
    assert PLAN.looks == (3, 5, 7, 9)
    assert math.fsum(errors_of(PLAN)) == pytest.approx(0.05)
    assert all(a < b for a, b in zip(errors_of(PLAN), errors_of(PLAN)[1:], strict=False))
    assert Plan(first=3, wave=4, limit=8).looks == (3, 7, 8)
    assert Plan(first=4, limit=4).looks == (4,)


def test_seeds_go_to_methods_in_question_only():
    wave, values = run({"a": 10.0, "b": 9.8, "c": 0.0})
    assert len(values["c"]) == 3
    assert len(values["a"]) == len(values["b"]) > 3
    assert wave.comparison.pair("a", "c").verdict == "better"


def test_it_ends_when_settled_and_at_the_limit():
    settled, values = run({"a": 10.0, "b": 0.0, "c": 0.0})
    assert (settled.state, settled.needs, settled.n_looks) == ("settled", {}, 1)
    assert all(len(found) == 3 for found in values.values())
    equal, values = run({"a": 0.0, "b": 0.0}, seed=1)
    assert (equal.state, equal.n_looks) == ("limit", 4)
    assert all(len(found) == 9 for found in values.values())
    same, _ = run({"a": 0.0, "b": 0.0}, scatter=0.01)
    assert (same.state, same.comparison.pairs[0].verdict) == ("settled", "equivalent")


def test_the_first_wave_asks_for_every_method_and_nothing_is_remembered():
    wave = next_wave({"a": {}, "b": {}}, PLAN)
    assert (wave.needs, wave.comparison, wave.n_looks) == ({"a": (0, 1, 2), "b": (0, 1, 2)}, None, 0)
    wave = next_wave({"a": {7: 1.0}, "b": {}}, PLAN, seeds=range(7, 20))
    assert wave.needs == {"a": (8, 9), "b": (7, 8, 9)}
    _, values = run({"a": 1.0, "b": 0.0})
    assert next_wave(values, PLAN, margin=0.1) == next_wave(values, PLAN, margin=0.1)


def test_a_run_that_failed_is_not_waited_for():
    values = {"a": {0: 5.0, 1: 5.1, 2: 5.2}, "b": {0: 1.0, 1: 1.1}}
    assert next_wave(values, PLAN).needs == {"b": (2,)}
    wave = next_wave(values, PLAN, lost=[("b", 2)])
    assert wave.state == "settled"
    assert wave.comparison.pairs[0].n_b == 2


@pytest.mark.parametrize("seed", range(10))
def test_intervals_only_ever_narrow_and_agree_with_verdict_and_p(seed):
    random = np.random.default_rng(seed)
    scores = random.normal(size=(3, 9)) + np.array([[1.5], [0.5], [0.0]])
    before = None
    for n in PLAN.looks:
        values = {name: dict(enumerate(row[:n].tolist())) for name, row in zip("abc", scores, strict=True)}
        wave = next_wave(values, PLAN, margin=0.1)
        for pair in wave.comparison.pairs:
            assert (pair.verdict == "better") == (pair.low > 0) == (pair.p <= 0.05)
            if before is not None:
                earlier = before.comparison.pair(pair.a, pair.b)
                low, high = (earlier.low, earlier.high) if earlier.a == pair.a else (-earlier.high, -earlier.low)
                assert pair.low >= low
                assert pair.high <= high
        if wave.state != "running":
            break
        before = wave


def test_impossible_plans_are_refused():
    with pytest.raises(InputError, match=r"first must be at least 2 seeds.*got 1"):
        Plan(first=1)
    with pytest.raises(InputError, match=r"limit must be at least until_settled.first, 3; got 2"):
        Plan(limit=2)
    with pytest.raises(InputError, match="seeds must name at least limit, 9, of them; got 3"):
        next_wave({"a": {}}, PLAN, seeds=range(3))
