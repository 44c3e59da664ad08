"""Runs jobs in worker processes on this machine, each limited to its own number of threads.

Workers are kept between jobs, because importing torch takes seconds. A worker that dies (kill -9, out of memory) loses
nothing: its job is given to a new one and resumes from its own checkpoint.

The worker's end is `serve`. Closing its input is the only order it takes: idle, it leaves; at work, its job is
interrupted as by Ctrl-C. A driver that is killed closes the input too, so that no worker is ever left behind.
"""

import os
import pickle
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any

from fairground.errors import require
from fairground.studies.executors.executor import Argument, Executor, Outcome, Watch, environment_of, perform


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
        self._outbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
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
        orders, self._orders = Pipe(duplex=False)
        self._replies, replies = Pipe(duplex=False)
        with orders, replies:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "fairground.studies.executors.processes"],
                stdin=orders.fileno(),
                stdout=replies.fileno(),
                stderr=self._errors,
                env=os.environ | environment_of(threads) | {"PYTHONPATH": path},
                # In a session of its own: Ctrl-C is for the driver, which then stops its workers in order.
                start_new_session=True,
            )

    def ask(self, order: tuple[str, str, Argument], on_event: Callable[[Any], None]) -> Outcome | None:
        """Return the outcome of a job, passing on its events; None when the worker died or was stopped."""
        try:
            self._orders.send(order)
            while not isinstance(message := self._replies.recv(), Outcome):
                on_event(message)
        except (OSError, EOFError):  # the pipe broke, or was closed by `end`
            return None
        return message

    def end(self) -> None:
        self._orders.close()

    def kill(self) -> None:
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


def serve() -> None:
    """Perform the jobs that come through the input and send back events and outcomes, until the input ends."""
    # Set even if inherited as ignored, as in the background: jobs here must be interruptible all the same.
    signal.signal(signal.SIGINT, _interrupt)
    replies = Connection(os.dup(1), readable=False)
    # What a job prints must not end up between the replies.
    os.dup2(2, 1)
    orders: queue.SimpleQueue[Any] = queue.SimpleQueue()
    busy = threading.Event()
    threading.Thread(target=_listen, args=(orders, busy), daemon=True).start()
    try:
        while (order := orders.get()) is not None:
            busy.set()
            job_id, job, argument = order
            outcome = perform(job_id, job, argument, lambda event: _reply(replies, event))
            busy.clear()
            _reply(replies, outcome)
    except KeyboardInterrupt:
        return


def _listen(orders: "queue.SimpleQueue[Any]", busy: threading.Event) -> None:
    connection = Connection(os.dup(0), writable=False)
    try:
        while True:
            orders.put(connection.recv())
    except EOFError:
        orders.put(None)
    if busy.is_set():
        # A true signal also wakes a sleeping system call, which `interrupt_main` would wait for.
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


def _interrupt(*_: object) -> None:
    """Interrupt the job once: a second time would hit it while it leaves its checkpoint."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise KeyboardInterrupt


def _reply(replies: Connection, message: object) -> None:
    try:
        replies.send(message)
    except OSError:
        # The driver is gone: the run is wanted later, so that it must stop as if interrupted, not as if it failed.
        is_first = signal.getsignal(signal.SIGINT) is not signal.SIG_IGN
        if is_first and threading.current_thread() is threading.main_thread():
            _interrupt()
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        if isinstance(message, Outcome):
            replies.send(Outcome(job_id=message.job_id, failure=f"the result of the job cannot be sent: {error}"))


if __name__ == "__main__":
    serve()
