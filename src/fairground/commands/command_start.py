"""When the command began: the start of its process, before anything was imported.

A time limit holds for what its user waits for. Python and its libraries take seconds of that on a busy machine.
"""

import os
import time
from pathlib import Path

#: seconds; a process older than this did something else before
LONGEST_START = 60.0
_BEGUN: list[float] = []


def note_start() -> None:
    """Note that this process is the command; without it, or in one long at work, a command begins when it is called."""
    age = process_age()
    _BEGUN[:] = [time.monotonic() - age] if age < LONGEST_START else []


def command_start() -> float:
    """Return when the command began, on the clock of `time.monotonic`."""
    return _BEGUN[0] if _BEGUN else time.monotonic()


def process_age() -> float:
    """Return how many seconds ago this process began, 0 where the system does not say."""
    try:
        # The name of the program stands in brackets and may have spaces; the start is the 20th number after it.
        after = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
        up = float(Path("/proc/uptime").read_text().split()[0])
        return max(0.0, up - int(after[19]) / os.sysconf("SC_CLK_TCK"))
    except (OSError, ValueError, IndexError):
        return 0.0
