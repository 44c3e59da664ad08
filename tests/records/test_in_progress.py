"""Looking at a run that has no record yet: its newest readable checkpoint, and whether anybody is at it."""

import json
import os
import subprocess
import sys

import pytest

from fairground.records.artefacts import RunFolder
from fairground.records.checkpoint_files import write_state
from fairground.records.in_progress import is_at_work, run_in_progress
from fairground.records.lock import locked
from fairground.records.store import Store
from tests.records.factory import make_record, make_spec

ROWS = [
    {"epoch": 0, "step": 0, "loss": None, "validation": {"map@r": 0.1}, "seconds": 0.0, "images_per_second": 0.0},
    {"epoch": 1, "step": 40, "loss": 0.2, "validation": {"map@r": 0.3}, "seconds": 4.0, "images_per_second": 900.0},
]


@pytest.fixture
def folder(tmp_path):
    made = RunFolder(tmp_path, "abc123").make()
    made.spec.write_text(json.dumps(make_spec()))
    facts = {"epoch": 2, "batch": 5, "step": 45, "rows": ROWS, "seconds": 6.5, "started": "2026-01-01T00:00:00+00:00"}
    write_state(made.checkpoints / "00000045.json", facts)
    write_state(made.checkpoints / "00000040.json", facts | {"epoch": 1, "rows": ROWS[:1]})
    return made


def test_the_newest_checkpoint_says_how_far_a_run_is(folder):
    seen = run_in_progress(folder)
    assert (seen.name, seen.epoch, seen.seconds, len(seen.rows)) == ("abc123", 2, 6.5, 2)
    assert seen.rows[1].validation == {"map@r": 0.3}
    assert seen.spec["loss"]["name"] == "triplet"
    assert not seen.is_at_work


def test_a_torn_checkpoint_falls_back_and_none_is_the_beginning(folder):
    (folder.checkpoints / "00000045.json").write_text('{"epoch": 2, "ro')
    assert run_in_progress(folder).epoch == 1
    for file in folder.checkpoints.iterdir():
        file.unlink()
    assert (run_in_progress(folder).epoch, run_in_progress(folder).rows) == (0, ())


@pytest.mark.parametrize("text", ["", "[1, 2]", "{", '"words"'])
def test_what_is_no_run_is_not_looked_at(folder, text):
    folder.spec.write_text(text)
    assert run_in_progress(folder) is None
    assert run_in_progress(RunFolder(folder.root, "absent")) is None


def test_a_run_is_at_work_while_its_owner_lives(folder):
    with locked(folder):
        assert run_in_progress(folder).is_at_work
    lock = folder.path / "owner.lock"
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    lock.write_text(f"process {ended.pid}")
    assert not is_at_work(lock)
    lock.write_text(f"process {os.getpid()}")
    assert is_at_work(lock)
    for nonsense in ("", "process", "process -1", "process 0", "process x", "thread 1", f"process {10**30}"):
        lock.write_text(nonsense)
        assert not is_at_work(lock)


def test_looking_leaves_the_folder_as_it_was(folder):
    before = {path: path.stat().st_mtime_ns for path in folder.path.rglob("*")}
    run_in_progress(folder)
    assert {path: path.stat().st_mtime_ns for path in folder.path.rglob("*")} == before


def test_the_store_tells_what_came_since_a_mark(tmp_path):
    store = Store(tmp_path)
    assert store.since(0) == (0, [])
    assert not store.path.exists()
    failed = make_record(state="failed")
    store.append(failed)
    mark, found = store.since(0)
    assert found == [failed]
    assert store.since(mark) == (mark, [])
    store.append(make_record())
    store.append(make_record(seed=1))
    later, found = store.since(mark)
    assert later > mark
    assert [(record.state, record.spec["seed"]) for record in found] == [("done", 0), ("done", 1)]
    assert [record.state for record in store.since(0)[1]] == ["done", "done"]
