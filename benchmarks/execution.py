"""What it costs to have runs carried out by each executor.

What a second worker brings is in `training`, beside the throughput of one.
"""

import os
import time
from collections.abc import Callable, Iterator

from benchmarks.harness import Table
from fairground.studies.executors.executor import executor_named

JOBS = 100
SECONDS = 0.05
#: a run this long is what the overhead is held against
RUN_SECONDS = 10.0


def tables() -> Iterator[Table]:
    """Yield the one table."""
    yield _overhead()


def nap(argument: dict, tell: Callable[[dict], None]) -> dict:
    """Stand in for a run: sleeps, so that only what surrounds it costs anything."""
    time.sleep(argument["seconds"])
    tell({"kind": "epoch", "run": argument["n"]})
    return {"n": argument["n"]}


def _overhead() -> Table:
    rows = []
    # A Ray of one's own: `ray start --head` before.
    for name in ("inline", "processes", *(["ray"] if os.environ.get("RAY_ADDRESS") else [])):
        begun = time.perf_counter()
        with executor_named(name, "benchmarks.execution:nap", workers=1) as executor:
            # The first job waits for the worker, to come up.
            list(executor.run({"first": {"n": -1, "seconds": 0.0}}))
            start = time.perf_counter() - begun
            begun = time.perf_counter()
            assert len(list(executor.run({str(n): {"n": n, "seconds": SECONDS} for n in range(JOBS)}))) == JOBS
            each = (time.perf_counter() - begun) / JOBS - SECONDS
        rows.append([name, f"{start:.1f}", f"{each * 1e3:.2f}", f"{each / RUN_SECONDS:.3%}"])
    return Table(
        title="Scheduling overhead",
        note=f"{JOBS} jobs that sleep {SECONDS * 1e3:.0f} ms and tell one thing, one worker; what a job takes beyond "
        f"its sleep, and what that is of a run of {RUN_SECONDS:.0f} s. Starting up is paid once.",
        header=["executor", "start-up, s", "overhead a run, ms", "of a 10-second run (goal: below 1 %)"],
        rows=rows,
    )
