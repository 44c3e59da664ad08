"""Runs jobs on a Ray cluster that `ray start` has started; all its machines need a run directory that they share.

A job whose worker or node is lost is tried again elsewhere, from its own checkpoint. When no node is left that could
run a job, the driver waits for `node_wait` seconds and then ends with a ClusterError.
"""

import os
import time
from collections import deque
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import ray
from ray.util.queue import Queue
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from fairground.errors import ClusterError, InputError, StoreError, require
from fairground.records.provenance import code_version
from fairground.studies.executors.executor import Argument, Executor, Outcome, Watch, environment_of, perform

#: the same, for those of its functions that have no types
_ray: Any = ray
#: seconds to wait for a node when none is left
NODE_WAIT = 300.0


class RayExecutor(Executor):
    """Up to `workers` jobs at once, each with `threads` processors and `gpus` accelerators, a part of one if below 1.

    `address` is that of the cluster; without one, it is the cluster this machine belongs to. The other settings are
    those of `ProcessExecutor`.
    """

    def __init__(
        self,
        job: str,
        *,
        workers: int = 2,
        threads: int = 1,
        gpus: float = 0.0,
        address: str | None = None,
        retries: int = 2,
        grace: float = 20.0,
        node_wait: float = NODE_WAIT,
        watch: Watch | None = None,
    ) -> None:
        super().__init__(job, threads=threads, watch=watch)
        require(workers >= 1, f"workers must be at least 1; got {workers}")
        require(retries >= 0, f"retries must be at least 0; got {retries}")
        require(gpus >= 0, f"gpus must be 0 or more; got {gpus}")
        require(node_wait >= 0, f"node_wait must be 0 seconds or more; got {node_wait}")
        self.capacity, self._retries, self._grace = workers, retries, grace
        self._gpus, self._node_wait = gpus, node_wait
        self._is_ours = not ray.is_initialized()
        if self._is_ours:
            _join(address or "auto")
        nodes = _live_nodes()
        most = {kind: max((node.get(kind, 0) for node in nodes), default=0) for kind in ("CPU", "GPU")}
        require(
            self._has_room(nodes),
            f"no node of the cluster has room for a worker of {threads} processors and {gpus:g} accelerators: the most "
            f"on one node are {most['CPU']:g} and {most['GPU']:g}",
        )
        self._task: Any = ray.remote(num_cpus=threads, num_gpus=gpus, max_retries=0)(_perform)
        # On the driver's own node: any other may be lost, and the events with it.
        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
        self._events = Queue(actor_options={"num_cpus": 0, "scheduling_strategy": here})
        self._waiting: deque[tuple[str, Argument, int]] = deque()
        self._running: dict[Any, tuple[str, Argument, int]] = {}
        self._had_room = time.monotonic()

    def close(self) -> None:
        """Interrupt the jobs under way and leave the cluster, which stays up."""
        super().close()
        self._waiting.clear()
        running = list(self._running)
        self._running.clear()
        try:
            for reference in running:
                ray.cancel(reference)
            if running:
                ray.wait(running, num_returns=len(running), timeout=self._grace)
        finally:
            with suppress(ray.exceptions.RayError):
                for reference in running:
                    ray.cancel(reference, force=True)
                self._events.shutdown(force=True)
            if self._is_ours:
                ray.shutdown()

    def _start(self, job_id: str, argument: Argument) -> None:
        self._waiting.append((job_id, argument, 1))
        self._launch()

    def _launch(self) -> None:
        while self._waiting and len(self._running) < self.capacity:
            job_id, argument, attempt = self._waiting.popleft()
            order = (job_id, self.job, argument)
            reference = self._task.remote(order, self._threads, code_version(), self._events)
            self._running[reference] = (job_id, argument, attempt)

    def _next(self) -> Outcome:
        while True:
            self._launch()
            done, _ = ray.wait(list(self._running), timeout=0.2)
            for event in self._events.get_nowait_batch(self._events.qsize()):
                self._watch(event)
            if not done:
                self._require_room()
                continue
            job_id, argument, attempt = self._running.pop(done[0])
            try:
                outcome: Outcome = ray.get(done[0])
                return replace(outcome, attempts=attempt)
            except ray.exceptions.RayError as error:
                cause = f"the Ray worker or its node was lost ({str(error).strip().splitlines()[0][:200]})"
            self._watch({"kind": "worker_died", "worker_died": cause, "attempt": attempt, "run": job_id})
            if attempt > self._retries:
                complaint = f"the worker process died {attempt} times over this job, last: {cause}"
                return Outcome(job_id=job_id, failure=complaint, attempts=attempt)
            self._waiting.appendleft((job_id, argument, attempt + 1))

    def _require_room(self) -> None:
        """Wait as long as the cluster is full, and `node_wait` seconds where it has no node for us."""
        now = time.monotonic()
        if self._has_room(_live_nodes()):
            self._had_room = now
        require(
            now - self._had_room <= self._node_wait,
            f"no node of the cluster has had room for a worker of {self._threads} processors and {self._gpus:g} "
            f"accelerators for {self._node_wait:g} seconds (--node-wait). Checkpoints and records are safe: "
            "start a node and run the same command again",
            ClusterError,
        )

    def _has_room(self, nodes: list[dict[str, Any]]) -> bool:
        return any(node.get("CPU", 0) >= self._threads and node.get("GPU", 0) >= self._gpus for node in nodes)


def _perform(order: tuple[str, str, Argument], threads: int, version: str, events: Queue) -> Outcome:
    job_id, job, argument = order
    home = argument.get("home")
    try:
        require(
            version == code_version(),
            f"a node of the cluster has fairground {code_version()}, the driver {version}: install the same on all",
            StoreError,
        )
        require(
            home is None or Path(home).is_dir(),
            f"{home} is not on every node of the cluster: several machines need a --home they share",
            StoreError,
        )
    except StoreError as error:
        return Outcome(job_id=job_id, failure=str(error), is_store_failure=True)
    os.environ.update(environment_of(threads))
    return perform(job_id, job, argument, events.put, threads=threads)


def _join(address: str) -> None:
    require(
        "://" not in address,
        f"a cluster's address is host:port or auto; got '{address}'. Join it on this machine with "
        "`ray start --address=host:port`, then say --address auto",
    )
    try:
        ray.init(address=address, configure_logging=False, log_to_driver=False)
    except (ConnectionError, RuntimeError, ValueError) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise InputError(f"no Ray cluster answers at {address}: {reason} (`ray start --head` starts one)") from error


def _live_nodes() -> list[dict[str, Any]]:
    return [node["Resources"] for node in _ray.nodes() if node["Alive"]]
