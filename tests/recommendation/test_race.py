"""The race on pretended methods and a pretended clock: who goes on, what is never measured twice, when it stops."""

from dataclasses import replace

import numpy as np
import pytest

from fairground.recommendation.candidates import STEPS, Candidate, frozen_candidates
from fairground.recommendation.decision import decide
from fairground.recommendation.measurements import Measurement, Measurements
from fairground.recommendation.race import Race
from fairground.recommendation.race_clock import RaceClock, TimeUpError

FROZEN = Candidate(name="frozen network", words=("head=identity",))
WHITENED = Candidate(name="frozen network, whitened 64", words=("head=whitened",))
N_BLOCKS = 12


class Machine:
    """Pretends to train: each measurement takes seconds of a clock of its own, and scores by the method's worth."""

    def __init__(self, worth, *, seconds=1.0, higher=True, noise=0.004, busy=1.0):
        self.worth, self.seconds, self.higher, self.noise = worth, seconds, higher, noise
        self.time, self.busy, self.measured = 0.0, busy, []

    def now(self):
        return self.time

    def measure(self, candidate, repeat):
        cost = self.seconds * (1 + max(candidate.steps, candidate.depth_steps) / 90) * self.busy
        for _ in range(100):
            self.time += cost / 100
            self.clock.tick()
        self.measured.append((candidate.label, repeat))
        worth = self.worth.get(candidate.name, 0.5) + 0.00001 * min(candidate.steps, 600)
        wobble = self.noise * np.random.default_rng([int(candidate.key[:6], 16), repeat]).normal(size=N_BLOCKS)
        blocks = tuple(float(0.02 * block + worth + extra) for block, extra in enumerate(wobble))
        blocks = blocks if self.higher else tuple(1 - value for value in blocks)
        return Measurement(
            scope="s",
            method=candidate.key,
            repeat=repeat,
            # blocks of classes differ in size, so that a mean over classes is another number
            scores={"map@r": sum(blocks) / N_BLOCKS + 0.001},
            blocks={"map@r": blocks},
            seconds=cost,
        )


def head(name, **more):
    return Candidate(
        name=name, words=(f"loss={name}", "optimiser.lr=0.001", "optimiser.head_lr=0.001"), steps=30, **more
    )


def race(machine, *, limit=200.0, field=("a", "b", "c", "d", "e", "f"), known=None, **more):
    machine.clock = RaceClock(limit=limit, begun=0.0, now=machine.now)
    found = Race(
        frozen=[FROZEN, WHITENED],
        trained=[head(name) for name in field],
        measure=machine.measure,
        known=Measurements(None, scope="s") if known is None else known,
        clock=machine.clock,
        **{"metric": "map@r", "higher_is_better": machine.higher, **more},
    )
    found.run()
    return found


def test_the_best_method_is_found_and_taken_because_it_beats_frozen():
    found = race(Machine({"b": 0.6}))
    decision = decide(found)
    assert decision.chosen.candidate.name == "b"
    assert not decision.is_frozen
    assert decision.methods[0].label == "frozen network"
    assert decision.chosen.n_repeats >= 2


def test_a_score_is_the_mean_of_the_comparison_that_decided():
    found = race(Machine({"b": 0.6}))
    decision = decide(found)
    assert decision.comparison is not None
    for method in decision.methods:
        assert method.scores[found.metric] == pytest.approx(decision.comparison.estimate(method.label).mean, abs=1e-12)
    pair = decision.against_frozen(decision.chosen)
    assert pair is not None
    gain = decision.chosen.scores[found.metric] - decision.frozen.scores[found.metric]
    assert gain == pytest.approx(pair.difference, abs=1e-12)


def test_training_that_does_not_help_leaves_the_frozen_network():
    decision = decide(race(Machine({"frozen network": 0.55})))
    assert decision.is_frozen
    assert decision.comparison is not None


def test_a_difference_within_noise_is_not_enough():
    decision = decide(race(Machine({"a": 0.502, "frozen network": 0.5}, noise=0.05)))
    assert decision.is_frozen


def test_less_is_better_where_the_metric_says_so():
    decision = decide(race(Machine({"b": 0.6}, higher=False)))
    assert decision.chosen.candidate.name == "b"


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
def test_the_time_is_kept_on_a_busy_machine_too(busy, limit):
    machine = Machine({"b": 0.6}, busy=busy)
    found = race(machine, limit=limit)
    # one step of the longest training
    assert machine.time <= limit + busy
    decide(found)


def test_time_left_goes_into_challengers_and_repeats_and_nothing_is_measured_twice():
    machine = Machine({"b": 0.6})
    found = race(machine, limit=600.0)
    assert len(machine.measured) == len(set(machine.measured))
    assert machine.time > 0.95 * 600
    assert max(found.known.repeats(FROZEN.key)) >= 5
    assert any(candidate.steps > STEPS[-1] for candidate in found.finalists)


def test_a_repeat_reads_what_is_known_and_goes_on_from_there(tmp_path):
    first = Machine({"b": 0.6})
    race(first, limit=60.0, known=Measurements(tmp_path, scope="s"))
    second = Machine({"b": 0.6})
    found = race(second, limit=60.0, known=Measurements(tmp_path, scope="s"))
    assert not set(first.measured) & set(second.measured)
    assert second.measured
    assert decide(found).chosen.candidate.name == "b"


def test_without_fresh_repeats_one_decides_at_a_level_corrected_for_all_that_were_tried():
    clear = decide(race(Machine({"b": 0.6}), limit=8.0))
    assert not clear.is_confirmed
    assert clear.chosen.candidate.name == "b"
    assert clear.comparison.level == pytest.approx(1 - 0.05 / clear.n_tried)
    unclear = decide(race(Machine({"b": 0.51}, noise=0.02), limit=8.0))
    assert unclear.is_frozen


def test_a_stop_within_the_first_repeat_has_compared_the_best():
    decision = decide(race(Machine({"b": 0.6}), limit=9.0))
    assert decision.is_confirmed
    assert [method.candidate.name for method in decision.methods] == ["frozen network", "b"]
    assert decision.chosen.candidate.name == "b"


class TwoMetrics(Machine):
    """Recall@1 is the same for all but those of `below`; MAP@R is the method's worth."""

    below = ()

    def measure(self, candidate, repeat):
        found = super().measure(candidate, repeat)
        hits = 0.97 if candidate.name in self.below else 0.99
        return replace(
            found,
            scores={**found.scores, "recall@1": hits},
            blocks={**found.blocks, "recall@1": (hits,) * N_BLOCKS},
        )


def by_recall(machine):
    found = race(machine, metric="recall@1", second="map@r", limit=300.0)
    assert found.deciding == ("recall@1", "map@r")
    return decide(found)


def test_where_the_first_metric_shows_nothing_the_second_decides_at_half_the_error():
    decision = by_recall(TwoMetrics({"b": 0.6}))
    assert decision.metric == "map@r"
    assert decision.chosen.candidate.name == "b"
    assert decision.comparison.level == pytest.approx(0.975)


def test_the_second_metric_never_takes_what_is_below_frozen_by_the_first():
    machine = TwoMetrics({"b": 0.6})
    machine.below = ("b",)
    decision = by_recall(machine)
    assert decision.chosen.candidate.name != "b"
    nothing = TwoMetrics({"frozen network": 0.55})
    assert by_recall(nothing).is_frozen
    assert by_recall(nothing).metric == "recall@1"


def test_heads_that_start_from_a_discriminant_start_from_the_best_one():
    discriminants = frozen_candidates(64, 500, name="frozen network")[1:3]
    started = Candidate(
        name=f"a, from {discriminants[0].name}", words=(*discriminants[0].words, "loss=sup_con"), steps=30
    )
    machine = Machine({discriminants[1].name: 0.6})
    machine.clock = RaceClock(limit=60.0, begun=0.0, now=machine.now)
    found = Race(
        frozen=[FROZEN, *discriminants],
        trained=[started, head("b")],
        measure=machine.measure,
        known=Measurements(None, scope="s"),
        clock=machine.clock,
        metric="map@r",
    )
    found.run()
    trained = {one.name: one.words for one in found.entered.values() if one.is_trained}
    assert trained == {
        f"a, from {discriminants[1].name}": (*discriminants[1].words, "loss=sup_con"),
        "b": head("b").words,
    }


def test_with_nothing_else_measured_the_frozen_network_is_taken():
    decision = decide(race(Machine({"b": 0.6}), limit=1.5))
    assert decision.is_frozen
    assert decision.comparison is None


def test_what_is_dearer_is_tried_after_the_first_repeats_and_joins_if_it_beats_the_leader():
    def deeper(leader):
        assert leader.name == "b"
        return [
            Candidate(name="b, stages", words=leader.words, steps=leader.steps, depth=2, depth_steps=50, depth_lr=1e-4)
        ]

    found = race(Machine({"b": 0.6, "b, stages": 0.7}), limit=300.0, deeper=deeper)
    assert decide(found).chosen.candidate.name == "b, stages"


def test_called_again_it_goes_on_and_asks_for_what_is_dearer_once():
    asked = []

    def deeper(leader):
        asked.append(leader.name)
        return [Candidate(name="b, stages", words=leader.words, depth=2, depth_steps=50, depth_lr=1e-4)]

    machine = Machine({"b": 0.6})
    found = race(machine, limit=120.0, deeper=deeper)
    before = len(machine.measured)
    assert asked == ["b"]
    found.clock.limit = 240.0
    assert found.run()
    assert len(machine.measured) > before
    assert len(machine.measured) == len(set(machine.measured))
    assert asked.count("b") == len(set(asked)) == 1
    assert decide(found).chosen.candidate.name == "b"


def test_more_images_are_another_scope(tmp_path):
    kept = Measurements(tmp_path, scope="few")
    kept.add(Measurement(scope="few", method="m", repeat=0, scores={}, blocks={}, seconds=1.0))
    assert len(Measurements(tmp_path, scope="few")) == 1
    assert len(Measurements(tmp_path, scope="all")) == 0


def test_a_line_half_written_is_measured_again(tmp_path):
    kept = Measurements(tmp_path, scope="s")
    for repeat in (0, 1):
        kept.add(Measurement(scope="s", method="m", repeat=repeat, scores={}, blocks={"map@r": (1.0,)}, seconds=1.0))
    path = tmp_path / "measurements.jsonl"
    path.write_text(path.read_text()[:-9])
    assert Measurements(tmp_path, scope="s").repeats("m") == [0]


def test_the_clock_keeps_time_for_the_ending():
    clock = RaceClock(limit=10.0, begun=0.0, reserve=4.0, now=lambda: 5.0)
    assert clock.left() == 1.0
    clock.tick()
    with pytest.raises(TimeUpError):
        RaceClock(limit=10.0, begun=0.0, reserve=4.0, now=lambda: 6.0).tick()
