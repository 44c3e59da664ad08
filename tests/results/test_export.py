"""A study's runs are exported under their methods' names, those of the search apart from those after selection."""

from functools import partial
from pathlib import Path

from studies.results.export import export
from studies.results.records import read_runs

from fairground.spec import load_study, parse_overrides
from fairground.studies.executors.executor import executor_named
from fairground.studies.run_study import run_study

JOBS = "tests.studies.jobs"


def test_runs_come_out_as_they_went_in_and_again_after_more_repeats(tmp_path: Path) -> None:
    home, out = tmp_path / "my_study", tmp_path / "records"
    spawn = partial(executor_named, "inline", workers=1)
    words = ["search.pruning=none", "folds.n=1", "folds.split="]
    for repeats in (1, 2):
        study = load_study("tiny", changes=parse_overrides([f"repeats={repeats}", *words]))
        results = run_study(study, home=home, spawn=spawn, run_job=f"{JOBS}:quadratic", join_job=f"{JOBS}:join")
        n_runs = export(home, out)
    found = read_runs(out, "my_study")
    assert len(found) == n_runs
    for result in results:
        mine = [run for run in found if run.method == result.job.method.label]
        finals = {run.run: run for run in mine if run.kind == "final"}
        assert set(finals) == {record.name for record in result.runs}
        assert len(mine) - len(finals) == sum(trial.state != "failed" for trial in result.trials)
        for record in result.runs:
            assert abs(finals[record.name].scores["test", "map@r"] - record.score("map@r")) < 1e-6
            assert finals[record.name].seed == record.spec["seed"]
            assert finals[record.name].settings["loss.name"] == record.spec["loss"]["name"]
    assert {run.data for run in found} == {study.data[0].label}
