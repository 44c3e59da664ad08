"""Executors whose jobs run in workers that may die: a thread looks after each worker, and a shared line holds the jobs.

A worker is spawned before a job is taken from the line, so that a job never waits for a place that may not come while
another worker is free. A job whose worker died goes back to the head of the line.
"""

import threading
import time
from abc import abstractmethod
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, NamedTuple, Protocol

from fairground.errors import ClusterError, require
from fairground.studies.executors.executor import Executor, Outcome, Plain, Watch


class Worker(Protocol):
    """Something that carries out one job at a time; `end` and `kill` may come from another thread."""

    def ask(self, job: str, argument: Plain, on_event: Callable[[Plain], None]) -> dict[str, Any] | None:
        """Return the reply, passing on what the job tells; None when the worker died or was stopped."""

    def end(self) -> None:
        """Interrupt the job under way; idle, leave."""

    def kill(self) -> None:
        """End at once."""

    def cleanup(self) -> str:
        """Release what is left and return how it ended."""


class SupervisedExecutor(Executor):
    """Keeps up to `capacity` workers at work and replaces those that die.

    A job whose worker died is tried again up to `retries` times, an exception in a job never. On closing, jobs under
    way have `grace` seconds to leave a resumable run before they are killed.
    """

    def __init__(self, job: str, *, workers: int, retries: int, grace: float, watch: Watch | None) -> None:
        super().__init__(job, watch=watch)
        require(workers >= 1, f"workers must be at least 1; got {workers}")
        require(retries >= 0, f"retries must be at least 0; got {retries}")
        self.capacity = workers
        self._retries, self._grace = retries, grace
        self._line = _Line()
        self._outbox: SimpleQueue[Outcome | Plain | ClusterError] = SimpleQueue()
        self._supervisors: list[_Supervisor] = []

    @abstractmethod
    def _spawn(self, is_stopping: threading.Event) -> Worker | None:
        """Return a worker that is ready; None if told to stop meanwhile; OSError when it cannot be started.

        ClusterError when no machine is left: it ends the waiting for outcomes, and no job counts as tried.
        """

    def close(self) -> None:
        """Interrupt the jobs under way, give them their grace, and end every worker."""
        super().close()
        supervisors, self._supervisors = self._supervisors, []
        for supervisor in supervisors:
            supervisor.is_stopping.set()
        self._line.close()
        try:
            _wait(supervisors, self._grace)
        finally:
            # Also after a second Ctrl-C: whoever asks twice does not want to wait.
            for supervisor in supervisors:
                supervisor.kill()
        for supervisor in supervisors:
            supervisor.join()
        # A later `submit` starts afresh, without what was waiting when the executor was closed.
        self._line, self._outbox = _Line(), SimpleQueue()

    def _start(self, argument: Plain) -> None:
        self._line.put(_Try(argument, 1))
        if len(self._supervisors) < min(self.capacity, len(self._outstanding)):
            supervisor = _Supervisor(self.job, self._spawn, self._line, self._outbox, attempts=self._retries + 1)
            self._supervisors.append(supervisor)
            supervisor.start()

    def _next(self) -> Outcome:
        while True:
            item = self._outbox.get()
            if isinstance(item, ClusterError):
                raise item
            if isinstance(item, Outcome):
                return item
            if self._watch is not None:
                self._watch(item)


class _Try(NamedTuple):
    """A job on its way, and the how-manieth attempt at it this is."""

    argument: Plain
    attempt: int


class _Line:
    """Jobs in order; one that was begun and lost goes to the head."""

    def __init__(self) -> None:
        self._jobs: deque[_Try] = deque()
        self._is_closed = False
        self._changed = threading.Condition()

    def put(self, job: _Try, *, first: bool = False) -> None:
        with self._changed:
            (self._jobs.appendleft if first else self._jobs.append)(job)
            self._changed.notify()

    def take(self) -> _Try | None:
        """Wait for a job; None once the line is closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._jobs or self._is_closed)
            return None if self._is_closed else self._jobs.popleft()

    def close(self) -> None:
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()


class _Supervisor(threading.Thread):
    """Looks after one worker: hands it jobs, replaces it when it dies, carries back what it says.

    A thread for each worker keeps every worker busy even while the caller is busy with an outcome.
    """

    def __init__(
        self,
        job: str,
        spawn: Callable[[threading.Event], Worker | None],
        line: _Line,
        outbox: "SimpleQueue[Outcome | Plain | ClusterError]",
        *,
        attempts: int,
    ) -> None:
        # A daemon, so that a driver that forgets to close still ends; its workers then see their input end.
        super().__init__(daemon=True)
        self.is_stopping = threading.Event()
        self._job, self._spawn, self._line, self._outbox = job, spawn, line, outbox
        self._attempts = attempts
        self._worker: Worker | None = None

    def run(self) -> None:
        """Carry out jobs until the line is closed."""
        while not self.is_stopping.is_set():
            try:
                failure = self._make_ready()
            except ClusterError as error:
                self._outbox.put(error)
                break
            job = self._line.take()
            if job is None:
                break
            self._carry_out(job, failure)
        if self._worker is not None:
            self._worker.cleanup()

    def interrupt(self) -> None:
        """Interrupt the job under way."""
        if self._worker is not None:
            self._worker.end()

    def kill(self) -> None:
        """End the worker now."""
        if self._worker is not None:
            self._worker.kill()

    def _make_ready(self) -> str:
        """Have a worker; return why there is none, or nothing."""
        try:
            self._worker = self._worker or self._spawn(self.is_stopping)
        except OSError as error:
            return f"it could not be started ({error})"
        return ""

    def _carry_out(self, job: _Try, cause: str) -> None:
        if self._worker is not None:
            reply = self._worker.ask(self._job, job.argument, self._outbox.put)
            if reply is not None:
                self._outbox.put(Outcome.from_reply(job.argument, reply, attempts=job.attempt))
                return
            cause = self._worker.cleanup()
            self._worker = None
        if self.is_stopping.is_set():
            return
        self._outbox.put(
            {"kind": "worker_died", "worker_died": cause, "attempt": job.attempt, "argument": dict(job.argument)}
        )
        if job.attempt < self._attempts:
            self._line.put(job._replace(attempt=job.attempt + 1), first=True)
            return
        complaint = f"the worker process died {self._attempts} times over this job, last: {cause}"
        self._outbox.put(Outcome(argument=job.argument, result=None, failure=complaint, attempts=self._attempts))


def _wait(supervisors: list[_Supervisor], grace: float) -> None:
    deadline = time.monotonic() + grace
    while (left := [supervisor for supervisor in supervisors if supervisor.is_alive()]) and time.monotonic() < deadline:
        for supervisor in left:
            # Every time round: a supervisor may have started its worker after the first.
            supervisor.interrupt()
        left[0].join(0.02)
