"""How long tests wait for what must happen: longer than any busy machine takes, so that only a fault reaches it."""

import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

PATIENCE = 900.0


def python(*words: str, **given: Any) -> subprocess.CompletedProcess:
    """Run Python with these words; what it prints is text."""
    given = {"timeout": PATIENCE, "check": False, **given}
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, **given)  # noqa: PLW1510


def wait_for(condition: Callable[[], Any], process: subprocess.Popen | None = None) -> Any:
    """Return what the condition finds once that is something, as long as the process lives."""
    deadline = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert process is None or process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return found
