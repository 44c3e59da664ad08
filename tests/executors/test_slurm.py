"""submitit's local and debug executors in the place of a cluster: what every executor does, and jobs that are lost."""

import os
import signal
from pathlib import Path

import pytest

from fairground.errors import InputError
from fairground.records.store import Store
from fairground.studies.executors.executor import executor_named
from fairground.studies.executors.slurm import SlurmExecutor
from fairground.studies.scheduler import JOB, Scheduler
from tests.executors.test_executors import SPEC, record
from tests.executors.test_processes import appears, vanishes

JOBS = "tests.executors.jobs"


@pytest.mark.parametrize("cluster", ["local", "debug"])
def test_a_run_through_submitit_is_that_of_this_process(cluster: str, tmp_path: Path) -> None:
    with SlurmExecutor(JOB, cluster=cluster, workers=1, device="cpu") as executor:
        (found,) = Scheduler(store=Store(tmp_path / "slurm"), executor=executor).run_specs([SPEC])
    assert found.digits() == record("inline", 1, tmp_path / "inline").digits()


def test_failures_lost_jobs_and_jobs_that_are_queued_again(tmp_path: Path) -> None:
    heard: list[dict] = []
    home = {"home": str(tmp_path), "folder": str(tmp_path)}
    with SlurmExecutor(f"{JOBS}:fail", cluster="local", workers=2) as executor:
        (outcome,) = executor.run({"a": {"how": "refusal", **home}})
        assert (outcome.failure, outcome.attempts) == ("the split is empty", 1)
        executor.job = f"{JOBS}:die_until_resumed"
        executor._watch = heard.append
        (outcome,) = executor.run({"b": {"n": 1, "succeeds_at": 2, **home}})
        assert (outcome.result, outcome.attempts) == ({"attempt": 2}, 2)
        assert "SLURM's job" in heard[0]["worker_died"]
        executor.job = f"{JOBS}:wait"
        executor.submit("c", {"n": 2, "seconds": 600, "nap": 0.1, **home})
        process = int(appears(tmp_path / "2.began"))
        (tmp_path / "2.began").unlink()
        os.kill(process, signal.SIGUSR2)
        process = int(appears(tmp_path / "2.began"))
    assert vanishes(process)


def test_what_slurm_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="the executor slurm needs srun and sbatch"):
        executor_named("slurm", JOB)
    for name, script in {"srun": "", "scancel": "", "sbatch": f"cp $1 {tmp_path}/script; echo job 17"}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    settings = {"threads": 3, "gpus_per_run": 1, "slurm": ("partition=gpu", "time=480", "mem=16G")}
    with executor_named("slurm", f"{JOBS}:double", **settings) as executor:
        executor.submit("a", {"n": 1, "home": str(tmp_path)})
    script = (tmp_path / "script").read_text()
    for line in ("partition=gpu", "time=480", "mem=16G", "cpus-per-task=3", "gpus-per-node=1"):
        assert f"#SBATCH --{line}\n" in script
    with pytest.raises(InputError, match=r"SLURM gives whole GPUs, but gpus_per_run = 0\.5"):
        executor_named("slurm", JOB, gpus_per_run=0.5)
    with pytest.raises(InputError, match=r"time=\.\.\. is a number of minutes, like time=480; got '8:00:00'"):
        executor_named("slurm", JOB, slurm=("time=8:00:00",))
