"""Runs jobs through SLURM, each as a job of its own; all machines need a run directory that they share.

submitit writes the batch scripts, into the folder `slurm` of the run directory, with logs and pickled outcomes. A job
that is preempted or out of time is queued again by itself; one that is lost is submitted again by the driver.
"""

import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import submitit
from submitit.core.utils import DelayedSubmission, FailedJobError, UncompletedJobError
from submitit.local.local import LOCAL_REQUEUE_RETURN_CODE

from fairground.records.provenance import code_version
from fairground.spec import ClusterError, parse_overrides, require
from fairground.studies.executors.executor import Order, Outcome
from fairground.studies.executors.retries import WorkerExecutor, perform_on_node

#: how often a job may be queued again: a run is longer than many queues allow
MOST_TIMES = 1000


class SlurmExecutor(WorkerExecutor):
    """Up to `workers` jobs in the queue, each with `threads` processors and `gpus_per_run` GPUs.

    `slurm` are settings of sbatch, such as partition=gpu and time=480, in minutes. Other clusters that submitit knows,
    `local` and `debug`, are for tests.
    """

    def __init__(
        self, job: str, *, gpus_per_run: float = 0, slurm: Sequence[str] = (), cluster: str = "slurm", **settings: Any
    ) -> None:
        super().__init__(job, **settings)
        require(float(gpus_per_run).is_integer(), f"SLURM gives whole GPUs, but gpus_per_run = {gpus_per_run:g}")
        is_there = cluster != "slurm" or shutil.which("srun") is not None
        require(is_there, "the executor slurm needs srun and sbatch: start it on a machine of the cluster")
        asked: dict[str, Any] = parse_overrides(slurm)
        minutes = asked.pop("time", 24 * 60)
        require(isinstance(minutes, int), f"slurm time=... is a number of minutes, like time=480; got {minutes!r}")
        self._cluster = cluster
        self._parameters = {
            "name": "fairground",
            "timeout_min": minutes,
            "cpus_per_task": self._threads,
            "gpus_per_node": int(gpus_per_run) or None,
            "slurm_additional_parameters": asked,
        }

    def close(self) -> None:
        """Take the jobs out of the queue; runs under way keep their last checkpoint."""
        super().close()
        for job in self._running:
            job.cancel(check=False)
        self._running.clear()

    def _begin(self, order: Order) -> "submitit.Job[Outcome]":
        folder = Path(order.argument.get("home", ".")) / "slurm"
        # A folder for each home: what is asked of an executor may be in several.
        queue = submitit.AutoExecutor(folder, cluster=self._cluster, slurm_max_num_timeout=MOST_TIMES)
        queue.update_parameters(**self._parameters)
        try:
            return queue.submit(_Work(order, self._threads, code_version()))
        except FailedJobError as error:
            reason = str(error).strip().splitlines()[-1][:300]
            raise ClusterError(f"SLURM does not take the job: {reason}") from error

    def _wait(self) -> "tuple[submitit.Job[Outcome], Outcome | str]":
        while True:
            for job in self._running:
                if job.done():
                    try:
                        return job, job.result()
                    except (FailedJobError, UncompletedJobError) as error:
                        return job, f"SLURM's job {job.job_id} was lost ({str(error).strip().splitlines()[-1][:200]})"
            time.sleep(0.5)


@dataclass
class _Work:
    order: Order
    threads: int
    version: str
    is_queued_again: bool = False

    def __call__(self) -> Outcome:
        outcome = perform_on_node(self.order, self.threads, self.version, lambda _: None)
        if self.is_queued_again:
            # What ended the run is not its outcome. SLURM knows already; submitit's local executor reads the code.
            sys.exit(LOCAL_REQUEUE_RETURN_CODE)
        return outcome

    def checkpoint(self) -> DelayedSubmission:
        """Return what is to be queued again; submitit calls this where SLURM needs the machine."""
        self.is_queued_again = True
        return DelayedSubmission(replace(self, is_queued_again=False))
