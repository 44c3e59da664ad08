"""Runs jobs on a Ray cluster that `ray start` has started; all its machines need a run directory that they share.

A job whose node is lost is tried again elsewhere; where none is left, the driver waits for one.
"""

from contextlib import suppress
from typing import Any

import ray
from ray.util.queue import Queue
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from fairground.records import InputError, code_version, require
from fairground.studies.executors.executor import Order, Outcome
from fairground.studies.executors.retries import WorkerExecutor, perform_on_node

#: the same, for those of its functions that have no types
_ray: Any = ray


class RayExecutor(WorkerExecutor):
    """Workers are tasks of the cluster at `address`, or of this machine's, each with processors and GPUs of its own."""

    def __init__(self, job: str, *, gpus_per_run: float = 0.0, address: str | None = None, **settings: Any) -> None:
        super().__init__(job, **settings)
        require(gpus_per_run >= 0, f"gpus_per_run must be 0 or more; got {gpus_per_run}")
        self._is_ours = not ray.is_initialized()
        if self._is_ours:
            _join(address or "auto")
        nodes = _live_nodes()
        most = {kind: max((node.get(kind, 0) for node in nodes), default=0) for kind in ("CPU", "GPU")}
        wanted = f"room for a worker of {self._threads} processors and {gpus_per_run:g} GPUs"
        there = f"the most on one node are {most['CPU']:g} and {most['GPU']:g}"
        has_room = any(one.get("CPU", 0) >= self._threads and one.get("GPU", 0) >= gpus_per_run for one in nodes)
        require(has_room, f"no node of the cluster has {wanted}: {there}")
        if most["GPU"] and not gpus_per_run and self._device == "auto":
            # Ray gives such tasks no GPU of their own: they would all take the first one.
            self._device = "cpu"
            self._watch({"kind": "note", "note": "the cluster's GPUs stay idle: --gpus-per-run 1 gives each run one"})
        self._task: Any = ray.remote(num_cpus=self._threads, num_gpus=gpus_per_run, max_retries=0)(_perform)
        # On the driver's own node: any other may be lost, and the events with it.
        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
        self._events = Queue(actor_options={"num_cpus": 0, "scheduling_strategy": here})

    def close(self) -> None:
        super().close()
        late = running = list(self._running)
        self._running.clear()
        try:
            for reference in running:
                ray.cancel(reference)
            if running:
                _, late = ray.wait(running, num_returns=len(running), timeout=self._grace)
        finally:
            with suppress(ray.exceptions.RayError):
                # Ray aborts the driver if a task that is just ending is cancelled by force.
                for reference in late:
                    ray.cancel(reference, force=True)
                self._events.shutdown(force=True)
            if self._is_ours:
                ray.shutdown()

    def _begin(self, order: Order) -> Any:
        return self._task.remote(order, self._threads, code_version(), self._events)

    def _wait(self) -> tuple[Any, Outcome | str]:
        while True:
            done, _ = ray.wait(list(self._running), timeout=0.2)
            for event in self._events.get_nowait_batch(self._events.qsize()):
                self._watch(event)
            if not done:
                continue
            try:
                return done[0], ray.get(done[0])
            except ray.exceptions.RayError as error:
                reason = str(error).strip().splitlines()[0][:200]
                return done[0], f"the Ray worker or its node was lost ({reason})"


def _perform(order: Order, threads: int, version: str, events: Queue) -> Outcome:
    return perform_on_node(order, threads, version, events.put)


def _join(address: str) -> None:
    advice = "Join it on this machine with `ray start --address=host:port`, then say --address auto"
    require("://" not in address, f"a cluster's address is host:port or auto; got '{address}'. {advice}")
    try:
        ray.init(address=address, configure_logging=False, log_to_driver=False)
    except (ConnectionError, RuntimeError, ValueError) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise InputError(f"no Ray cluster answers at {address}: {reason} (`ray start --head` starts one)") from error


def _live_nodes() -> list[dict[str, Any]]:
    return [node["Resources"] for node in _ray.nodes() if node["Alive"]]
