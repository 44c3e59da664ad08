"""Whole studies on pretended runs: the same numbers everywhere, killed or not, and nothing opened too early."""

import dataclasses
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from fairground.errors import SealError, StoreError
from fairground.records.store import Store
from fairground.reporting.study_results import results_plain, tables_of
from fairground.spec import jobs_of, load_study, study_hash
from fairground.studies import Seal, Selected, Trial, TrialStore, folder_of, search, select
from fairground.studies.executors.executor import executor_named
from fairground.studies.run_study import results_so_far, run_study, status_of
from tests.executors.test_processes import children_of, vanishes
from tests.patience import wait_for
from tests.studies.jobs import OWN_METRIC

JOBS = "tests.studies.jobs"
ROOT = Path(__file__).parents[2]


def small(**changes):
    study = load_study("tiny")
    search = dataclasses.replace(study.search, trials=12, startup=6, wave=3, **changes)
    return dataclasses.replace(study, search=search)


def study_results(study, home, executor="inline", **more):
    arguments = {"run_job": f"{JOBS}:quadratic", "join_job": f"{JOBS}:join"} | more
    return run_study(study, home=home, spawn=partial(executor_named, executor, workers=2), **arguments)


def digits(results):
    """Return everything a table shows, without times."""
    plain = [
        {key: value for key, value in row.items() if key != "seconds"}
        for row in results_plain(results, tables_of(results))
    ]
    trials = [[(t.settings, t.state, t.folds) for t in result.trials] for result in results]
    return json.dumps([plain, trials], sort_keys=True, default=dict)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    home = tmp_path_factory.mktemp("undisturbed")
    return home, study_results(small(), home)


def test_processes_give_the_numbers_of_inline(undisturbed, tmp_path):
    assert digits(study_results(small(), tmp_path, "processes")) == digits(undisturbed[1])


def test_methods_whose_settings_are_the_same_count_their_runs_once(tmp_path):
    study = load_study("tiny")
    first = study.methods[0]
    twice = dataclasses.replace(study, methods=(first, dataclasses.replace(first, label="again")), repeats=2)
    twice = dataclasses.replace(twice, search=dataclasses.replace(study.search, trials=0))
    table = tables_of(study_results(twice, tmp_path))[0]
    assert len(table.records) == len({record.name for record in table.records}) > 0


def test_trial_states_are_kept_apart_and_budgets_are_equal(undisturbed):
    results = undisturbed[1]
    states = Counter(trial.state for result in results for trial in result.trials)
    assert states["diverged"] > 0
    assert states["pruned"] > 0
    assert states["failed"] > 0
    assert "asked" not in states
    for result in results:
        assert len(result.trials) == 12
        for trial in result.trials:
            assert (trial.score is not None) == (trial.state == "done")
            assert len(trial.folds) == {"done": 2, "pruned": 1}.get(trial.state, 0)
            assert (trial.failure is not None) == (trial.state in ("diverged", "failed"))


@pytest.mark.parametrize("sampler", ["gp", "tpe"])
def test_where_less_is_better_the_search_asks_prunes_and_selects_the_same(sampler, tmp_path):
    study = small(sampler=sampler)
    lower = dataclasses.replace(study, selection=dataclasses.replace(study.selection, metric=OWN_METRIC))
    higher = study_results(study, tmp_path / "higher")
    turned = study_results(lower, tmp_path / "lower", run_job=f"{JOBS}:mirrored")
    for one, other in zip(higher, turned, strict=True):
        assert [(t.settings, t.state) for t in one.trials] == [(t.settings, t.state) for t in other.trials]
        assert one.selected.settings == other.selected.settings
        assert other.selected.score == pytest.approx(1 - one.selected.score)
        assert not any(trial.higher_is_better for trial in other.trials if trial.state in ("done", "pruned"))
    again = results_so_far(lower, home=tmp_path / "lower")
    assert [result.trials for result in again] == [result.trials for result in turned]


RERANKED = {"evaluation.rerank": "k_reciprocal", "evaluation.select_by": "map@r+k_reciprocal"}


@pytest.mark.parametrize("is_in_file", [False, True])
def test_what_selects_epochs_selects_trials(is_in_file, tmp_path):
    file, changes = tmp_path / "reranked.toml", {} if is_in_file else RERANKED
    words = [f"{key}={value}" for key, value in RERANKED.items()] if is_in_file else []
    file.write_text(f'extends = "tiny"\noverrides = {json.dumps(words)}\n')
    study = load_study(str(file), changes=changes | {"search.trials": 6})
    assert study.selection.metric == "map@r+k_reciprocal"
    for result in study_results(study, tmp_path, run_job=f"{JOBS}:reranked"):
        done = [trial for trial in result.trials if trial.score is not None]
        plain = {t.number: [1 - score for score in t.folds.values()] for t in done}
        assert result.selected.trial == min(plain, key=lambda number: sum(plain[number]))
    assert "validation map@r+k_reciprocal" in result.runs[0].search.sentence
    plainly = load_study(str(file), changes=changes | {"selection.metric": "map@r"})
    assert plainly.selection.metric == "map@r"


def test_the_search_never_looks_at_the_test_split_and_repeats_have_fresh_seeds(undisturbed):
    home, results = undisturbed
    begun = [line.split() for line in (home / "begun.log").read_text().splitlines()]
    assert {(seed, kind) for _, seed, kind in begun} == {("0", "sealed"), ("1", "test"), ("2", "test")}
    assert len(begun) == len({name for name, _, _ in begun})
    for result in results:
        assert [record.spec["seed"] for record in result.runs] == [1, 1, 2, 2]
        assert result.runs[0].search == result.job.search_procedure()
        assert result.runs[0].search.trials == 12
        assert result.runs[0].search.sentence in result.runs[0].notes
        assert Store(home).get(result.runs[0].name).notes == result.runs[0].notes


def test_the_joined_models_are_records_of_their_own(undisturbed):
    home, results = undisturbed
    joined = results[0].joined
    assert [record.spec["ensemble"] for record in joined] == ["concatenated", "concatenated"]
    assert joined[0].spec["split"]["fold"] == "0, 1"
    assert joined[0].search.trials == 12
    assert "concatenated: 2 fold models, 8 dimensions together" in joined[0].notes
    assert len({record.method for record in joined}) == 1
    assert Store(home).get(joined[0].name) == joined[0]


def test_the_best_trial_is_selected_and_who_opened_the_test_split_is_written_down(undisturbed):
    home, results = undisturbed
    for result in results:
        assert result.selected.score == max(trial.score for trial in result.trials if trial.score is not None)
        assert result.trials[result.selected.trial].settings == result.selected.settings
    events = Store(home).events(run=study_hash(small()))
    assert [event.kind for event in events] == ["settings selected", "test opened"]
    assert "process" in events[1].who
    # Once, for all final runs; no run of the search opened it.
    (opened,) = Store(home).events(kind="test opened")
    assert opened.detail == "the final runs of study tiny on icons"


def test_a_second_time_runs_nothing_and_says_the_same(undisturbed):
    home, results = undisturbed
    before = (home / "begun.log").read_text()
    again = study_results(small(), home, run_job=f"{JOBS}:missing")
    assert digits(again) == digits(results)
    assert (home / "begun.log").read_text() == before
    assert len(Store(home).events(kind="test opened")) == 1


def test_more_repeats_keep_the_search(undisturbed, tmp_path):
    more = dataclasses.replace(small(), repeats=3)
    home = undisturbed[0]
    n_before = len((home / "begun.log").read_text().splitlines())
    results = study_results(more, home)
    assert [len(result.runs) for result in results] == [6, 6]
    assert len((home / "begun.log").read_text().splitlines()) == n_before + 4


def kill_driver(code, home, n_begun):
    """Run a driver of pretended runs that take their time, and kill it once so many are begun."""
    environment = os.environ | {"FAKE_SECONDS": "0.2", "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    driver = subprocess.Popen([sys.executable, "-c", code, str(home)], env=environment, cwd=ROOT)
    log = home / "begun.log"
    wait_for(lambda: log.exists() and len(log.read_text().splitlines()) >= n_begun, driver)
    workers = children_of(driver.pid)
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    assert all(vanishes(worker) for worker in workers), "workers leave when their input ends"


def begun_twice(home):
    names = [line.split()[0] for line in (home / "begun.log").read_text().splitlines()]
    return sum(n - 1 for n in Counter(names).values())


DRIVER = """
import sys
from pathlib import Path
from tests.studies.test_run_study import study_results, small
study_results(small(), Path(sys.argv[1]), "processes")
"""


def test_a_killed_driver_is_resumed_to_the_same_table(undisturbed, tmp_path):
    kill_driver(DRIVER, tmp_path, 14)
    assert not status_of(small(), home=tmp_path)[0].is_selected
    assert digits(study_results(small(), tmp_path)) == digits(study_results(small(), undisturbed[0]))
    # Only what each of two workers had under way, or had just handed over, is begun twice.
    assert begun_twice(tmp_path) <= 4


def test_a_second_driver_is_refused(tmp_path):
    study = small()
    with folder_of(study, tmp_path).locked(study), pytest.raises(StoreError, match=r"study tiny .* is being worked on"):
        study_results(study, tmp_path)


def test_the_test_split_is_sealed_until_selection(tmp_path):
    study = small()
    seal = Seal(Store(tmp_path), study)
    with pytest.raises(SealError, match="sealed until every method's settings are selected"):
        seal.final_specs(jobs_of(study)[0])
    with pytest.raises(SealError):
        results_so_far_of_begun(study, tmp_path)
    chosen = {job.label: Selected(settings={"loss.margin": 0.1}, trial=0, score=0.5) for job in jobs_of(study)[1:]}
    seal.end_selection(chosen)
    assert all(spec.evaluation.test for spec in seal.final_specs(jobs_of(study)[1]).values())
    assert seal.final_specs(jobs_of(study)[0]) == {}
    with pytest.raises(SealError, match="nothing can be selected again"):
        seal.end_selection({"icons/triplet": Selected(settings={}, trial=1, score=0.6)})


def results_so_far_of_begun(study, home):
    folder_of(study, home).path.mkdir(parents=True, exist_ok=True)
    return results_so_far(study, home=home)


def test_nothing_is_selected_from_nothing_and_equals_go_to_the_first():
    assert select([Trial(number=0, settings={}, state="diverged")]) is None
    twins = [Trial(number=n, settings={"n": n}, state="done", folds={0: 0.5}) for n in range(3)]
    assert select(twins).trial == 0


def test_a_half_written_wave_is_taken_up_where_it_stopped(tmp_path):
    study = small()
    job = jobs_of(study)[1]
    folder_of(study, tmp_path).path.mkdir(parents=True)
    trial_store = TrialStore(folder_of(study, tmp_path).path)
    first = next(search(job, trial_store)).specs
    # The driver died while it wrote; another asks for the very same runs.
    text = trial_store.path.read_text()
    trial_store.path.write_text(text[:-20])
    assert len(trial_store.trials(job.label)) == 2
    assert next(search(job, trial_store)).specs == first
    assert [trial.state for trial in trial_store.trials(job.label)] == ["asked"] * 3
    assert trial_store.path.read_text() == text
