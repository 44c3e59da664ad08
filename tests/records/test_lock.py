import errno
import io
import os
import signal
import subprocess
import sys

import pytest

from fairground.errors import StoreError
from fairground.records.artefacts import RunFolder
from fairground.records.in_progress import is_at_work
from fairground.records.lock import held, locked, owner_of

HOLDER = """
import sys, time
from pathlib import Path
from fairground.records.artefacts import RunFolder
from fairground.records.lock import locked
with locked(RunFolder(Path(sys.argv[1]), "abc")):
    print("held", flush=True)
    time.sleep(600)
"""


def test_a_run_is_worked_on_by_one_process_until_that_process_is_gone(tmp_path):
    folder = RunFolder(tmp_path, "abc")
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE)
    assert holder.stdout.readline() == b"held\n"
    complaint = rf"run abc is being worked on by another process \(process {holder.pid}\)"
    with pytest.raises(StoreError, match=complaint), locked(folder):
        pass
    os.kill(holder.pid, signal.SIGKILL)
    holder.communicate()
    with locked(folder):
        pass


def test_a_claim_ends_with_its_block_and_cannot_be_had_twice(tmp_path):
    folder = RunFolder(tmp_path, "abc")
    for _ in range(2):
        with locked(folder), pytest.raises(StoreError, match="being worked on"), locked(folder):
            pass


def test_a_lock_that_cannot_be_opened_is_a_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(StoreError, match=r"cannot write .*a\.lock: Not a directory"),
        held(tmp_path / "file/a.lock", "x"),
    ):
        pass


class FullDisk(io.FileIO):
    def write(self, data) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_lock_on_a_full_disk_is_a_sentence_and_is_let_go(tmp_path, monkeypatch):
    path = tmp_path / "a.lock"
    with monkeypatch.context() as patch:
        patch.setattr("fairground.records.lock.FileIO", FullDisk)
        with pytest.raises(StoreError, match="the disk is full"), held(path, "x"):
            pass
    with held(path, "x"):
        assert path.read_text() == f"process {os.getpid()}\n"


def test_the_owner_of_a_lock_can_be_read_at_every_moment(tmp_path, monkeypatch):
    path, seen = tmp_path / "a.lock", []

    class Watched(io.FileIO):
        def write(self, data) -> int:
            seen.append(owner_of(path))
            done = super().write(data)
            seen.append(owner_of(path))
            return done

    path.write_text("process 123456789")
    monkeypatch.setattr("fairground.records.lock.FileIO", Watched)
    with held(path, "x"):
        assert [*seen, owner_of(path)] == [123456789, os.getpid(), os.getpid()]


@pytest.mark.parametrize("what", ["pipe", "folder", "device", "nothing"])
def test_what_is_no_lock_has_no_owner_and_is_not_waited_for(tmp_path, what):
    path = tmp_path / "a.lock"
    make = {"pipe": os.mkfifo, "folder": os.mkdir, "device": lambda path: path.symlink_to("/dev/zero")}
    make.get(what, lambda path: None)(path)
    assert owner_of(path) is None
    assert not is_at_work(path)
    if what != "nothing":
        with pytest.raises(StoreError, match="cannot write"), held(path, "x"):
            pass
