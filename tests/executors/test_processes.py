import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fairground.errors import InputError
from fairground.studies.executors.executor import Executor
from fairground.studies.executors.processes import ProcessExecutor, visible_gpus
from tests.executors.test_executors import numbered
from tests.patience import PATIENCE, wait_for

JOBS = "tests.executors.jobs"


def is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    # A child nobody has waited for yet still has a number, but does not run.
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


def appears(path: Path) -> str:
    return wait_for(lambda: path.exists() and path.read_text())


def vanishes(process: int) -> bool:
    return wait_for(lambda: not is_running(process))


def children_of(process: int) -> set[int]:
    """Return all processes that a process has started, and those that they have."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    found = {process}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {process}


def test_workers_are_reused_and_no_more_than_asked_for():
    with ProcessExecutor(f"{JOBS}:double", workers=2) as executor:
        processes = {outcome.result["process"] for outcome in executor.run(numbered(*({"n": n} for n in range(30))))}
        again = {outcome.result["process"] for outcome in executor.run(numbered(*({"n": n} for n in range(30))))}
    assert 1 <= len(processes | again) <= 2
    assert os.getpid() not in processes
    assert all(vanishes(process) for process in processes)


def test_threads_are_pinned_before_the_job_can_import_anything():
    with ProcessExecutor(f"{JOBS}:threads", workers=1, threads=3) as executor:
        (outcome,) = executor.run({"a": {}})
    assert set(outcome.result.values()) == {"3"}


@pytest.mark.parametrize(
    ("settings", "seen"),
    [
        ({"workers": 3}, ["2", "5", "2"]),
        ({"workers": 9, "gpus_per_run": 0.5}, ["2", "5", "2", "5"]),
        ({"workers": 9, "gpus_per_run": 2}, ["2,5"]),
        ({"workers": 2, "device": "cuda:1"}, ["2,5", "2,5"]),
        ({"workers": 2, "device": "cpu"}, ["2,5", "2,5"]),
    ],
)
def test_every_worker_has_its_share_of_the_gpus(tmp_path, monkeypatch, settings, seen):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2, 5")
    with ProcessExecutor(f"{JOBS}:own_gpu", **settings) as executor:
        assert executor.capacity == len(seen)
        jobs = numbered(*({"n": n, "folder": str(tmp_path), "at_once": len(seen)} for n in range(len(seen))))
        found = sorted((outcome.result for outcome in executor.run(jobs)), key=str)
    # What the environment says is left alone where one GPU, or none, was asked for.
    said = "2, 5" if "device" in settings else None
    assert found == sorted(((said or one, settings.get("device", "auto")) for one in seen), key=str)


def test_without_gpus_workers_are_left_alone(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    assert visible_gpus() == []
    with pytest.raises(InputError, match="gpus_per_run = 1, but this machine has 0 GPUs"):
        ProcessExecutor(f"{JOBS}:double", gpus_per_run=1)


def test_a_job_whose_worker_is_killed_is_given_to_a_fresh_one(tmp_path):
    heard = []
    with ProcessExecutor(f"{JOBS}:die_until_resumed", workers=2, retries=2, watch=heard.append) as executor:
        arguments = [{"n": n, "folder": str(tmp_path), "succeeds_at": 1 + n} for n in range(3)]
        outcomes = {int(outcome.job_id): outcome for outcome in executor.run(numbered(*arguments))}
    assert [outcomes[n].result for n in range(3)] == [{"attempt": 1}, {"attempt": 2}, {"attempt": 3}]
    assert [outcomes[n].attempts for n in range(3)] == [1, 2, 3]
    assert [told["worker_died"] for told in heard] == ["killed by SIGKILL; about to be killed"] * 3


def test_a_job_that_kills_every_worker_is_reported_and_the_others_go_on(tmp_path):
    with ProcessExecutor(f"{JOBS}:die_until_resumed", workers=1, retries=1) as executor:
        doomed = {"n": 0, "folder": str(tmp_path), "succeeds_at": 99}
        sound = {"n": 1, "folder": str(tmp_path), "succeeds_at": 1}
        first, second = executor.run(numbered(doomed, sound))
    assert first.failure.endswith("died 2 times over this job, last: killed by SIGKILL; about to be killed")
    assert (first.result, first.attempts) == (None, 2)
    assert second.result == {"attempt": 1}


def test_closing_interrupts_the_jobs_and_leaves_resumable_runs(tmp_path):
    with ProcessExecutor(f"{JOBS}:wait", workers=2) as executor:
        for n in range(3):
            executor.submit(str(n), {"n": n, "folder": str(tmp_path)})
        processes = [int(appears(tmp_path / f"{n}.began")) for n in range(2)]
    assert sorted(file.name for file in tmp_path.glob("*.checkpoint")) == ["0.checkpoint", "1.checkpoint"]
    assert not any(is_running(process) for process in processes)
    assert not (tmp_path / "2.began").exists()


def test_a_job_that_does_not_listen_is_killed_after_its_grace(tmp_path):
    began = time.monotonic()
    with ProcessExecutor(f"{JOBS}:stubborn", workers=1, grace=0.2) as executor:
        executor.submit("a", {"folder": str(tmp_path)})
        process = int(appears(tmp_path / "stubborn.began"))
    assert not is_running(process)
    assert time.monotonic() - began < PATIENCE


DRIVER = f"""
import sys
from fairground.studies.executors.processes import ProcessExecutor
try:
    with ProcessExecutor("{JOBS}:wait", workers=2) as executor:
        for outcome in executor.run({{str(n): dict(n=n, folder=sys.argv[1]) for n in range(4)}}):
            pass
except KeyboardInterrupt:
    print("interrupted")
    sys.exit(130)
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_however_the_driver_ends_its_workers_leave_resumable_runs(tmp_path, how):
    here = Path(__file__).parents[2]
    command = [sys.executable, "-c", DRIVER, str(tmp_path)]
    driver = subprocess.Popen(command, cwd=here, stdout=subprocess.PIPE, start_new_session=True)
    workers = [int(appears(tmp_path / f"{n}.began")) for n in range(2)]
    # To the whole group, as a terminal does it.
    os.killpg(driver.pid, how)
    printed = driver.communicate(timeout=PATIENCE)[0]
    assert (driver.returncode, printed) == ((130, b"interrupted\n") if how == signal.SIGINT else (-how, b""))
    assert all(vanishes(worker) for worker in workers)
    assert sorted(file.name for file in tmp_path.glob("*.checkpoint")) == ["0.checkpoint", "1.checkpoint"]


def test_ctrl_c_inline_reaches_the_job_itself(tmp_path):
    def press(told) -> None:
        signal.raise_signal(signal.SIGINT)

    argument = {"n": 0, "folder": str(tmp_path)}
    with pytest.raises(KeyboardInterrupt), Executor(f"{JOBS}:wait", watch=press) as executor:
        list(executor.run({"0": argument}))
    assert list(executor.finished()) == []
