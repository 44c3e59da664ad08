"""Jobs for the executors' tests: small, and without torch."""

import os
import signal
import sys
import time
from pathlib import Path

from fairground.errors import DataError


def double(argument, tell):
    print("what a job prints must not disturb the replies")
    for epoch in range(argument.get("epochs", 0)):
        tell({"run": argument["n"], "epoch": epoch + 1, "of": argument["epochs"]})
    return {"doubled": 2 * argument["n"], "process": os.getpid()}


def fail(argument, tell):
    if argument["how"] == "refusal":
        raise DataError("the split is empty")
    if argument["how"] == "exit":
        sys.exit(3)
    raise ValueError("a bug")


def die_until_resumed(argument, tell):
    """Count attempts in a file, as a run would by its checkpoint, and die by SIGKILL until the wanted one."""
    marks = Path(argument["folder"]) / f"{argument['n']}.attempts"
    attempt = int(marks.read_text()) + 1 if marks.exists() else 1
    marks.write_text(str(attempt))
    if attempt < argument["succeeds_at"]:
        print("about to be killed", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    return {"attempt": attempt}


def wait(argument, tell):
    """Say that it began, wait, and leave a checkpoint when interrupted."""
    folder = Path(argument["folder"])
    try:
        (folder / f"{argument['n']}.began").write_text(str(os.getpid()))
        tell({"run": argument["n"], "epoch": 0})
        end = time.monotonic() + argument.get("seconds", 600)
        while time.monotonic() < end:
            time.sleep(argument.get("nap", 600) if argument.get("seconds", 600) == 600 else 0.05)
    except KeyboardInterrupt:
        time.sleep(0.05)  # long enough for a second interrupt to do harm, if there were one
        (folder / f"{argument['n']}.checkpoint").write_text("resumable")
        raise
    return {}


def stubborn(argument, tell):
    """Ignore interrupts, as a long call into C would."""
    (Path(argument["folder"]) / "stubborn.began").write_text(str(os.getpid()))
    end = time.monotonic() + 600
    while time.monotonic() < end:
        try:
            time.sleep(600)
        except KeyboardInterrupt:
            continue
    return {}


def own_gpu(argument, tell):
    """Wait for the others, so that each has a worker of its own; return which GPU it sees and the device asked for."""
    folder = Path(argument["folder"])
    (folder / f"{argument['n']}.began").write_text("")
    end = time.monotonic() + 600
    while len(list(folder.glob("*.began"))) < argument["at_once"] and time.monotonic() < end:
        time.sleep(0.01)
    return os.environ.get("CUDA_VISIBLE_DEVICES"), argument["device"]


def threads(argument, tell):
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
    return {name: os.environ.get(name) for name in names}


def slow_run(argument, tell):
    """Train, but slowly, so that a test has time to pull a plug."""
    from fairground.training.run import run_job

    def told(event):
        tell(event)
        time.sleep(0.4 if event["kind"] == "epoch" else 0)

    return run_job(argument, told)
