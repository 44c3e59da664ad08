"""Runs tiny specs in child processes killed without warning; prints each record's digits and the doctor's findings.

Every child is a fork of one process that has torch loaded already, so that a dozen deaths cost seconds. Arguments: a
folder, and as JSON the overrides and the deaths of each scenario by name. The death ["batch", n] kills after the n-th
batch of that child, ["fsync", n] just before its n-th fsync (in the middle of writing a file), ["rename", n] just
before the n-th rename, ["after", s] after s seconds.
"""

import json
import os
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import torch

from fairground.training.run import run
from tests.training.tiny import tiny


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_at(counted: Any, n: int) -> Any:
    calls = iter(range(1, 10**9))

    def wrapper(*arguments: Any, **named: Any) -> Any:
        if next(calls) == n:
            die()
        return counted(*arguments, **named)

    return wrapper


def child(home: Path, overrides: list[str], kind: str, n: float) -> None:
    listen: Any = lambda _: None  # noqa: E731
    if kind == "batch":
        listen = die_at(listen, int(n))
    elif kind == "fsync":
        os.fsync = die_at(os.fsync, int(n))
    elif kind == "rename":
        Path.replace = die_at(Path.replace, int(n))  # type: ignore[method-assign]
    elif kind == "after":
        threading.Thread(target=lambda: (time.sleep(n), die()), daemon=True).start()
    record = run(tiny(*overrides), home=home, listen=listen, checkpoint_seconds=0.0)
    told = {"digits": json.loads(record.digits()), "findings": [finding.text for finding in record.findings]}
    (home / "told").write_text(json.dumps(told))


def attempt(home: Path, overrides: list[str], kind: str, n: float) -> bool:
    """Return whether the child lived to the end."""
    process = os.fork()
    if process == 0:
        try:
            child(home, overrides, kind, n)
            os._exit(0)
        except BaseException:
            import traceback

            traceback.print_exc()
            os._exit(1)
    _, status = os.waitpid(process, 0)
    if os.WIFEXITED(status):
        assert os.WEXITSTATUS(status) == 0, "the child failed instead of being killed"
        return True
    return False


def main() -> None:
    told = {}
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        # Compiles and loads everything once, for all children.
        run(tiny("training.epochs=0"), home=Path(folder))
    for scenario, (overrides, deaths) in json.loads(sys.argv[2]).items():
        home = Path(sys.argv[1]) / scenario
        home.mkdir()
        os.environ["FAIRGROUND_CACHE"] = str(home / "cache")
        for kind, n in deaths:
            attempt(home, overrides, kind, n)
        assert attempt(home, overrides, "never", 0)
        told[scenario] = json.loads((home / "told").read_text())
    print(json.dumps(told))


if __name__ == "__main__":
    main()
