"""Short tasks of BLAS calls and compiled loops on several threads at once.

Memory that is used again: fresh pages cost more to get than to fill.
"""

import math
import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import accumulate
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import DTypeLike

from fairground.retrieval.threads import single_threaded_blas

Result = TypeVar("Result")


def run_parallel(work: Callable[[int], Result], n_tasks: int) -> list[Result]:
    """Return work(0) .. work(n_tasks - 1), done by as many threads as torch may use, the caller's among them.

    It pays for tasks of a tenth of a millisecond or more that let go of the interpreter's lock. On a busy machine the
    caller does what the others do not come to.
    """
    results: dict[int, Result] = {}
    waiting = deque(range(n_tasks))

    def labour() -> None:
        while True:
            try:
                task = waiting.popleft()
            except IndexError:
                return
            results[task] = work(task)

    with single_threaded_blas():
        n_helpers = min(torch.get_num_threads(), n_tasks) - 1
        helpers = [_threads().submit(labour) for _ in range(n_helpers)]
        labour()
        for helper in helpers:
            if not helper.cancel():
                helper.result()
    return [results[task] for task in range(n_tasks)]


@cache
def _threads() -> ThreadPoolExecutor:
    # Kept from call to call: starting threads takes longer than the work they are given.
    return ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="side_by_side")


# A forked process has none of its parent's threads, and would wait for them for ever.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_threads.cache_clear)


_held = threading.local()


def scratch(*wanted: tuple[Sequence[int], DTypeLike]) -> list[np.ndarray]:
    """Return an uninitialised array for each shape and type wanted; this thread's next call may give them out again."""
    sizes = [math.prod(shape) * np.dtype(dtype).itemsize for shape, dtype in wanted]
    # Each array begins at a multiple of 64 bytes, the width of a cache line.
    starts = [0, *accumulate(-(-size // 64) * 64 for size in sizes)]
    if getattr(_held, "memory", None) is None or len(_held.memory) < starts[-1]:
        _held.memory = np.empty(starts[-1], dtype=np.uint8)
    return [
        _held.memory[start : start + size].view(dtype).reshape(shape)
        for (shape, dtype), start, size in zip(wanted, starts, sizes, strict=False)
    ]
