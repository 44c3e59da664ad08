"""Both ends of one worker on a Ray cluster: an actor that looks after one of our worker processes, and its driver.

The actor holds the place (processors, a whole or part of an accelerator) and carries words and files; the job itself
runs in the same kind of process as on a single machine, with its threads pinned. An actor that dies closes that
process' input, so it leaves too.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import ray

from fairground.records.provenance import code_version
from fairground.studies.executors.away_folder import away_folder
from fairground.studies.executors.executor import Plain
from fairground.studies.executors.file_transfer import Files, folders_of, pack, unpack
from fairground.studies.executors.local_worker import LocalWorker

#: seconds an actor has to tidy up; whatever it leaves is swept when the next one of its machine begins
_LEAVE_SECONDS = 5.0


class WorkerHost:
    """The actor's side. On the driver's own node it works in the driver's home, elsewhere in a folder of its own."""

    def __init__(self, threads: int, home_node: str, carry_seconds: float) -> None:
        self._threads, self._carry_seconds = threads, carry_seconds
        self._is_away = ray.get_runtime_context().get_node_id() != home_node
        self._worker: LocalWorker | None = None
        self._places = ExitStack()
        self._away: Path | None = None

    def ready(self) -> str:
        """Return the version of fairground here."""
        return code_version()

    def ask(self, job: str, argument: Plain, files: Files) -> Iterator[dict[str, Any]]:
        """Carry out a job: yield {"told"}, {"files"} and at last {"reply"} or {"died"}."""
        if self._worker is None:
            self._worker = LocalWorker(threads=self._threads)
        home = Path(argument.get("home", "."))
        if self._is_away and "home" in argument:
            home = self._away = self._away or self._places.enter_context(away_folder())
            unpack(files, home, folders_of(argument, home))
            argument = {**argument, "home": str(home)}
        known, carried = dict(files), time.monotonic()
        for message in self._messages(job, argument):
            is_due = "told" not in message or (
                message["told"].get("kind") == "epoch" and time.monotonic() - carried >= self._carry_seconds
            )
            if self._is_away and is_due and "died" not in message:
                files = pack(folders_of(argument, home), home, known=known)
                known, carried = known | files, time.monotonic()
                if files:
                    yield {"files": files}
            yield message

    def end(self) -> None:
        """Interrupt the job under way."""
        if self._worker is not None:
            self._worker.end()

    def leave(self) -> None:
        """Remove the folder of this worker: an actor is ended too abruptly to do it then."""
        self._away = None
        self._places.close()

    def _messages(self, job: str, argument: Plain) -> Iterator[dict[str, Any]]:
        worker = self._worker
        assert worker is not None
        box: SimpleQueue[dict[str, Any]] = SimpleQueue()

        def carry_out() -> None:
            reply = worker.ask(job, argument, lambda told: box.put({"told": dict(told)}))
            box.put({"died": worker.cleanup()} if reply is None else {"reply": reply})

        threading.Thread(target=carry_out, daemon=True).start()
        while True:
            message = box.get()
            if "died" in message:
                self._worker = None
            yield message
            if "told" not in message:
                return


class RayWorker:
    """The driver's side of one `WorkerHost`."""

    def __init__(self, host: Any) -> None:
        self._host = host
        self._cause = "stopped"

    def ask(self, job: str, argument: Plain, on_event: Callable[[Plain], None]) -> dict[str, Any] | None:
        """Return the worker's reply, passing on what the job tells and keeping the files it sends."""
        home = Path(argument.get("home", "."))
        folders = folders_of(argument, home)
        messages = self._host.ask.options(num_returns="streaming").remote(job, dict(argument), pack(folders, home))
        try:
            for reference in messages:
                message: dict[str, Any] = ray.get(reference)
                if "told" in message:
                    on_event(message["told"])
                elif "files" in message:
                    unpack(message["files"], home, folders)
                elif "reply" in message:
                    reply: dict[str, Any] = message["reply"]
                    return reply
                else:
                    self._cause = message["died"]
        except ray.exceptions.RayError as error:
            self._cause = f"the Ray worker or its node was lost ({str(error).strip().splitlines()[0][:200]})"
        return None

    def end(self) -> None:
        """Interrupt the job under way."""
        self._host.end.remote()

    def kill(self) -> None:
        """End the actor now; its worker process sees its input close and leaves."""
        ray.kill(self._host)

    def cleanup(self) -> str:
        """Give the place back and return how the worker ended."""
        with suppress(ray.exceptions.RayError):
            ray.get(self._host.leave.remote(), timeout=_LEAVE_SECONDS)
        self.kill()
        return self._cause
