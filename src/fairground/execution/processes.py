"""Run jobs in worker processes on this machine, each held to its own number of threads.

Workers are kept between jobs, because importing torch costs seconds. A worker that dies (kill -9, out of memory) takes
nothing with it: its job is given to a fresh one and resumes from its own checkpoint.
"""

import queue
import threading
import time

from fairground.errors import require
from fairground.execution.executor import Executor, Outcome, Plain, Watch
from fairground.execution.local_worker import LocalWorker


class ProcessExecutor(Executor):
    """`workers` processes of `threads` threads each.

    A job whose worker died is tried again up to `retries` times, an exception in a job never. On closing, jobs under
    way have `grace` seconds to leave a resumable run before they are killed.
    """

    def __init__(
        self,
        job: str,
        *,
        workers: int = 2,
        threads: int = 1,
        retries: int = 2,
        grace: float = 20.0,
        watch: Watch | None = None,
    ) -> None:
        super().__init__(job, watch=watch)
        require(workers >= 1, f"workers must be at least 1; got {workers}")
        require(threads >= 1, f"threads must be at least 1; got {threads}")
        require(retries >= 0, f"retries must be at least 0; got {retries}")
        self.capacity = workers
        self._threads, self._retries, self._grace = threads, retries, grace
        self._inbox: queue.SimpleQueue[Plain | None] = queue.SimpleQueue()
        self._outbox: queue.SimpleQueue[Outcome | Plain] = queue.SimpleQueue()
        self._attendants: list[_Attendant] = []

    def close(self) -> None:
        """Interrupt the jobs under way, give them their grace, and end every worker."""
        super().close()
        attendants, self._attendants = self._attendants, []
        for attendant in attendants:
            attendant.is_stopping.set()
        for _ in attendants:
            self._inbox.put(None)
        try:
            _wait(attendants, self._grace)
        finally:
            # Also after a second Ctrl-C: whoever asks twice does not want to wait.
            for attendant in attendants:
                attendant.kill()
        for attendant in attendants:
            attendant.join()
        # A later `submit` starts afresh, without what was waiting when the executor was closed.
        self._inbox, self._outbox = queue.SimpleQueue(), queue.SimpleQueue()

    def _start(self, argument: Plain) -> None:
        self._inbox.put(argument)
        if len(self._attendants) < min(self.capacity, len(self._outstanding)):
            attendant = _Attendant(
                self.job, self._inbox, self._outbox, threads=self._threads, attempts=self._retries + 1
            )
            self._attendants.append(attendant)
            attendant.start()

    def _next(self) -> Outcome:
        while True:
            item = self._outbox.get()
            if isinstance(item, Outcome):
                return item
            if self._watch is not None:
                self._watch(item)


class _Attendant(threading.Thread):
    """Looks after one worker: hands it jobs, replaces it when it dies, carries back what it says.

    A thread for each worker keeps every worker busy even while the caller is busy with an outcome.
    """

    def __init__(
        self,
        job: str,
        inbox: "queue.SimpleQueue[Plain | None]",
        outbox: "queue.SimpleQueue[Outcome | Plain]",
        *,
        threads: int,
        attempts: int,
    ) -> None:
        # A daemon, so that a driver that forgets to close still ends; its workers then see their input end.
        super().__init__(daemon=True)
        self.is_stopping = threading.Event()
        self._job, self._inbox, self._outbox = job, inbox, outbox
        self._threads, self._attempts = threads, attempts
        self._worker: LocalWorker | None = None

    def run(self) -> None:
        """Carry out jobs until told that there are no more, or to stop."""
        while (argument := self._inbox.get()) is not None and not self.is_stopping.is_set():
            outcome = self._carry_out(argument)
            if outcome is not None:
                self._outbox.put(outcome)
        if self._worker is not None:
            self._worker.bury()

    def interrupt(self) -> None:
        """Interrupt the job under way."""
        if self._worker is not None:
            self._worker.end()

    def kill(self) -> None:
        """End the worker now."""
        if self._worker is not None:
            self._worker.kill()

    def _carry_out(self, argument: Plain) -> Outcome | None:
        cause = ""
        for attempt in range(1, self._attempts + 1):
            try:
                self._worker = self._worker or LocalWorker(threads=self._threads)
            except OSError as error:
                cause = f"it could not be started ({error})"
                continue
            reply = self._worker.ask(self._job, argument, self._outbox.put)
            if reply is not None:
                return Outcome(
                    argument=argument,
                    result=reply.get("result"),
                    failure=reply.get("failure"),
                    details=reply.get("details", ""),
                    attempts=attempt,
                )
            cause = self._worker.bury()
            self._worker = None
            if self.is_stopping.is_set():
                return None
            self._outbox.put({"worker_died": cause, "attempt": attempt, "argument": dict(argument)})
        complaint = f"the worker process died {self._attempts} times over this job, last: {cause}"
        return Outcome(argument=argument, result=None, failure=complaint, attempts=self._attempts)


def _wait(attendants: list[_Attendant], grace: float) -> None:
    deadline = time.monotonic() + grace
    while (left := [attendant for attendant in attendants if attendant.is_alive()]) and time.monotonic() < deadline:
        for attendant in left:
            # Every time round: an attendant may have started its worker after the first.
            attendant.interrupt()
        left[0].join(0.02)
