"""The scheduler: every run once, whoever wants it and however far, and no word about settings from a full disk."""

import threading
import time

import pytest

from fairground.errors import StoreError
from fairground.records.run_folder import RunFolder, locked
from fairground.records.store import Store
from fairground.spec.identity import name_of
from fairground.spec.load import load_run
from fairground.studies.executors.executor import InlineExecutor
from fairground.studies.scheduler import Request, Scheduler
from tests.patience import PATIENCE
from tests.studies import pretended_runs

PRETEND = "tests.studies.pretended_runs:pretend"


def spec(seed):
    return load_run(overrides={"loss": "contrastive", "training.epochs": 6, "seed": seed})


def scheduler(home, job=PRETEND, **more):
    return Scheduler(store=Store(home), executor=InlineExecutor(job), **more)


def test_records_come_in_the_order_of_the_specs_and_stored_runs_are_not_made_again(tmp_path):
    last = spec(2)
    scheduler(tmp_path).run_specs([last])
    seen = []
    records = scheduler(tmp_path, on_record=seen.append).run_specs([spec(0), spec(1), last, spec(0)])
    assert [record.spec["seed"] for record in records] == [0, 1, 2]
    assert [record.spec["seed"] for record in seen] == [2, 0, 1], "a stored run is read first"
    assert len([line for line in pretended_runs.marks(tmp_path) if line.endswith("opened")]) == 3


def test_generators_share_a_run_and_each_gets_it_as_far_as_it_wants(tmp_path):
    def want(until, then=None):
        records = yield Request(specs=[spec(0)], until=until)
        first = records[name_of(spec(0))]
        if then is not None:
            yield Request(specs=[spec(0)], until=then)
        return first.state, len(first.epochs) - 1

    found = scheduler(tmp_path).run({"short": want(2, then=3), "long": want(5), "full": want(None)})
    assert found["short"] == ("pruned", 2)
    assert found["long"][1] >= 5
    assert found["full"] == ("done", 6)
    lines = pretended_runs.marks(tmp_path)
    assert len(lines) == len(set(lines)) == 7, "six epochs and one opening, none of them twice"


def test_a_run_that_another_driver_has_is_waited_for(tmp_path):
    release = threading.Event()

    def other_driver():
        with locked(RunFolder(tmp_path, name_of(spec(0))), role="driver"):
            held.set()
            release.wait(PATIENCE)
            scheduler(tmp_path / "elsewhere").run_specs([spec(0)])
            Store(tmp_path).append(Store(tmp_path / "elsewhere").get(name_of(spec(0))))

    held = threading.Event()
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
    assert not any(line.startswith(name_of(spec(0))) for line in pretended_runs.marks(tmp_path)), (
        "made by the other alone"
    )


def test_a_failure_of_the_store_is_raised_and_no_run_is_called_failed_for_it(tmp_path):
    with pytest.raises(StoreError, match="the disk is full"):
        scheduler(tmp_path, "tests.studies.jobs:full_disk").run_specs([spec(0)])
    assert Store(tmp_path).names() == []
    # Its locks are released: another try in the same process may take the run.
    assert [record.state for record in scheduler(tmp_path).run_specs([spec(0)])] == ["done"]
