"""Plans of races, by arithmetic that fits on the back of an envelope."""

import pytest

from fairground.errors import InputError
from fairground.recommend.race_plan import (
    ENDING,
    SLACK,
    Costs,
    RacePlan,
    Rung,
    duration_option,
    duration_words,
    plan_race,
    rungs_of,
)

#: an epoch of 10 batches and a look take 11 seconds, taking up a run 2, an opening 4
COSTS = Costs(start=2, batch=1, look=1, opening=4, n_batches=10, memory=1)


@pytest.mark.parametrize(
    ("epochs", "n", "rungs"),
    [
        (6, 12, [(2, 12), (4, 6), (6, 3)]),
        (10, 8, [(4, 8), (7, 4), (10, 2)]),
        (2, 5, [(1, 5), (2, 2)]),
        (1, 4, [(1, 4)]),
        (6, 1, [(2, 1), (4, 1), (6, 1)]),
    ],
)
def test_half_goes_on_after_a_third_and_a_quarter_after_two(epochs, n, rungs):
    assert [(rung.epochs, rung.n) for rung in rungs_of(epochs, n)] == rungs


def test_seconds_are_those_of_every_piece_on_the_workers_there_are():
    plan = RacePlan(epochs=6, batches_per_epoch=10, rungs=rungs_of(6, 12), leaders=2, seeds=3)
    # six rounds of start, first look and two epochs; three of two more epochs; two of two more; then whole runs
    race = 6 * (2 + 1 + 2 * 11) + 3 * (2 + 2 * 11) + 2 * (2 + 2 * 11) + 2 * (2 + 1 + 6 * 11)
    assert plan.race_seconds(COSTS, workers=2) == pytest.approx(race)
    # seven runs are opened in four rounds
    assert plan.ending_seconds(COSTS, workers=2) == pytest.approx(4 * (2 + 4) + ENDING)
    assert plan.seconds(COSTS, workers=2) == pytest.approx(SLACK * (race + 24 + ENDING))


def planned(seconds, **changes):
    return plan_race(
        COSTS, **{"seconds": seconds, "workers": 2, "epochs": 6, "n_methods": 12, "limit": seconds} | changes
    )


def test_with_enough_time_everybody_starts_and_trains_as_the_protocol_says():
    assert planned(10_000) == RacePlan(epochs=6, batches_per_epoch=10, rungs=rungs_of(6, 12), leaders=2, seeds=3)


def test_seeds_go_first_then_half_of_the_training_then_half_of_the_field_then_training_again():
    whole = planned(10_000).seconds(COSTS, workers=2)
    assert planned(whole - 1).seeds == 2
    shorter = planned(0.75 * whole)
    assert shorter.rungs[0].n == 12
    assert 30 <= shorter.epochs * shorter.batches_per_epoch < 60
    fewer = planned(0.4 * whole)
    assert 6 <= fewer.rungs[0].n < 12
    assert fewer.epochs * fewer.batches_per_epoch == 30
    least = planned(0.25 * whole)
    assert least.epochs * least.batches_per_epoch < 30
    assert all(planned(seconds).seconds(COSTS, workers=2) <= seconds for seconds in range(120, 900, 40))


def test_a_time_too_short_is_refused_with_the_shortest_that_would_do():
    with pytest.raises(
        InputError, match=r"30 seconds is too short.*the shortest takes 90 seconds. Say --time 90s"
    ) as error:
        planned(20, limit=30)
    assert "to race on the features" in str(error.value)
    assert planned(130).rungs[-1].n >= 2


def test_a_field_of_one_is_raced_all_the_same():
    assert planned(10_000, n_methods=1).rungs == (
        Rung(epochs=2, n=1),
        Rung(epochs=4, n=1),
        Rung(epochs=6, n=1),
    )


@pytest.mark.parametrize(
    ("seconds", "word", "short"),
    [(90, "90 seconds", "90s"), (300, "5 minutes", "5m"), (1800, "30 minutes", "30m"), (7200, "2 hours", "2h")],
)
def test_times_are_told_as_people_and_commands_say_them(seconds, word, short):
    assert duration_words(seconds) == word
    assert duration_option(seconds) == short
