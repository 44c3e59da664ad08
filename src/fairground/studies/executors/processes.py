"""Runs jobs in worker processes on this machine, which are kept between jobs: importing torch takes seconds.

The worker's end is `serve`. Closing its input is the only order it takes: idle, it leaves; at work, its job is
interrupted as by Ctrl-C. A driver that is killed closes it too, so that no worker is ever left behind.
"""

import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from multiprocessing.connection import Connection, Pipe, wait
from pathlib import Path
from typing import Any

from fairground.errors import require
from fairground.studies.executors.executor import Order, Outcome, environment_of, perform
from fairground.studies.executors.retries import WorkerExecutor


class ProcessExecutor(WorkerExecutor):
    """Workers are processes of this machine. GPUs are dealt out in turn; `gpus_per_run` limits how many run at once."""

    def __init__(self, job: str, *, gpus_per_run: float | None = None, **settings: Any) -> None:
        super().__init__(job, **settings)
        self._idle: list[_Worker] = []
        self._gpus = visible_gpus() if self._device in ("auto", "cuda") else []
        if gpus_per_run:
            n, size = max(1, int(1 / gpus_per_run)), max(1, int(gpus_per_run))
            groups = [self._gpus[begin : begin + size] for begin in range(0, len(self._gpus) - size + 1, size)]
            here = f"this machine has {len(self._gpus)} GPUs that --device allows"
            require(len(groups) > 0, f"gpus_per_run = {gpus_per_run:g}, but {here}")
            self._gpus = [",".join(group) for group in groups]
            self.capacity = min(self.capacity, n * len(groups))

    def close(self) -> None:
        super().close()
        workers: list[_Worker] = [*self._running, *self._idle]
        for worker in workers:
            worker.end()
        deadline = time.monotonic() + self._grace
        try:
            with suppress(subprocess.TimeoutExpired):
                for worker in workers:
                    worker.process.wait(max(0.0, deadline - time.monotonic()))
        finally:
            # Also after a second Ctrl-C: a user who asks twice does not want to wait.
            for worker in workers:
                worker.process.kill()
                worker.cleanup()
            self._running, self._idle = {}, []

    def _begin(self, order: Order) -> "_Worker":
        workers: list[_Worker] = [*self._running, *self._idle]
        used = [worker.gpu for worker in workers]
        worker = self._idle.pop() if self._idle else _Worker(self._threads, min(self._gpus, key=used.count, default=""))
        # A worker that died meanwhile is noticed when its reply is read.
        with suppress(OSError):
            worker.orders.send(order)
        return worker

    def _wait(self) -> "tuple[_Worker, Outcome | str]":
        while True:
            for worker in wait(list(self._running)):
                assert isinstance(worker, _Worker)
                try:
                    message = worker.replies.recv()
                except (OSError, EOFError):
                    return worker, worker.cleanup()
                if isinstance(message, Outcome):
                    self._idle.append(worker)
                    return worker, message
                self._watch(message)


def visible_gpus() -> list[str]:
    """Return the NVIDIA GPUs that runs may use, as CUDA_VISIBLE_DEVICES names them."""
    said = os.environ.get("CUDA_VISIBLE_DEVICES")
    if said is not None:
        return [one.strip() for one in said.split(",") if one.strip() not in ("", "-1")]
    found = Path("/proc/driver/nvidia/gpus")
    return [str(number) for number in range(len(list(found.iterdir())))] if found.is_dir() else []


class _Worker:
    def __init__(self, threads: int, gpu: str = "") -> None:
        self.gpu = gpu
        # Kept in a file: a pipe that is not read would fill up and stop the worker.
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `cleanup`
        # What the driver can import the worker can: a job may be beside the script that names it.
        path = os.pathsep.join(entry or str(Path.cwd()) for entry in sys.path)
        # These pipes pickle what they carry, between these two processes alone.
        own_gpu = {"CUDA_VISIBLE_DEVICES": gpu} if gpu else {}
        orders, self.orders = Pipe(duplex=False)
        self.replies, replies = Pipe(duplex=False)
        with orders, replies:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "fairground.studies.executors.processes"],
                stdin=orders.fileno(),
                stdout=replies.fileno(),
                stderr=self._errors,
                env=os.environ | environment_of(threads) | {"PYTHONPATH": path} | own_gpu,
                # In a session of its own: Ctrl-C is for the driver, which then stops its workers in order.
                start_new_session=True,
            )

    def fileno(self) -> int:
        return self.replies.fileno()

    def end(self) -> None:
        self.orders.close()
        self.replies.close()

    def cleanup(self) -> str:
        """Wait for the process, release what it held, and return how it ended."""
        self.end()
        code = self.process.wait()
        self._errors.seek(max(0, self._errors.seek(0, os.SEEK_END) - 2000))
        last_line = self._errors.read().decode(errors="replace").strip().splitlines()[-1:]
        self._errors.close()
        manner = f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        return "; ".join([manner, *last_line])


def serve() -> None:
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
            outcome = perform(order, lambda event: _reply(replies, event))
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


if __name__ == "__main__":
    serve()
