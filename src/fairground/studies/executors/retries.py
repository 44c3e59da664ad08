"""Jobs whose workers may die or be elsewhere: how often a job is tried again, what the user hears of it."""

import os
from abc import abstractmethod
from pathlib import Path
from typing import Any

from fairground.records import code_version
from fairground.studies.executors.executor import Executor, Order, Outcome, Watch, environment_of, perform


class WorkerExecutor(Executor):
    """Up to `workers` jobs at once, each with a worker of `threads` threads that may be lost.

    A job whose worker was lost is tried again up to `retries` times, from its own checkpoint; an exception in a job is
    final. On closing, jobs under way have `grace` seconds to leave a resumable run before they are killed.
    """

    def __init__(self, job: str, *, workers: int = 2, retries: int = 2, grace: float = 20.0, **settings: Any) -> None:
        super().__init__(job, **settings)
        self.capacity, self._retries, self._grace = workers, retries, grace
        self._running: dict[Any, Order] = {}

    def _launch(self) -> None:
        while self._waiting and len(self._running) < self.capacity:
            order = self._waiting.popleft()
            self._running[self._begin(order)] = order

    def _next(self) -> Outcome:
        while True:
            worker, end = self._wait()
            order = self._running.pop(worker)
            is_tried_again = isinstance(end, str) and order.attempt <= self._retries
            if is_tried_again:
                self._waiting.appendleft(order._replace(attempt=order.attempt + 1))
            # At once: the caller may be busy with this outcome for a while.
            self._launch()
            if isinstance(end, Outcome):
                return end._replace(attempts=order.attempt)
            then = "the next free worker continues its run" if is_tried_again else "its run is given up"
            told = {"kind": "worker_died", "worker_died": end, "attempt": order.attempt, "run": order.job_id}
            self._watch({**told, "note": f"a worker died ({end}); {then}"})
            if not is_tried_again:
                complaint = f"the worker process died {order.attempt} times over this job, last: {end}"
                return Outcome(job_id=order.job_id, failure=complaint, attempts=order.attempt)

    @abstractmethod
    def _begin(self, order: Order) -> Any:
        """Return what now carries out the order."""

    @abstractmethod
    def _wait(self) -> tuple[Any, Outcome | str]:
        """Wait for the end of a job that runs: return what carried it out, and the outcome or how that was lost."""


def perform_on_node(order: Order, threads: int, version: str, tell: Watch) -> Outcome:
    """Perform a job on a machine of a cluster, if it has the driver's version and run directory."""
    home, here, failure = order.argument.get("home"), code_version(), ""
    if version != here:
        failure = f"a node of the cluster has fairground {here}, the driver {version}: install the same on all"
    elif home is not None and not Path(home).is_dir():
        failure = f"{home} is not on every node of the cluster: several machines need a --home they share"
    if failure:
        return Outcome(job_id=order.job_id, failure=failure, is_store_failure=True)
    os.environ.update(environment_of(threads))
    return perform(order, tell, threads=threads)
