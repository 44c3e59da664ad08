"""Whole races on pretended runs: who goes on, what is never done twice, and what is opened when."""

from collections import Counter
from dataclasses import replace

import pytest

from fairground.execution.inline import InlineExecutor
from fairground.recommend.protocol_choice import choose_protocol
from fairground.recommend.race import objective_of, promoted
from fairground.recommend.race_setup import RaceSetup, race_setup
from fairground.recommend.race_state import RaceState, race_name
from fairground.recommend.run_race import RaceRun
from fairground.records.store import Store
from fairground.spec.study import DataSpec
from fairground.spec.study_load import load_study
from tests.recommend import race_jobs

JOB = "tests.recommend.race_jobs:pretend"


def setup(**changes):
    choice = choose_protocol(
        is_picture=True,
        width=1,
        shorter_side=32,
        is_one_size=True,
        train_images=3000,
        train_classes=100,
        worker_seconds=600,
    )
    found = race_setup(choice, label="icons", data=["data=icons"], words=["evaluation.metrics=['map@r']"], seed=1)
    return replace(found, **changes)


def course(
    home, *, limit=1000.0, asked: RaceSetup | None = None, watch=lambda _: None, on_record=lambda _: None, job=JOB
):
    asked = asked or setup()
    state = RaceState(home=home, name=race_name(asked.plain()), limit=limit)
    return state, RaceRun(
        asked, state=state, spawn=lambda _, watch: InlineExecutor(job, watch=watch), watch=watch, on_record=on_record
    )


def whole(home, **more):
    state, running = course(home, **more)
    with state.opened(), running:
        running.race()
        return state, running.choose()


@pytest.fixture(scope="module")
def race(tmp_path_factory):
    home = tmp_path_factory.mktemp("race")
    return home, *whole(home, asked=setup(further=()))


def test_the_best_objective_wins_and_each_goes_as_far_as_its_rung(race):
    _, state, found = race
    assert state.plan is not None
    assert [rung.n for rung in state.plan.rungs] == [12, 6, 3]
    assert [standing.label for standing in found.standings[:3]] == ["SupCon", "Contrastive", "SoftTriple"]
    assert Counter(standing.epochs for standing in found.standings) == {6: 3, 4: 3, 2: 6}
    assert found.recommendation.chosen.label == "SupCon"
    # one first seed and, while time is left, further ones up to ten
    assert [len(standing.validation) for standing in found.standings[:3]] == [10, 10, 1]


def test_seeds_are_those_of_the_races_own_number(race):
    _, _, found = race
    assert sorted(found.standings[0].validation) == list(range(1000, 1010))
    assert found.standings[0].validation[1001] == pytest.approx(race_jobs.score_of("sup_con", 1001, 6))


def test_no_epoch_is_trained_twice_and_the_test_split_is_opened_once_for_the_leaders(race):
    home, _, found = race
    lines = race_jobs.marks(home)
    assert max(Counter(lines).values()) == 1
    opened = {line.split()[0] for line in lines if line.endswith("opened")}
    rivals = [run.name for standing in (*found.standings[:2], *found.baselines) for run in standing.runs]
    assert opened == set(rivals)
    assert found.standings[2].test == {}
    assert found.standings[0].test != {}
    first_opening = min(number for number, line in enumerate(lines) if line.endswith("opened"))
    assert all(line.endswith("opened") for line in lines[first_opening:])


def test_the_same_race_again_runs_nothing_and_says_the_same(race):
    home, _, found = race
    before = race_jobs.marks(home)
    _, again = whole(home, asked=setup(further=()), limit=5000.0)
    assert race_jobs.marks(home) == before
    assert again.recommendation.chosen.label == found.recommendation.chosen.label
    assert [standing.label for standing in again.standings] == [standing.label for standing in found.standings]


def test_a_race_stopped_anywhere_goes_on_to_the_same_end_without_training_anything_twice(race, tmp_path):
    home, _, found = race
    n_all = len(race_jobs.marks(home))
    stops = iter([3, 9, 25, 40])
    stop_at = next(stops)

    def interrupt(_):
        nonlocal stop_at
        if stop_at and len(race_jobs.marks(tmp_path)) > stop_at:
            stop_at = next(stops, 0)
            raise KeyboardInterrupt

    for _ in range(10):
        state, running = course(tmp_path, asked=setup(further=()), watch=interrupt)
        try:
            with state.opened(), running:
                running.race()
                again = running.choose()
            break
        except KeyboardInterrupt:
            assert not state.is_over
            assert not any(line.endswith("opened") for line in race_jobs.marks(tmp_path))
    assert [(s.label, s.validation, s.test) for s in again.standings] == [
        (s.label, s.validation, s.test) for s in found.standings
    ]
    assert len(race_jobs.marks(tmp_path)) == n_all


def test_after_an_interrupt_what_is_known_is_told_with_the_test_split_sealed(tmp_path):
    def interrupt(_):
        if len(race_jobs.marks(tmp_path)) > 14:
            raise KeyboardInterrupt

    state, running = course(tmp_path, watch=interrupt)
    with pytest.raises(KeyboardInterrupt), state.opened(), running:
        running.race()
    found = running.result_so_far()
    assert found.is_sealed
    assert found.recommendation.chosen.label == "SupCon"
    assert found.standings[0].test == {}


def test_other_settings_of_the_leading_objectives_join_when_they_are_better(tmp_path):
    _, found = whole(tmp_path)
    labels = [standing.label for standing in found.standings]
    assert "SupCon, temperature 0.2" in labels
    assert "FastAP, 20 bins" not in labels


def test_when_time_is_up_the_best_so_far_is_trained_to_its_end_and_opened(tmp_path):
    def clock(_):
        if len(race_jobs.marks(tmp_path)) > 5:
            state.limit = 0.0

    state, running = course(tmp_path, watch=clock)
    with state.opened(), running:
        running.race()
        # one epoch each of the first few methods: the sixth heard that time is up
        assert len(race_jobs.marks(tmp_path)) == 6
        found = running.choose()
    assert found.recommendation.chosen.label == "SupCon"
    assert found.standings[0].epochs == 6
    assert len(state.opened_runs) == 2
    assert Store(tmp_path).events(run=state.name)[0].detail.startswith("after the race chose SupCon")


def test_a_race_that_is_raced_is_refused_to_a_second_driver(tmp_path):
    state, _ = course(tmp_path)
    other, _ = course(tmp_path)
    with state.opened(), pytest.raises(Exception, match="is being worked on by another process"), other.opened():
        pass


def test_the_field_of_every_protocol_has_more_settings_of_the_same_names():
    for name in ("laptop", "photographs", "features"):
        field, settings = load_study(f"recommend/{name}"), load_study(f"recommend/{name}-settings")
        labels = {method.label for method in field.methods}
        further = [method for method in settings.methods if method.label not in labels]
        assert len(labels) >= 6
        assert {method.label.partition(",")[0] for method in further} <= labels
        assert {objective_of(method) for method in further} <= {objective_of(method) for method in field.methods}
        assert all(isinstance(data, DataSpec) for data in field.data)


def test_half_of_the_places_go_to_the_best_scores_and_half_to_the_steepest_climbs():
    # Ranked by their best scores; `slow` climbs by 9, `flat` by 1, `fell` has its best look behind it.
    looks = {"first": [30, 33], "second": [31, 32], "fell": [31.5, 29], "flat": [29, 30], "slow": [16, 25]}
    assert promoted(looks, 4) == {"first", "second", "slow", "flat"}
    assert promoted(looks, 3) == {"first", "second", "slow"}
    assert promoted(looks, 1) == {"first"}
    assert promoted(looks, 9) == set(looks)


def test_after_one_look_a_climb_is_from_nothing():
    assert promoted({"a": [3.0], "b": [2.0], "c": [1.0]}, 2) == {"a", "b"}


def test_where_less_is_better_the_same_methods_go_on_and_the_same_one_is_recommended(race, tmp_path):
    _, state, found = race
    study = setup().study
    lower = replace(study, selection=replace(study.selection, metric=race_jobs.OWN_METRIC))
    turned, other = whole(tmp_path, asked=setup(study=lower, further=()), job=f"{JOB}_lower")
    assert turned.plan == state.plan
    assert [(s.label, s.epochs) for s in other.standings] == [(s.label, s.epochs) for s in found.standings]
    assert [s.mean for s in other.standings] == pytest.approx([1 - s.mean for s in found.standings])
    assert other.recommendation.chosen.label == "SupCon"
    assert other.recommendation.is_baseline == found.recommendation.is_baseline
    assert other.recommendation.baseline is not None
    assert not other.recommendation.baseline.higher_is_better


def test_the_best_run_is_the_lowest_where_less_is_better(tmp_path):
    study = setup().study
    lower = replace(study, selection=replace(study.selection, metric=race_jobs.OWN_METRIC))
    _, found = whole(tmp_path, asked=setup(study=lower, further=()), job=f"{JOB}_lower")
    leader = found.standings[0]
    best = leader.best_run(race_jobs.OWN_METRIC)
    assert best.score(race_jobs.OWN_METRIC, "validation") == min(leader.validation.values())
