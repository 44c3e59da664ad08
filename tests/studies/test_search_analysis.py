"""What a search tells: traces, budgets, importance and bounds."""

import math
from dataclasses import replace

import pytest

from fairground.spec.search_ranges import Choice, Integer, LogReal, Real
from fairground.studies import Trial, expected_best, importance, on_bounds, trace

RANGES = {"a": Real(low=0.0, high=1.0), "b": Real(low=0.0, high=1.0)}


def trial(number, state="done", score=0.5, **settings):
    folds = {0: score - 0.1, 1: score + 0.1} if state == "done" else {}
    return Trial(number=number, settings=settings, state=state, folds=folds, seconds=2.0)


def test_the_trace_keeps_states_apart_and_adds_up_the_budget():
    points = trace([trial(0, score=0.5), trial(1, "diverged"), trial(2, score=0.7), trial(3, "pruned")])
    assert [point.score is None for point in points] == [False, True, False, True]
    assert [round(point.best, 6) for point in points] == [0.5, 0.5, 0.7, 0.7]
    assert [point.seconds for point in points] == [2.0, 4.0, 6.0, 8.0]


def test_the_expected_best_of_one_is_the_mean_and_of_all_the_maximum():
    curve = expected_best([trial(number, score=score) for number, score in enumerate([0.2, 0.4, 0.9])])
    # of two out of three: the pairs' maxima are 0.4, 0.9, 0.9
    assert all(math.isclose(a, b) for a, b in zip(curve, [0.5, 2.2 / 3, 0.9], strict=True))
    assert expected_best([trial(0, "failed")]) == []


def test_what_decides_the_score_is_important():
    trials = [trial(n, score=1 - (n / 20 - 0.6) ** 2, a=n / 20, b=(n * 7 % 20) / 20) for n in range(20)]
    shares = importance(RANGES, trials)
    assert shares["a"] > shares["b"]
    assert importance(RANGES, trials[:3]) == {}


def test_an_optimum_on_a_bound_is_warned_of():
    ranges = {
        "m": Real(low=-0.2, high=2.0),
        "lr": LogReal(low=1e-6, high=1.0),
        "k": Integer(low=2, high=9),
        "c": Choice(options=("x", "y")),
    }
    inside = {"m": 0.5, "lr": 1e-3, "k": 3, "c": "x"}
    assert on_bounds(ranges, inside) == []
    warned = on_bounds(ranges, inside | {"m": -0.2, "lr": 0.9, "k": 9})
    assert [word.partition(" = ")[0] for word in warned] == ["m", "lr", "k"]
    assert "m = -0.2 is on the lower bound of its range: the optimum may be outside; widen it" in warned


def test_where_less_is_better_the_best_is_the_lowest():
    trials = [replace(trial(n, score=score), higher_is_better=False) for n, score in enumerate([0.4, 0.9, 0.2])]
    assert [round(point.best, 6) for point in trace(trials)] == [0.4, 0.4, 0.2]
    # of two out of three: the pairs' minima are 0.4, 0.2, 0.2
    assert expected_best(trials) == pytest.approx([0.5, 0.8 / 3, 0.2])
