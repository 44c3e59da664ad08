"""A grid: its points by hand, never more than the trials, and refused where two levels do not fit."""

import pytest

from fairground.errors import InputError
from fairground.spec.grid import grid_of
from fairground.spec.jobs import jobs_of
from fairground.spec.space import Choice, Integer, LogReal, Real
from fairground.spec.study_load import load_study


def test_every_combination_from_end_to_end():
    ranges = {"a": Real(low=0, high=1), "b": LogReal(low=0.01, high=1), "c": Choice(options=("x", "y"))}
    points = grid_of(ranges, 18)
    assert len(points) == 18
    assert points[0] == {"a": 0.0, "b": 0.01, "c": "x"}
    assert points[-1] == {"a": 1.0, "b": 1.0, "c": "y"}
    assert sorted({point["a"] for point in points}) == [0.0, 0.5, 1.0]
    assert sorted({point["b"] for point in points}) == [0.01, 0.1, 1.0]
    assert len({tuple(point.items()) for point in points}) == 18
    # Four levels of each would be 32 points: three it stays.
    assert grid_of(ranges, 31) == points


def test_whole_numbers_are_tried_one_by_one_and_not_twice():
    points = grid_of({"bins": Integer(low=2, high=32)}, 50)
    assert [point["bins"] for point in points] == list(range(2, 33))
    assert [point["bins"] for point in grid_of({"bins": Integer(low=2, high=32)}, 4)] == [2, 12, 22, 32]


def test_choices_are_complete_or_refused():
    ranges = {"loss.a": Choice(options=(1, 2, 3)), "loss.b": Real(low=0, high=1)}
    assert len(grid_of(ranges, 6)) == 6
    with pytest.raises(InputError, match=r"search.trials must be at least 6 for a grid over loss.a, loss.b.*got 5"):
        grid_of(ranges, 5)
    assert grid_of({}, 3) == [{}]


def test_a_study_has_as_many_trials_as_its_grid_has_points():
    study = load_study("tiny", changes=["search.sampler=grid", "search.trials=7"])
    trials = {job.method.label: (job.n_trials(), job.search_procedure().trials) for job in jobs_of(study)}
    # Two margins of the contrastive loss make a grid of 2 x 2; one of the triplet loss has seven levels.
    assert trials == {"contrastive": (4, 4), "triplet": (7, 7)}
