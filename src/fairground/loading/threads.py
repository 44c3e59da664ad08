"""How many threads read images, and work shared out to them. No result depends on the number."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

Thing = TypeVar("Thing")
Result = TypeVar("Result")


def n_threads() -> int:
    """Return how many threads read images: OMP_NUM_THREADS where set, otherwise one for each core, at most 16."""
    said = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    if said.isdigit() and int(said) > 0:
        return int(said)
    own = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(16, own)


def for_each(work: Callable[[Thing], Result], things: Sequence[Thing]) -> list[Result]:
    """Return `work` of each thing, in order. It gains only where it lets go of the interpreter, as decoding does."""
    threads = n_threads()
    if threads == 1 or len(things) < 2:
        return [work(thing) for thing in things]
    return list(_pool(threads, os.getpid()).map(work, things))


@cache
def _pool(threads: int, _process: int) -> ThreadPoolExecutor:
    # One a process: threads do not survive a fork.
    return ThreadPoolExecutor(threads, thread_name_prefix="fairground-files")
