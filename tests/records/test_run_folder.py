"""The folder of a run: its paths, its lock, and how far a run without a record is."""

import json
import os
import signal
import subprocess
import sys

import pytest

from fairground.errors import InputError, StoreError
from fairground.files import LockedError, is_at_work, write_with_digest
from fairground.records import RunFolder, locked, resolve_run, run_in_progress, stored_spec
from fairground.spec.run_and_method_names import canonical_json, name_of, to_plain
from tests.records.factory import make_spec
from tests.training.tiny import tiny

ROWS = [
    {"epoch": 0, "step": 0, "loss": None, "validation": {"map@r": 0.1}, "seconds": 0.0, "images_per_second": 0.0},
    {"epoch": 1, "step": 40, "loss": 0.2, "validation": {"map@r": 0.3}, "seconds": 4.0, "images_per_second": 900.0},
]


def test_everything_of_a_run_is_under_its_name(tmp_path):
    folder = RunFolder(tmp_path, "abc123")
    assert folder.spec == tmp_path / "runs" / "abc123" / "spec.json"
    assert not folder.path.exists()
    assert folder.make().checkpoints.is_dir()
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot write"):
        RunFolder(tmp_path / "file", "abc").make()


@pytest.fixture
def folder(tmp_path):
    made = RunFolder(tmp_path, "abc123").make()
    made.spec.write_text(json.dumps(make_spec()))
    state = {"epoch": 2, "batch": 5, "step": 45, "rows": ROWS, "seconds": 6.5, "started": "2026-01-01T00:00:00+00:00"}
    write_with_digest(made.checkpoints / "00000045.json", state)
    write_with_digest(made.checkpoints / "00000040.json", state | {"epoch": 1, "rows": ROWS[:1]})
    return made


def test_the_newest_readable_checkpoint_says_how_far_a_run_is(folder):
    before = {path: path.stat().st_mtime_ns for path in folder.path.rglob("*")}
    seen = run_in_progress(folder)
    assert {path: path.stat().st_mtime_ns for path in folder.path.rglob("*")} == before
    assert (seen.name, seen.epoch, seen.seconds, len(seen.rows)) == ("abc123", 2, 6.5, 2)
    assert (seen.rows[1].validation, seen.spec["loss"]["name"]) == ({"map@r": 0.3}, "triplet")
    assert not seen.is_at_work
    (folder.checkpoints / "00000045.json").write_text('{"epoch": 2, "ro')
    assert run_in_progress(folder).epoch == 1
    (folder.checkpoints / "00000045.json").unlink()
    (folder.checkpoints / "00000040.json").unlink()
    assert (run_in_progress(folder).epoch, run_in_progress(folder).rows) == (0, ())
    folder.spec.write_text("{")
    assert run_in_progress(folder) is None
    assert run_in_progress(RunFolder(folder.root, "absent")) is None


def test_runs_are_found_by_the_beginning_of_their_names(folder, tmp_path):
    assert resolve_run(tmp_path, "abc") == "abc123"
    with pytest.raises(InputError, match=r"no run 'abd123' in .*\. Did you mean 'abc123'\?"):
        resolve_run(tmp_path, "abd123")


def test_a_spec_that_was_changed_is_not_the_spec_of_the_run(tmp_path):
    spec = tiny()
    folder = RunFolder(tmp_path, name_of(spec)).make()
    folder.spec.write_text(json.dumps(to_plain(spec), indent=1))
    assert stored_spec(folder) == spec
    assert stored_spec(folder, {"seed": 7}).seed == 7
    folder.spec.write_text(canonical_json(to_plain(spec) | {"seed": 5}))
    with pytest.raises(StoreError, match=r"spec\.json is damaged: it is not the spec of run"):
        stored_spec(folder)


HOLDER = """
import sys, time
from pathlib import Path
from fairground.records.run_folder import RunFolder, locked
with locked(RunFolder(Path(sys.argv[1]), "abc123")):
    print("held", flush=True)
    time.sleep(600)
"""


def test_one_process_works_on_a_run_until_it_is_killed(folder, tmp_path):
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE)
    assert holder.stdout.readline() == b"held\n"
    assert run_in_progress(folder).is_at_work
    with pytest.raises(LockedError, match="run abc123 is being worked on by another process"), locked(folder):
        pass
    os.kill(holder.pid, signal.SIGKILL)
    holder.communicate()
    assert not run_in_progress(folder).is_at_work
    with locked(folder):
        assert is_at_work(folder.path / "owner.lock")
