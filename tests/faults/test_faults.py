"""Whatever goes wrong, nothing is lost, nothing runs twice, and the table is that of an undisturbed day."""

import errno
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from fairground.errors import StoreError
from fairground.records import provenance, rows
from fairground.records.store import Store
from tests.commands.test_commands import fairground
from tests.faults.driver import digits_of_runs, records, specs
from tests.patience import PATIENCE
from tests.records.factory import make_record
from tests.training.tiny import TINY

ROOT = Path(__file__).parents[2]
RUNS = 3


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return digits_of_runs(tmp_path_factory.mktemp("undisturbed"), RUNS)


def start_driver(home: Path, *, executor: str = "inline", n: int = RUNS) -> subprocess.Popen:
    command = [sys.executable, "-m", "tests.faults.driver", str(home), str(n), executor]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def assert_whole(home: Path, undisturbed: dict[str, str]) -> None:
    """Every run stands in the store once, with the digits of the undisturbed one."""
    store = Store(home)
    assert {name: store.get(name).digits() for name in store.names()} == undisturbed
    assert [len(store.history(name)) for name in undisturbed] == [1] * RUNS
    assert store.events(kind="disagreement") == []


@pytest.mark.parametrize("executor", ["inline", "processes"])
def test_a_driver_killed_in_the_middle_of_a_run(undisturbed: dict[str, str], tmp_path: Path, executor: str) -> None:
    driver = start_driver(tmp_path, executor=executor)
    assert driver.stdout is not None
    assert driver.stderr is not None
    assert driver.stdout.readline().split()[1] == "done"
    next(line for line in driver.stderr if line.startswith("epoch") and line.split()[1] not in Store(tmp_path).names())
    os.kill(driver.pid, signal.SIGKILL)
    driver.communicate()
    assert 1 <= len(Store(tmp_path).names()) < RUNS
    assert digits_of_runs(tmp_path, RUNS) == undisturbed
    assert_whole(tmp_path, undisturbed)


def test_a_worker_killed_in_the_middle_of_a_run(undisturbed: dict[str, str], tmp_path: Path) -> None:
    died: list = []

    def kill_once(told) -> None:
        if told["kind"] == "worker_died":
            died.append(told)
        elif told["kind"] == "epoch" and not died:
            lock = tmp_path / "runs" / told["run"] / "owner.lock"
            os.kill(int(lock.read_text().split()[1]), signal.SIGKILL)

    found = records(tmp_path, RUNS, "processes", kill_once)
    assert {record.name: record.digits() for record in found} == undisturbed
    assert len(died) >= 1
    assert_whole(tmp_path, undisturbed)


def test_two_drivers_at_once_share_the_runs_and_end_with_one_table(undisturbed: dict[str, str], tmp_path: Path) -> None:
    drivers = [start_driver(tmp_path) for _ in range(2)]
    told = [driver.communicate(timeout=PATIENCE) for driver in drivers]
    assert [driver.returncode for driver in drivers] == [0, 0], told
    for printed, _ in told:
        assert sorted(printed.split()[::2]) == sorted(undisturbed)
        assert set(printed.split()[1::2]) == {"done"}
    epochs = Counter(line for _, errors in told for line in errors.splitlines() if line.startswith("epoch"))
    assert set(epochs.values()) == {1}, "a run was trained twice"
    assert len(epochs) == 2 * RUNS
    assert_whole(tmp_path, undisturbed)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=500k", "none", place], check=False, capture_output=True
    )
    if mounted.returncode != 0:
        pytest.skip("a small disk can be mounted by root only")
    yield place
    Store(place).close()
    subprocess.run(["umount", "-l", place], check=True)


def test_a_disk_that_is_really_full(undisturbed: dict[str, str], small_disk: Path) -> None:
    with pytest.raises(StoreError, match="the disk is full"):
        # A run that finds no room fails with that sentence, and so does writing down that it failed.
        records(small_disk, RUNS, "inline")
    subprocess.run(["mount", "-o", "remount,size=50m", small_disk], check=True)
    assert digits_of_runs(small_disk, RUNS) == undisturbed
    store = Store(small_disk)
    assert {store.get(name).state for name in undisturbed} == {"done"}


@pytest.mark.parametrize("moment", [3, 11])
def test_a_write_that_finds_the_disk_full(
    undisturbed: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: int
) -> None:
    calls, fsync = iter(range(1, 10**6)), os.fsync

    def full(handle: int) -> None:
        if next(calls) == moment:
            raise OSError(errno.ENOSPC, "No space left on device")
        fsync(handle)

    monkeypatch.setattr(os, "fsync", full)
    # The disk says nothing about the settings: no run is stored as failed for it.
    with pytest.raises(StoreError, match="the disk is full"):
        records(tmp_path, RUNS, "inline")
    assert digits_of_runs(tmp_path, RUNS) == undisturbed
    assert_whole(tmp_path, undisturbed)


def test_a_store_held_by_another_process_is_waited_for_and_then_refused_in_a_sentence(tmp_path: Path) -> None:
    Store(tmp_path).append(make_record(seed=1))
    other = sqlite3.connect(tmp_path / "records.sqlite", isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match=r"another process holds it locked\. Nothing was lost; try again"):
        Store(tmp_path, patience=0.2).append(make_record(seed=2))
    assert len(Store(tmp_path, patience=0.2).names()) == 1, "readers need not wait"
    threading.Timer(0.4, lambda: other.execute("COMMIT")).start()
    assert Store(tmp_path, patience=20.0).append(make_record(seed=2)) == "current"
    other.close()


def test_a_clock_that_goes_backwards(
    undisturbed: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticks = iter(range(10**6))

    class Backwards(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime(2030, 1, 1, tzinfo=UTC) - timedelta(days=next(ticks))

    monkeypatch.setattr(time, "time", lambda: 1.9e9 - 86400.0 * next(ticks))
    monkeypatch.setattr(rows, "datetime", Backwards)
    monkeypatch.setattr(provenance, "datetime", Backwards)
    found = records(tmp_path, RUNS, "inline")
    assert {record.name: record.digits() for record in found} == undisturbed
    assert all(record.provenance.wall_seconds > 0 for record in found)
    assert Store(tmp_path).names() == [record.name for record in found], "order is that of writing"
    assert_whole(tmp_path, undisturbed)


def test_the_runs_differ_from_one_another() -> None:
    assert len({spec.seed for spec in specs(RUNS)}) == RUNS


@pytest.mark.parametrize("words", [("train", *TINY), ("study", "tiny", "--executor", "inline"), ("store", "repair")])
def test_a_home_that_can_only_be_read_is_read_and_refuses_the_rest_in_a_sentence(
    words: tuple[str, ...], small_disk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = Store(small_disk)
    store.append(make_record())
    store.close()
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    assert fairground("list", "runs", "--home", str(small_disk)) == 0
    assert make_record().name in capsys.readouterr().out
    assert fairground("compare", "--home", str(small_disk)) == 0
    assert fairground(*words, "--home", str(small_disk)) == 1
    assert "Read-only file system" in capsys.readouterr().err
