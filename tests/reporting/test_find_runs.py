"""What a report is about: a whole study read back from its home, its joined models and its search beside it."""

from functools import partial

import pytest

from fairground.errors import SealError
from fairground.reporting import figures_of, find_runs, inputs_of
from fairground.spec.load_study_spec import load_study
from fairground.studies.executors.executor import executor_named
from fairground.studies.run_study import run_study
from fairground.studies.study_folder import folder_of

JOBS = "tests.studies.jobs"


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    home = tmp_path_factory.mktemp("study")
    spawn = partial(executor_named, "inline", workers=1)
    run_study(load_study("tiny"), home=home, spawn=spawn, run_job=f"{JOBS}:quadratic", join_job=f"{JOBS}:join")
    return home


def test_a_study_is_read_back_with_its_search_and_its_joined_models(home):
    found = find_runs(["tiny"], home)
    assert found.title == load_study("tiny").question
    sections = found.sections()
    assert set(sections) == {("icons", "laptop"), ("icons", "laptop, concatenated")}
    # Two methods of two repeats on two folds; and a concatenated model of each repeat.
    assert [len(section.records) for section in sections.values()] == [8, 4]
    inputs = inputs_of(found)["icons", "laptop"]
    assert len(inputs.done) == 4, "the folds of a repeat are averaged"
    assert {row.label for row in inputs.table.rows} == {"contrastive", "triplet"}
    assert set(inputs.trials) == {"contrastive", "triplet"}
    assert inputs.table.is_fair
    assert {row.label for row in inputs.concatenated.rows} == {"contrastive", "triplet"}
    assert {"traces", "sensitivity", "cost"} <= {figure.name for figure in figures_of(inputs)}


def test_all_runs_of_a_home_leave_trials_out_and_joined_models_apart(home):
    found = find_runs([], home)
    assert len(found.records) == 2 * 2 * 2 + 4
    assert {protocol for _, protocol in found.sections()} == {"laptop", "laptop, concatenated"}
    assert found.title == ""


def test_a_study_is_closed_until_its_selection_is_over(tmp_path):
    study = load_study("tiny")
    with folder_of(study, tmp_path).locked(study):
        pass
    with pytest.raises(SealError, match="sealed until every method's settings are selected"):
        find_runs(["tiny"], tmp_path)
