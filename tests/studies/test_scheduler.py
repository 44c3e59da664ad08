"""The scheduler: every run once, whichever generator wants it, and a full disk is not a failed run."""

import threading
import time

import pytest

from fairground.errors import StoreError
from fairground.records import RunFolder, Store, locked
from fairground.spec import load_run, name_of
from fairground.studies.executors.executor import Executor
from fairground.studies.scheduler import Request, Scheduler
from tests.patience import PATIENCE


def spec(seed):
    return load_run(overrides={"loss": "triplet", "seed": seed})


def scheduler(home, job="quadratic", **more):
    return Scheduler(store=Store(home), executor=Executor(f"tests.studies.jobs:{job}"), **more)


def begun_seeds(home):
    return [int(line.split()[1]) for line in (home / "begun.log").read_text().splitlines()]


def test_records_come_in_the_order_of_the_specs_and_stored_runs_are_not_made_again(tmp_path):
    scheduler(tmp_path).run_specs([spec(2)])
    seen = []
    records = scheduler(tmp_path, on_record=seen.append).run_specs([spec(0), spec(1), spec(2), spec(0)])
    assert [record.spec["seed"] for record in records] == [0, 1, 2]
    assert [record.spec["seed"] for record in seen] == [2, 0, 1], "a stored run is read first"
    assert begun_seeds(tmp_path) == [2, 0, 1]


def test_generators_share_a_run_and_go_on_with_what_they_are_sent(tmp_path):
    def want(*seeds):
        found = []
        for seed in seeds:
            records = yield Request(specs=[spec(seed)])
            found += [record.spec["seed"] for record in records.values()]
        return found

    found = scheduler(tmp_path).run({"one": want(0, 1), "other": want(1, 2), "none": want()})
    assert found == {"one": [0, 1], "other": [1, 2], "none": []}
    assert sorted(begun_seeds(tmp_path)) == [0, 1, 2]


def test_a_run_that_another_driver_has_is_waited_for(tmp_path):
    held, release = threading.Event(), threading.Event()

    def other_driver():
        with locked(RunFolder(tmp_path, name_of(spec(0))), role="driver"):
            held.set()
            release.wait(PATIENCE)
            (made,) = scheduler(tmp_path / "elsewhere").run_specs([spec(0)])
            Store(tmp_path).append(made)

    (tmp_path / "elsewhere").mkdir()
    other = threading.Thread(target=other_driver)
    other.start()
    assert held.wait(PATIENCE)
    begun = time.monotonic()
    threading.Timer(0.5, release.set).start()
    records = scheduler(tmp_path).run_specs([spec(0), spec(1)])
    other.join()
    assert time.monotonic() - begun >= 0.4
    assert [record.state for record in records] == ["done", "done"]
    assert begun_seeds(tmp_path) == [1]


def test_a_failure_of_the_store_is_raised_and_no_run_is_called_failed_for_it(tmp_path):
    with pytest.raises(StoreError, match="the disk is full"):
        scheduler(tmp_path, "full_disk").run_specs([spec(0)])
    assert Store(tmp_path).names() == []
    # Its locks are released: another try in the same process may take the run.
    assert [record.state for record in scheduler(tmp_path).run_specs([spec(0)])] == ["done"]
