"""Runs jobs in worker processes on this machine, each limited to its own number of threads.

Workers are kept between jobs, because importing torch takes seconds. A worker that dies (kill -9, out of memory) loses
nothing: its job is given to a new one and resumes from its own checkpoint.
"""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from fairground.errors import require
from fairground.studies.executors.executor import Argument, Executor, Outcome, Watch, environment_of
from fairground.studies.executors.worker import receive, send


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
        super().__init__(job, threads=threads, watch=watch)
        require(workers >= 1, f"workers must be at least 1; got {workers}")
        require(retries >= 0, f"retries must be at least 0; got {retries}")
        self.capacity, self._retries, self._grace = workers, retries, grace
        self._outbox: SimpleQueue[Any] = SimpleQueue()
        # One thread per worker keeps every worker busy even while the caller is busy with an outcome.
        self._drivers = ThreadPoolExecutor(workers, thread_name_prefix="fairground-worker")
        self._idle: list[_Worker] = []
        self._busy: list[_Worker] = []
        self._is_closing = False

    def close(self) -> None:
        """Interrupt the jobs under way, give them their grace, and end every worker."""
        super().close()
        self._is_closing = True
        self._drivers.shutdown(wait=False, cancel_futures=True)
        try:
            deadline = time.monotonic() + self._grace
            # Every time round: a worker may have started after the first.
            while (busy := list(self._busy)) and time.monotonic() < deadline:
                for worker in busy:
                    worker.end()
                time.sleep(0.02)
        finally:
            # Also after a second Ctrl-C: a user who asks twice does not want to wait.
            for worker in list(self._busy):
                worker.kill()
        self._drivers.shutdown()
        while self._idle:
            self._idle.pop().cleanup()

    def _start(self, job_id: str, argument: Argument) -> None:
        self._drivers.submit(self._carry_out, job_id, argument)

    def _next(self) -> Outcome:
        while not isinstance(item := self._outbox.get(), Outcome):
            self._watch(item)
        return item

    def _worker(self) -> "_Worker":
        try:
            return self._idle.pop()
        except IndexError:
            return _Worker(self._threads)

    def _carry_out(self, job_id: str, argument: Argument) -> None:
        cause = ""
        for attempt in range(1, self._retries + 2):
            if self._is_closing:
                return
            try:
                worker = self._worker()
            except OSError as error:
                cause = f"it could not be started ({error})"
            else:
                self._busy.append(worker)
                outcome = worker.ask((job_id, self.job, argument), self._outbox.put)
                if outcome is not None:
                    self._idle.append(worker)
                    self._outbox.put(replace(outcome, attempts=attempt))
                else:
                    cause = worker.cleanup()
                self._busy.remove(worker)
                if outcome is not None or self._is_closing:
                    return
            self._outbox.put({"kind": "worker_died", "worker_died": cause, "attempt": attempt, "run": job_id})
        n = self._retries + 1
        complaint = f"the worker process died {n} times over this job, last: {cause}"
        self._outbox.put(Outcome(job_id=job_id, failure=complaint, attempts=n))


class _Worker:
    """The driver's end of one worker process; `ask` is called from one thread, `end` and `kill` from any."""

    def __init__(self, threads: int) -> None:
        # Kept in a file: a pipe that is not read would fill up and stop the worker.
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `cleanup`
        # What the driver can import the worker can: a job may be beside the script that names it.
        path = os.pathsep.join(entry or str(Path.cwd()) for entry in sys.path)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "fairground.studies.executors.worker"],
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=os.environ | environment_of(threads) | {"PYTHONPATH": path},
            # In a session of its own: Ctrl-C is for the driver, which then stops its workers in order.
            start_new_session=True,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._orders, self._replies = self._process.stdin, self._process.stdout

    def ask(self, order: tuple[str, str, Argument], on_event: Callable[[Any], None]) -> Outcome | None:
        """Return the outcome of a job, passing on its events; None when the worker died or was stopped."""
        try:
            send(self._orders.fileno(), order)
            while not isinstance(message := receive(self._replies.fileno()), Outcome):
                on_event(message)
        except (OSError, ValueError, EOFError):  # the pipe broke, or was closed by `end`
            return None
        return message

    def end(self) -> None:
        """Close the worker's input: idle, it leaves; at work, its job is interrupted."""
        with contextlib.suppress(OSError):
            self._orders.close()

    def kill(self) -> None:
        """End the process now."""
        self._process.kill()

    def cleanup(self) -> str:
        """Wait for the process, release what it held, and return how it ended."""
        self.end()
        code = self._process.wait()
        self._replies.close()
        self._errors.seek(max(0, self._errors.seek(0, os.SEEK_END) - 2000))
        last_line = self._errors.read().decode(errors="replace").strip().splitlines()[-1:]
        self._errors.close()
        manner = f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        return "; ".join([manner, *last_line])
