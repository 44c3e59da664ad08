"""The search: folds of classes, what replaces what, marks of a training, and what an earlier session measured."""

from dataclasses import replace

import numpy as np
import pytest

from fairground.recommendation import search as search_module
from fairground.recommendation.methods import (
    DISCRIMINANTS,
    Method,
    Network,
    closed_forms,
    discriminant,
    plain,
    trained_heads,
    trained_networks,
    with_head,
)
from fairground.recommendation.recommendation_folder import Measurement, Measurements
from fairground.recommendation.request import Request
from fairground.recommendation.sealed_classes_and_folds import ClassFolds
from fairground.recommendation.search import Search
from fairground.spec import load_run
from fairground.training.adaptation import Workbench
from tests.commands.quick_search import ticking, write_features

FEATURES = Network(name="", protocol="features")
FROZEN = plain("raw features", FEATURES)
CLOSED = Method(name="closed", network=FEATURES)
TRAINED = Method(name="trained", network=FEATURES, trains="network", steps=20)


def folds(n_classes, per_class=3, seed=0):
    labels = np.repeat(np.arange(n_classes), per_class)
    return ClassFolds(rows=np.arange(len(labels)) + 100, labels=labels, seed=seed)


@pytest.mark.parametrize(("n_classes", "expected"), [(4, 2), (23, 2), (24, 3), (32, 4), (300, 4)])
def test_folds_have_eight_classes_or_more_where_there_are_enough(n_classes, expected):
    assert folds(n_classes).n_folds == expected


def test_every_class_validates_once_a_round_and_never_trains_in_its_fold():
    made = folds(10)
    for turn in range(3):
        held = []
        for place in range(made.n_folds):
            train, validation = made.fold(turn * made.n_folds + place)
            assert not set((train - 100) // 3) & set((validation - 100) // 3)
            assert sorted([*train, *validation]) == list(range(100, 130))
            assert len(train) >= made.least_training_rows
            held += ((validation - 100) // 3).tolist()
        assert sorted(held) == sorted(list(range(10)) * 3)


def test_classes_of_one_row_only_train():
    made = ClassFolds(rows=np.arange(7), labels=np.array([0, 0, 1, 1, 2, 2, 3]), seed=0)
    assert made.classes.tolist() == [0, 1, 2]
    assert all(6 in made.fold(number)[0] for number in range(made.n_folds))


def searched(tmp_path, budget, *, known=None, **data):
    """Return a search over made features that has not begun."""
    base = {"data.path": str(write_features(tmp_path / "made.npz", **data)), "split": "random_halves"}
    bench = Workbench(load_run(protocol="features", overrides=base))
    made = ClassFolds(rows=bench.seen, labels=bench.table.labels[bench.seen], seed=0)
    request = Request(title="made", base=base, by="recall@1")
    return Search(request, budget, made, Measurements() if known is None else known, lambda _: bench, lambda _: None)


def measured(values, *, n_folds=1, n_classes=20):
    """Return a search that knows so much of each method: by hand, a score per class and fold."""
    found = Search(Request(title="", base={}), ticking(1.0, tick=0.0), folds(n_classes), Measurements(), None, None)
    for method, scores in values:
        found.entered[method.label] = method
        for fold in range(n_folds):
            of = dict.fromkeys(("recall@1", "map@r"), scores)
            found.known.add(method.label, fold, Measurement(method.training, method.steps, range(len(scores)), of))
    return found


def test_a_difference_and_its_standard_error_by_hand():
    found = measured([(FROZEN, [0.1, 0.2, 0.3, 0.4]), (CLOSED, [0.2, 0.4, 0.4, 0.4])])
    mean, error = found.difference(CLOSED, FROZEN)
    # differences 0.1, 0.2, 0.1, 0: mean 0.1, variance 0.02 / 3
    assert mean == pytest.approx(0.1)
    assert error == pytest.approx((0.02 / 3 / 4) ** 0.5)


@pytest.mark.parametrize(
    ("closed", "trained", "expected"),
    [
        ([0.5, 0.5, 0.5, 0.5], [0.5, 0.5, 0.5, 0.5], FROZEN),
        ([0.6, 0.6, 0.6, 0.6], [0.5, 0.5, 0.5, 0.5], CLOSED),
        ([0.6, 0.6, 0.6, 0.6], [0.7, 0.7, 0.7, 0.7], TRAINED),
        # Better in the mean, but by less than half a standard error: 0.025 against 0.085.
        ([0.6, 0.6, 0.6, 0.6], [0.4, 0.7, 0.8, 0.6], CLOSED),
    ],
)
def test_a_method_replaces_a_simpler_one_by_more_than_half_a_standard_error(closed, trained, expected):
    found = measured([(FROZEN, [0.5] * 4), (CLOSED, closed), (TRAINED, trained)])
    assert found.chosen().label == expected.label


@pytest.mark.parametrize(("n_classes", "expected"), [(12, CLOSED), (11, FROZEN)])
def test_few_classes_that_agree_prove_nothing(n_classes, expected):
    # half of an error of 0.05 / sqrt(4) is 0.0125
    found = measured([(FROZEN, [0.5] * 4), (CLOSED, [0.51] * 4)], n_classes=n_classes)
    assert found.chosen().label == expected.label


@pytest.mark.parametrize(
    ("n_classes", "gain", "expected"), [(12, 0.07, TRAINED), (11, 0.07, FROZEN), (11, 0.08, TRAINED)]
)
def test_a_network_that_learns_from_few_classes_needs_three_standard_errors(n_classes, gain, expected):
    found = measured([(FROZEN, [0.5] * 4), (TRAINED, [0.5 + gain] * 4)], n_classes=n_classes)
    assert found.chosen().label == expected.label


def test_of_a_training_the_longest_that_is_about_as_good_is_chosen():
    long, worse = replace(TRAINED, steps=40, head="PLDA"), replace(TRAINED, steps=80)
    some = [(TRAINED, [0.8, 0.6, 0.7, 0.7]), (long, [0.6, 0.79, 0.7, 0.7]), (worse, [0.6, 0.6, 0.6, 0.6])]
    assert measured([(FROZEN, [0.5] * 4), *some]).chosen().label == long.label


def test_a_method_on_more_folds_is_preferred_to_one_on_fewer():
    found = measured([(FROZEN, [0.5] * 4), (CLOSED, [0.6] * 4)], n_folds=2)
    lucky = Method(name="lucky", network=FEATURES)
    found.entered[lucky.label] = lucky
    found.known.add(lucky.label, 0, Measurement("lucky", 0, range(4), dict.fromkeys(("recall@1", "map@r"), [0.9] * 4)))
    assert found.best("nothing").label == CLOSED.label


def test_closed_forms_are_measured_on_all_folds_and_heads_at_doubling_marks(tmp_path):
    found = searched(tmp_path, ticking(30.0, tick=0.01))
    found.run(FROZEN, [])
    by_kind = {kind: [one for one in found.entered.values() if one.trains == kind] for kind in ("nothing", "head")}
    assert next(iter(found.entered.values())) == FROZEN
    assert all(len(found.known.folds(one.label)) >= found.folds.n_folds for one in by_kind["nothing"])
    steps = sorted({one.steps for one in by_kind["head"]})
    assert steps[:2] == [30, 60]
    values = found.known[FROZEN.label, 0]
    assert len(values.classes) == len(values.values["map@r"]) == found.folds.n_per_fold


def test_what_an_earlier_session_measured_is_not_measured_again(tmp_path, monkeypatch):
    folder = tmp_path / "kept"
    folder.mkdir()
    first = searched(tmp_path, ticking(20.0, tick=0.01), known=Measurements(folder, scope="a"))
    first.run(FROZEN, [])
    with (folder / "measurements.jsonl").open("a") as file:
        file.write('\n{"scope": "a", "method"')  # half a line, as a kill leaves it
    known = Measurements(folder, scope="a")
    assert known.keys() == first.known.keys()
    assert Measurements(folder, scope="other") == {}
    again = searched(tmp_path, ticking(20.0, tick=0.01), known=known)
    monkeypatch.setattr(search_module.Search, "_measure_trained", lambda *_: pytest.fail("measured again"))
    again.budget.seconds = 1e-9
    again.run(FROZEN, [])
    assert FROZEN.label in again.entered


def test_a_short_session_keeps_the_answer_of_earlier_ones(tmp_path):
    first = searched(tmp_path, ticking(16.0, tick=0.05), n_noise=8, spread=0.8)
    first.run(FROZEN, [])
    assert first.chosen().trains != "nothing"
    again = searched(tmp_path, ticking(1e-6, tick=1.0), known=first.known, n_noise=8, spread=0.8)
    again.run(FROZEN, [])
    assert again.chosen() == first.chosen()
    assert again.entered.keys() == first.entered.keys()


def test_a_training_that_does_not_fit_is_left_out_with_a_sentence(tmp_path):
    said = []
    found = searched(tmp_path, ticking(2.0, tick=0.3))
    found.news = said.append
    found._train(trained_heads(FROZEN, 16, 40)[0], 0, 0.0)
    assert any("is left out: 8 steps do not fit the time" in one for one in said)


def test_a_training_that_was_left_out_may_go_on_where_a_closed_form_leads(tmp_path, monkeypatch):
    class Steps:
        steps = 0

        def __init__(self, *_):
            pass

        def step(self):
            self.steps += 1

    marks = []
    monkeypatch.setattr(search_module, "Adaptation", Steps)
    monkeypatch.setattr(Search, "_measure_trained", lambda _, training, *given: marks.append(training.steps) or [0.1])
    found, first = searched(tmp_path, ticking(2.0, tick=0.3)), replace(TRAINED, steps=0)
    found._train(first, 0, 0.0)
    assert found.running[first.training].steps < search_module.LEAST_STEPS
    assert marks == []
    found.budget.seconds = 100.0
    found._go_on([first])
    assert marks[0] >= search_module.LEAST_STEPS


def search_with_joined(tmp_path, *, spread, speed, known=None):
    """Return a search with a second network, whose features have so much spread within classes, and what it says."""
    found, said = searched(tmp_path, ticking(30.0, tick=0.01), known=known), []
    path = write_features(tmp_path / "joined.npz", spread=spread)
    other = Workbench(load_run(protocol="features", overrides={**found.request.base, "data.path": str(path)}))
    one, both = found.bench_of, Network(name="both", protocol="features")
    found.bench_of = lambda method: other if method.network == both else one(method)
    found.joined, found.speed, found.news = plain("joined networks", both), speed, said.append
    found.run(FROZEN, [])
    return found, said


def test_joined_networks_stay_where_they_are_better_than_one_and_the_time_of_their_test_images_is_kept(tmp_path):
    found, said = search_with_joined(tmp_path, spread=0.8, speed=100.0)
    best = found.best("nothing")
    assert best.title.startswith("joined networks")
    assert len(found.known.folds(best.label)) >= found.folds.n_folds
    assert found.budget.kept > 0
    assert not any("joined networks are left out" in one for one in said)
    assert all(one.network == FEATURES for one in found.entered.values() if one.trains == "head")
    again, _ = search_with_joined(tmp_path, spread=0.8, speed=0.0, known=found.known)
    assert again.best("nothing") == best


@pytest.mark.parametrize(
    ("speed", "why"),
    [(1.0, "they do not fit the time"), (100.0, "they are not better than one network by more than the noise")],
)
def test_joined_networks_are_left_out_with_a_sentence(tmp_path, speed, why):
    found, said = search_with_joined(tmp_path, spread=1.6, speed=speed)
    assert f"The joined networks are left out: {why}." in said
    assert found.budget.kept == 0
    assert all(one.network == FEATURES for one in found.entered.values())
    assert bool(found.known.folds(found.joined.label)) == (speed > 1)


def test_names_are_for_people_and_labels_tell_methods_apart():
    network = Network(name="efficientnet_lite0 at 224 pixels", protocol="photographs")
    frozen = plain("frozen network", network)
    simple = closed_forms(frozen, 1280, 90)
    assert [one.title for one in simple[:2]] == ["frozen network", "frozen network with PLDA"]
    both = with_head(plain("joined networks", network), *discriminant(DISCRIMINANTS[0]))
    assert both.title == "joined networks with PLDA"
    tuned = trained_networks(network)
    assert tuned[0].title == "fine-tuned network (SupCon)"
    assert trained_networks(network, 4)[0].title == "fine-tuned last stages (SupCon)"
    assert [one.is_on_maps for one in trained_networks(network, 4)[:2]] == [True, False]
    heads = trained_heads(simple[1], 1280, 300)
    for some in (simple, tuned, trained_networks(network, 4), heads):
        assert len({one.label for one in some}) == len(some)
    spec = heads[0].spec({"data.root": "x", "data": "folder"}, 5)
    assert (spec.trains, spec.run.seed, spec.run.optimiser.lr, spec.run.head.name) == ("head", 5, 3e-4, "plda")


def test_the_first_discriminant_is_measured_whatever_the_clock_says(tmp_path):
    found = searched(tmp_path, ticking(1e-6, tick=1.0))
    found.run(FROZEN, [])
    assert [len(found.known.folds(one.label)) for one in found.entered.values()] == [found.folds.n_folds] * 2
    assert found.chosen().trains == "nothing"


def test_where_a_closed_form_leads_the_best_training_continues_and_can_be_repeated(monkeypatch):
    found = measured([(FROZEN, [0.5] * 4), (CLOSED, [0.6] * 4), (TRAINED, [0.4] * 4)])
    found.budget.seconds, found.step_seconds = 100.0, {TRAINED.training: 1.0}
    found.running = {TRAINED.training: type("training", (), {"steps": 20})}
    calls = []
    monkeypatch.setattr(Search, "_train", lambda _, *given, **phase: calls.append((*given, phase["phase"])))
    first = replace(TRAINED, steps=0)
    found._go_on([replace(first, name="other"), first])
    # Of 92 seconds, 20 repeat the steps so far; half of the others make new ones, half repeat them.
    assert calls == [(first, 0, pytest.approx(36.0), "final")]
    found.budget.seconds = 30.0
    found._go_on([first])
    assert len(calls) == 1
