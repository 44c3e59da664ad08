"""Suggestions follow from ranges, trials, number and seed, the method itself first if asked; what a search tells."""

from dataclasses import replace

import pytest

from fairground.errors import InputError
from fairground.records.store import Store
from fairground.spec import Choice, Integer, LogReal, Real, SearchProcedure, contains, jobs_of, load_study
from fairground.studies import Trial, cost_probes, importance, on_bounds, suggest, trace
from tests.studies.test_run_study import study_results

RANGES = {"a": Real(low=-0.2, high=2.0), "b": LogReal(low=1e-6, high=1.0)}
RANGES |= {"c": Integer(low=2, high=5), "d": Choice(options=("x", "y"))}


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
    failed = [replace(trial, state="failed") for trial in lost]
    blind = [ask([*good, *failed], sampler="gp", seed=s, ranges=only)["a"] for s in range(5)]
    assert max(near) < 0.7
    assert max(blind) > 0.7


TWO = {"a": Real(low=0.0, high=1.0), "b": LogReal(low=1e-4, high=1.0)}


def asked(trials, *, defaults, sampler="gp", startup=4):
    procedure = SearchProcedure(trials=9, sampler=sampler, startup=startup, ranges=TWO)
    return suggest(procedure, trials, seed=0, label="cell", defaults=defaults)


def defaults_of(*words, **changes):
    study = load_study("tiny", changes={"search.defaults_first": True})
    job = replace(jobs_of(study)[0], method=replace(study.methods[0], words=words, **changes))
    return job.defaults()


def test_defaults_come_first_and_then_the_points_that_would_have_been():
    defaults = {"a": 0.25, "b": 0.5}
    plain = [asked([None] * number, defaults=None) for number in range(3)]
    first = [asked([None] * number, defaults=defaults) for number in range(4)]
    assert first == [defaults, *plain]


def test_the_model_learns_from_defaults_that_are_in_the_ranges():
    settings = [{"a": n / 10, "b": 0.01 * n} for n in range(1, 6)]
    rest = [Trial(number=n, settings=x, state="done", folds={0: n / 10}) for n, x in enumerate(settings, 1)]
    inside = Trial(number=0, settings={"a": 0.9, "b": 0.9}, state="done", folds={0: 0.99})
    outside = replace(inside, settings={"a": 0.9})
    told = asked([inside, *rest], defaults=inside.settings)
    untold = asked([outside, *rest], defaults=outside.settings)
    assert told != untold
    assert untold == asked([*rest, outside], defaults=outside.settings)
    for sampler in ("gp", "tpe", "random"):
        found = asked([outside, *rest], defaults=outside.settings, sampler=sampler)
        assert all(contains(TWO[key], found[key]) for key in TWO)


def test_the_defaults_are_those_of_the_method():
    assert defaults_of("loss=contrastive") == {"loss.negative_margin": 1.0, "loss.positive_margin": 0.0}
    assert defaults_of("loss=contrastive", "loss.negative_margin=0.7")["loss.negative_margin"] == 0.7
    assert "loss.norm_weight" not in defaults_of("loss=n_pair"), "0 is not on a logarithmic scale"


def test_a_range_contains_what_a_search_of_it_could_try():
    assert all(contains(Real(low=0, high=1), value) for value in (0, 0.5, 1))
    assert not any(contains(Real(low=0, high=1), value) for value in (-0.1, 1.1, None, True))
    assert not contains(LogReal(low=1e-4, high=1), 0.0)
    assert [contains(Integer(low=2, high=5), value) for value in (2, 5, 6, 2.5)] == [True, True, False, False]
    assert [contains(Choice(options=("x", 1)), value) for value in ("x", 1, "y", True)] == [True, True, False, False]


def test_the_first_trial_of_a_study_is_the_method_itself(tmp_path):
    study = load_study("tiny", changes={"search.defaults_first": True, "search.trials": 6})
    first = study_results(study, tmp_path / "a")
    for job, result in zip(jobs_of(study), first, strict=True):
        assert result.trials[0].settings == job.defaults()
        assert len(result.trials) == 6
    again = study_results(study, tmp_path / "b")
    one, other = ([[trial.settings for trial in result.trials] for result in found] for found in (first, again))
    assert one == other
    record = next(one for one in Store(tmp_path / "a").records() if one.search is not None)
    assert record.search.defaults_first
    assert "(tpe, the method's own settings first)" in record.search.sentence
    probed = [(spec.loss.name, spec.loss.settings) for spec in cost_probes(study)]
    for job, result in zip(jobs_of(study), first, strict=True):
        wanted = {key.removeprefix("loss."): value for key, value in result.trials[0].settings.items()}
        assert any(name == job.method.label and wanted.items() <= settings.items() for name, settings in probed)


def test_a_grid_has_its_own_points():
    with pytest.raises(InputError, match=r"search.defaults_first is for the samplers gp, tpe and random; a grid"):
        load_study("tiny", changes={"search.defaults_first": True, "search.sampler": "grid"})


PAIR = {"a": Real(low=0.0, high=1.0), "b": Real(low=0.0, high=1.0)}


def trial(number, state="done", score=0.5, **settings):
    folds = {0: score - 0.1, 1: score + 0.1} if state == "done" else {}
    return Trial(number=number, settings=settings, state=state, folds=folds, seconds=2.0)


def test_the_trace_has_the_best_so_far():
    points = trace([trial(0, score=0.5), trial(1, "diverged"), trial(2, score=0.7), trial(3, "pruned")])
    assert [point.score is None for point in points] == [False, True, False, True]
    assert [round(point.best, 6) for point in points] == [0.5, 0.5, 0.7, 0.7]


def test_what_decides_the_score_is_important():
    trials = [trial(n, score=1 - (n / 20 - 0.6) ** 2, a=n / 20, b=(n * 7 % 20) / 20) for n in range(20)]
    shares = importance(PAIR, trials)
    assert shares["a"] > shares["b"]
    assert importance(PAIR, trials[:3]) == {}


def test_an_optimum_on_a_bound_is_warned_of():
    ranges = {"m": Real(low=-0.2, high=2.0), "lr": LogReal(low=1e-6, high=1.0)}
    ranges |= {"k": Integer(low=2, high=9), "c": Choice(options=("x", "y"))}
    inside = {"m": 0.5, "lr": 1e-3, "k": 3, "c": "x"}
    assert on_bounds(ranges, inside) == []
    warned = on_bounds(ranges, inside | {"m": -0.2, "lr": 0.9, "k": 9})
    assert [word.partition(" = ")[0] for word in warned] == ["m", "lr", "k"]
    assert "m = -0.2 is on the lower bound of its range: the optimum may be outside; widen it" in warned


def test_where_less_is_better_the_best_is_the_lowest():
    trials = [replace(trial(n, score=score), higher_is_better=False) for n, score in enumerate([0.4, 0.9, 0.2])]
    assert [round(point.best, 6) for point in trace(trials)] == [0.4, 0.4, 0.2]
