"""Images read on several threads, and the next block while this one is worked on."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import TypeVar

Thing = TypeVar("Thing")
Result = TypeVar("Result")


def n_threads() -> int:
    """Return how many threads read images: OMP_NUM_THREADS where set, otherwise one for each core, at most 16.

    torchrun sets it to 1 for the arithmetic of each of its processes; there they share the cores.
    """
    said, n_processes = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0], os.environ.get("LOCAL_WORLD_SIZE", "1")
    if said.strip().isdigit() and int(said) > (1 if int(n_processes) > 1 else 0):
        return int(said)
    own = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(16, own // int(n_processes)))


def for_each(work: Callable[[Thing], Result], things: Sequence[Thing]) -> list[Result]:
    """Return `work` of each thing, in order. It gains only where it lets go of the interpreter, as decoding does."""
    threads = n_threads()
    if threads == 1 or len(things) < 2:
        return [work(thing) for thing in things]
    return list(_pool(threads, os.getpid()).map(work, things))


@cache
def _pool(threads: int, _process: int) -> ThreadPoolExecutor:
    # One pool per process: threads do not survive a fork.
    return ThreadPoolExecutor(threads, thread_name_prefix="fairground-files")


def read_ahead(read: Callable[[Thing], Result], things: Iterable[Thing]) -> Iterator[Result]:
    """Yield `read` of each thing in order; the next one is read in a thread while the caller works on this one."""
    with ThreadPoolExecutor(1, thread_name_prefix="fairground-read") as reader:
        ahead: Future[Result] | None = None
        for thing in things:
            following = reader.submit(read, thing)
            if ahead is not None:
                yield ahead.result()
            ahead = following
        if ahead is not None:
            yield ahead.result()
