"""Killed drivers and workers, two drivers at once, full and read-only disks: every run ends once, with its results."""

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairground.errors import StoreError
from fairground.records.store import Store
from tests.commands.test_commands import fairground
from tests.faults.driver import digits_of_runs, records
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


def holder_of(lock: Path) -> int:
    """Return the process that holds a lock file."""
    rows = [line.split() for line in Path("/proc/locks").read_text().splitlines()]
    return next(int(row[4]) for row in rows if row[5].endswith(f":{lock.stat().st_ino}"))


@pytest.mark.skipif(not Path("/proc/locks").exists(), reason="this system does not list its locks")
def test_a_worker_killed_in_the_middle_of_a_run(undisturbed: dict[str, str], tmp_path: Path) -> None:
    died: list = []

    def kill_once(told) -> None:
        if told["kind"] == "worker_died":
            died.append(told)
        elif told["kind"] == "epoch" and not died:
            os.kill(holder_of(tmp_path / "runs" / told["run"] / "owner.lock"), signal.SIGKILL)

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
    # The untrained model is epoch 0.
    assert len(epochs) == 3 * RUNS
    assert_whole(tmp_path, undisturbed)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=200k", "none", place], check=False, capture_output=True
    )
    if mounted.returncode != 0:
        pytest.skip("a small disk can be mounted by root only")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


def test_a_disk_that_is_really_full(undisturbed: dict[str, str], small_disk: Path) -> None:
    with pytest.raises(StoreError, match="the disk is full"):
        # A run that finds no room fails with that sentence, and so does writing down that it failed.
        records(small_disk, RUNS, "inline")
    subprocess.run(["mount", "-o", "remount,size=50m", small_disk], check=True)
    assert digits_of_runs(small_disk, RUNS) == undisturbed
    store = Store(small_disk)
    assert {store.get(name).state for name in undisturbed} == {"done"}


@pytest.mark.parametrize("words", [("train", *TINY), ("study", "tiny", "--executor", "inline")])
def test_a_home_that_can_only_be_read_is_read_and_refuses_the_rest_in_a_sentence(
    words: tuple[str, ...], small_disk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = Store(small_disk)
    store.append(make_record())
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    assert fairground("list", "runs", "--home", str(small_disk)) == 0
    assert make_record().name in capsys.readouterr().out
    assert fairground("compare", "--home", str(small_disk)) == 0
    assert fairground(*words, "--home", str(small_disk)) == 1
    assert "Read-only file system" in capsys.readouterr().err
