"""The driver's end of one worker process: start it with its threads pinned, ask it, tell how it died."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fairground.studies.executors.executor import Plain
from fairground.studies.executors.threads import environment_of


class LocalWorker:
    """One process, started at once; `ask` is called from one thread, `end` and `kill` from any."""

    def __init__(self, *, threads: int) -> None:
        # Kept in a file: a pipe nobody reads would fill up and stop the worker.
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `cleanup`
        self._process = subprocess.Popen(
            [sys.executable, "-m", "fairground.studies.executors.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=_environment(threads),
            # In a session of its own: Ctrl-C is for the driver, which then stops its workers in order.
            start_new_session=True,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._orders, self._replies = self._process.stdin, self._process.stdout

    def ask(self, job: str, argument: Plain, on_event: Callable[[Plain], None]) -> dict[str, Any] | None:
        """Return the worker's reply, passing on what the job tells; None when the worker died or was stopped."""
        order = json.dumps({"job": job, "argument": dict(argument)}).encode() + b"\n"
        try:
            self._orders.write(order)
            self._orders.flush()
            for line in self._replies:
                reply: dict[str, Any] = json.loads(line)
                if "event" not in reply:
                    return reply
                on_event(reply["event"])
        except (OSError, ValueError):  # the pipe broke, was closed by `end`, or the last line is torn
            return None
        return None

    def is_alive(self) -> bool:
        """Tell whether the process still runs."""
        return self._process.poll() is None

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
        last_words = self._errors.read().decode(errors="replace").strip().splitlines()[-1:]
        self._errors.close()
        return "; ".join([_manner(code), *last_words])


def _environment(threads: int) -> dict[str, str]:
    # What the driver can import the worker can: a job may live beside the script that names it.
    path = os.pathsep.join(entry or str(Path.cwd()) for entry in sys.path)
    return os.environ | environment_of(threads) | {"PYTHONPATH": path}


def _manner(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"
