"""Suggestions are a function of ranges, trials, number and seed."""

from dataclasses import replace

import pytest

from fairground.spec import Choice, Integer, LogReal, Real, SearchProcedure
from fairground.studies import Trial, suggest

RANGES = {
    "a": Real(low=-0.2, high=2.0),
    "b": LogReal(low=1e-6, high=1.0),
    "c": Integer(low=2, high=5),
    "d": Choice(options=("x", "y")),
}


def ask(trials, *, sampler="tpe", startup=4, seed=0, ranges=RANGES, n_trials=50):
    procedure = SearchProcedure(trials=n_trials, sampler=sampler, startup=startup, ranges=ranges)
    return suggest(procedure, trials, seed=seed, label="cell")


def trials_of(n, score=lambda settings: 1 - (settings["a"] - 0.7) ** 2):
    trials = []
    for number in range(n):
        settings = ask(trials)
        trials.append(Trial(number=number, settings=settings, state="done", folds={0: score(settings)}))
    return trials


def inside(settings):
    assert -0.2 <= settings["a"] <= 2
    assert 1e-6 <= settings["b"] <= 1
    assert settings["c"] in (2, 3, 4, 5)
    assert settings["d"] in ("x", "y")


@pytest.mark.parametrize("sampler", ["gp", "tpe", "random"])
def test_the_same_question_has_the_same_answer(sampler):
    trials = trials_of(5)
    answer = ask(trials, sampler=sampler)
    assert answer == ask(trials, sampler=sampler)
    assert answer != ask(trials, sampler=sampler, seed=1)
    inside(answer)


def test_start_up_points_cover_the_range_evenly():
    only = {"a": Real(low=0, high=1)}
    points = [ask([None] * number, startup=8, ranges=only)["a"] for number in range(8)]
    assert sorted(int(point * 8) for point in points) == list(range(8))


def test_trials_under_way_are_not_asked_again():
    trials = trials_of(6)
    first = ask(trials, sampler="gp")
    second = ask([*trials, Trial(number=6, settings=first)], sampler="gp")
    assert second != first


@pytest.mark.parametrize("sampler", ["gp", "tpe"])
def test_where_training_diverged_is_a_place_to_stay_away_from(sampler):
    only = {"a": Real(low=0, high=1)}
    good = [Trial(number=n, settings={"a": n / 10}, state="done", folds={0: 0.5 + n / 20}) for n in range(5)]
    lost = [Trial(number=5 + n, settings={"a": 0.6 + n / 10}, state="diverged") for n in range(5)]
    near = [ask([*good, *lost], sampler=sampler, seed=seed, ranges=only)["a"] for seed in range(5)]
    blind = [
        ask([*good, *(replace(t, state="failed") for t in lost)], sampler="gp", seed=s, ranges=only)["a"]
        for s in range(5)
    ]
    assert max(near) < 0.7
    assert max(blind) > 0.7
