import errno
import io
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fairground.errors import StoreError
from fairground.records.artefacts import RunFolder
from fairground.records.lock import held, locked

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
        patch.setattr(Path, "open", lambda self, mode, buffering: FullDisk(self, mode.replace("b", "")))
        with pytest.raises(StoreError, match="the disk is full"), held(path, "x"):
            pass
    with held(path, "x"):
        assert path.read_text() == f"process {os.getpid()}"
