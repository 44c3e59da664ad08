"""Seconds by turns, and the memory a process takes, for work too long to be repeated often."""

import multiprocessing
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

Found = TypeVar("Found")


def in_turns(contestants: Mapping[str, Callable[[], object]], *, turns: int) -> dict[str, float]:
    """Return each contestant's best seconds; they take turns. No extra warm-up call: some take a minute."""
    best = dict.fromkeys(contestants, float("inf"))
    for _ in range(turns):
        for name, call in contestants.items():
            begun = time.perf_counter()
            call()
            best[name] = min(best[name], time.perf_counter() - begun)
    return best


class PeakMemory:
    """The most private memory this process has held, above what it held at the start, looked at every 5 ms."""

    megabytes = 0.0

    def __enter__(self) -> "PeakMemory":
        self._start = _private_bytes()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._look()
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(0.005):
            self._look()

    def _look(self) -> None:
        self.megabytes = max(self.megabytes, (_private_bytes() - self._start) / 1e6)


def _private_bytes() -> int:
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) * 1024
    raise OSError("this system does not say how much memory a process holds")


def measured_apart(work: Callable[..., Found], *arguments: object) -> Found:
    """Return what `work` returns in a fresh process, so that memory freed earlier is not reused."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(work, arguments)
