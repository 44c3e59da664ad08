"""A search that tries the method as it stands before anything else."""

import dataclasses

import pytest

from fairground.errors import InputError
from fairground.records.store import Store
from fairground.spec import Choice, Integer, LogReal, Real, SearchProcedure, contains, jobs_of, load_study
from fairground.studies import Trial, cost_probes, suggest
from tests.studies.test_run_study import study_results

RANGES = {"a": Real(low=0.0, high=1.0), "b": LogReal(low=1e-4, high=1.0)}


def asked(trials, *, defaults, sampler="gp", startup=4):
    procedure = SearchProcedure(trials=9, sampler=sampler, startup=startup, ranges=RANGES)
    return suggest(procedure, trials, seed=0, label="cell", defaults=defaults)


def defaults_of(*words, **changes):
    study = load_study("tiny", changes={"search.defaults_first": True})
    job = dataclasses.replace(jobs_of(study)[0], method=dataclasses.replace(study.methods[0], words=words, **changes))
    return job.defaults()


def test_defaults_come_first_and_then_the_points_that_would_have_been():
    defaults = {"a": 0.25, "b": 0.5}
    plain = [asked([None] * number, defaults=None) for number in range(3)]
    first = [asked([None] * number, defaults=defaults) for number in range(4)]
    assert first == [defaults, *plain]


def test_the_model_learns_from_defaults_that_are_in_the_ranges():
    rest = [
        Trial(number=n, settings={"a": n / 10, "b": 0.01 * n}, state="done", folds={0: n / 10}) for n in range(1, 6)
    ]
    inside = Trial(number=0, settings={"a": 0.9, "b": 0.9}, state="done", folds={0: 0.99})
    outside = dataclasses.replace(inside, settings={"a": 0.9})
    told = asked([inside, *rest], defaults=inside.settings)
    untold = asked([outside, *rest], defaults=outside.settings)
    assert told != untold
    assert untold == asked([*rest, outside], defaults=outside.settings)
    for sampler in ("gp", "tpe", "random"):
        found = asked([outside, *rest], defaults=outside.settings, sampler=sampler)
        assert all(contains(RANGES[key], found[key]) for key in RANGES)


def test_the_defaults_are_those_of_the_method():
    assert defaults_of("loss=contrastive") == {"loss.negative_margin": 1.0, "loss.positive_margin": 0.0}
    assert defaults_of("loss=contrastive", "loss.negative_margin=0.7")["loss.negative_margin"] == 0.7
    assert "loss.norm_weight" not in defaults_of("loss=n_pair"), "0 is not on a logarithmic scale"


def test_a_range_contains_what_a_search_of_it_could_try():
    assert [contains(Real(low=0, high=1), value) for value in (0, 0.5, 1, -0.1, 1.1, None, True)] == [
        *(True, True, True),
        *(False, False, False, False),
    ]
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
    assert [[trial.settings for trial in one.trials] for one in first] == [
        [trial.settings for trial in one.trials] for one in again
    ]
    record = next(one for one in Store(tmp_path / "a").records() if one.search is not None)
    assert record.search.defaults_first
    assert "(tpe, the method's own settings first)" in record.search.sentence
    assert {
        spec.loss.settings.get("margin", spec.loss.settings.get("negative_margin")) for spec in cost_probes(study)
    } == {
        result.trials[0].settings.get("loss.margin", result.trials[0].settings.get("loss.negative_margin"))
        for result in first
    }


def test_a_grid_has_its_own_points():
    with pytest.raises(InputError, match=r"search.defaults_first is for the samplers gp, tpe and random; a grid"):
        load_study("tiny", changes={"search.defaults_first": True, "search.sampler": "grid"})
