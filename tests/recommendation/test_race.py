"""The race on pretended methods and a pretended clock: which go on, what is never measured twice, when it stops."""

from dataclasses import replace

import numpy as np
import pytest

from fairground.recommendation.advice import decide
from fairground.recommendation.candidates import STEPS, Candidate, frozen_candidates
from fairground.recommendation.race import Race
from fairground.recommendation.recommendation_folder import Measurement, Measurements
from fairground.recommendation.request import Request
from fairground.recommendation.time_budget import MARGIN, SHARES, Budget, TimeUpError

FROZEN, OTHER = frozen_candidates(64, 500, name="frozen network")[::9][:2]
N_BLOCKS = 12


class Machine:
    """Pretends to train: each measurement takes seconds of a clock of its own, and scores by the method's worth."""

    def __init__(self, worth, *, noise=0.004, busy=1.0):
        self.worth, self.noise, self.time, self.busy, self.measured = worth, noise, 0.0, busy, []

    def measure(self, candidate, repeat):
        self.time += (1 + max(candidate.steps, candidate.depth_steps) / 90) * self.busy
        self.measured.append((candidate.label, repeat))
        worth = self.worth.get(candidate.name, 0.5) + 0.00001 * min(candidate.steps, 600)
        wobble = self.noise * np.random.default_rng([*candidate.label.encode(), repeat]).normal(size=N_BLOCKS)
        blocks = (0.02 * np.arange(N_BLOCKS) + worth + wobble).tolist()
        # blocks of classes differ in size, so that a mean over classes is another number
        return {"map@r": sum(blocks) / N_BLOCKS + 0.001}, {"map@r": blocks}


def head(name, **more):
    return Candidate(loss=name, overrides={"loss": name}, rate=0.001, steps=30, **more)


def made(machine, *, limit=200.0, by="map@r", **more):
    request = Request(title="", kind="photographs", base={}, by=by, seed=0)
    budget = Budget(limit, now=lambda: machine.time)
    usual = {"untrained": [FROZEN, OTHER], "trained": [head(name) for name in "abcdef"], "measure": machine.measure}
    return Race(request, budget, **{**usual, **more})


def race(machine, **more):
    found = made(machine, **more)
    found.run()
    return found


def test_the_best_method_is_found_and_taken_because_it_beats_frozen():
    found = race(Machine({"b": 0.6}))
    decision = decide(found)
    assert decision.chosen.candidate.name == "b"
    assert not decision.is_frozen
    assert decision.methods[0].label == "frozen network"
    assert decision.chosen.n_repeats >= 2


@pytest.mark.parametrize(
    ("worth", "noise", "limit", "is_compared"),
    [
        ({"frozen network": 0.55}, 0.004, 200.0, True),
        ({"a": 0.502, "frozen network": 0.5}, 0.05, 200.0, True),  # within noise
        ({"b": 0.51}, 0.02, 9.0, True),  # not clear enough without fresh repeats
        ({"b": 0.6}, 0.004, 1.5, False),  # nothing else was measured
    ],
)
def test_training_that_is_not_shown_to_help_leaves_the_frozen_network(worth, noise, limit, is_compared):
    decision = decide(race(Machine(worth, noise=noise), limit=limit))
    assert decision.is_frozen
    assert (decision.comparison is not None) == is_compared


def test_rounds_train_longer_and_fewer_each_time():
    machine = Machine({"b": 0.6})
    race(machine, limit=400.0)
    rounds = [
        len({label for label, repeat in machine.measured if repeat == 0 and label.endswith(f", {steps} steps")})
        for steps in STEPS
    ]
    assert rounds[0] == 6
    assert rounds[1:] == [3, 3]


@pytest.mark.parametrize("busy", [0.2, 1.0, 5.0])
@pytest.mark.parametrize("limit", [10.0, 60.0, 300.0])
def test_the_time_is_kept_but_for_the_first_training(busy, limit):
    machine = Machine({"b": 0.6}, busy=busy)
    found = race(machine, limit=limit)
    first = 2 * busy * (1 + 30 / 90)
    assert machine.time <= max(SHARES["race"] * limit, first + busy)
    decide(found)


def test_a_training_that_becomes_too_slow_is_given_up_and_the_others_decide():
    machine = Machine({"b": 0.6})

    def slow(candidate, repeat):
        if repeat == 0 and candidate.steps == STEPS[1]:
            raise TimeUpError
        return machine.measure(candidate, repeat)

    assert decide(race(machine, limit=400.0, measure=slow)).chosen.candidate.name == "b"


def test_time_left_goes_into_challengers_and_repeats_and_nothing_is_measured_twice():
    machine = Machine({"b": 0.6})
    found = race(machine, limit=600.0)
    assert len(machine.measured) == len(set(machine.measured))
    assert machine.time > 0.7 * 600
    assert max(found.known.repeats(FROZEN.label)) >= 5
    assert any(candidate.steps > STEPS[-1] for candidate in found.finalists)


def test_a_later_session_continues_and_after_ctrl_c_the_fresh_repeats_of_the_first_decide(tmp_path):
    first, second = Machine({"b": 0.6}), Machine({"b": 0.6})
    race(first, limit=60.0, known=Measurements(tmp_path, scope="s"))

    def stop(*_):
        raise KeyboardInterrupt

    stopped = made(first, limit=600.0, known=Measurements(tmp_path, scope="s"), measure=stop)
    with pytest.raises(KeyboardInterrupt):
        stopped.run()
    assert decide(stopped).is_confirmed
    continued = race(second, limit=60.0, known=Measurements(tmp_path, scope="s"))
    assert second.measured
    assert not set(first.measured) & set(second.measured)
    assert [decide(one).chosen.candidate.name for one in (stopped, continued)] == ["b", "b"]


def test_without_fresh_repeats_one_decides_at_a_level_corrected_for_all_that_were_tried():
    clear = decide(race(Machine({"b": 0.6}), limit=9.0))
    assert not clear.is_confirmed
    assert clear.chosen.candidate.name == "b"
    assert clear.comparison.level == pytest.approx(1 - 0.05 / clear.n_tried)


@pytest.mark.parametrize(
    ("worth", "below", "metric", "chosen"),
    [
        ({"b": 0.6}, "", "map@r", "b"),
        ({"b": 0.6}, "b", "recall@1", "frozen network"),  # below the frozen network by the first metric
        ({"frozen network": 0.55}, "", "recall@1", "frozen network"),
    ],
)
def test_where_the_first_metric_shows_nothing_the_second_decides_at_half_the_error(worth, below, metric, chosen):
    machine = Machine(worth)

    def measure(candidate, repeat):
        scores, blocks = machine.measure(candidate, repeat)
        hits = 0.97 if candidate.name == below else 0.99
        return {**scores, "recall@1": hits}, {**blocks, "recall@1": [hits] * N_BLOCKS}

    decision = decide(race(machine, by="recall@1", limit=300.0, measure=measure))
    assert (decision.metric, decision.chosen.candidate.name) == (metric, chosen)
    assert decision.comparison.level == pytest.approx(0.975)


def test_heads_that_start_from_a_discriminant_start_from_the_best_one():
    discriminants = frozen_candidates(64, 500, name="frozen network")[1:3]
    first, best = discriminants
    started = replace(head("a"), start=f"from {first.start}", overrides={"loss": "a", **first.overrides})
    machine = Machine({best.name: 0.6})
    found = race(machine, untrained=[FROZEN, *discriminants], trained=[started, head("b")], limit=60.0)
    trained = {one.name: one.overrides for one in found.entered.values() if one.is_trained}
    assert trained == {"a, from PLDA 0.5/1": {"loss": "a", **best.overrides}, "b": {"loss": "b"}}


def test_what_is_more_expensive_is_tried_after_the_first_repeats_and_joins_if_it_beats_the_leader():
    asked = []

    def deeper(leader):
        asked.append(leader.name)
        return [replace(leader, depth=2, depth_steps=50, depth_lr=1e-4, loss="b, stages")]

    found = race(Machine({"b": 0.6, "b, stages": 0.7}), limit=300.0, deeper=deeper)
    assert asked == ["b"]
    assert decide(found).chosen.candidate.name == "b, stages"


def test_a_line_half_written_is_measured_again(tmp_path):
    kept = Measurements(tmp_path, scope="s")
    for repeat in (0, 1):
        kept.add("m", repeat, Measurement({}, {"map@r": [1.0]}, 1.0))
    path = tmp_path / "measurements.jsonl"
    path.write_text(path.read_text()[:-9])
    again = Measurements(tmp_path, scope="s")
    assert again.repeats("m") == [0]
    again.add("m", 2, kept["m", 1])
    assert Measurements(tmp_path, scope="s") == {("m", repeat): kept["m", 1] for repeat in (0, 2)}
    assert not Measurements(tmp_path, scope="other images")


def test_phases_share_the_time_and_work_starts_only_where_it_fits():
    budget = Budget(100.0, now=lambda: 30.0)
    budget.begun = 0.0
    assert budget.left("embed") == pytest.approx(100 * SHARES["embed"] - 30)
    budget.kept = 20.0
    assert budget.left("race") == pytest.approx(80 * SHARES["race"] - 30)
    assert budget.left("test") == pytest.approx(100 * SHARES["test"] - 30)
    fits = budget.left("race") / MARGIN
    assert budget.has_room("race", 0.99 * fits)
    assert not budget.has_room("race", 1.01 * fits)
