"""Short tasks of BLAS calls and compiled loops on several threads at once."""

import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

import torch

from fairground.geometry.threads import single_threaded_blas

Result = TypeVar("Result")


def side_by_side(work: Callable[[int], Result], n_tasks: int) -> list[Result]:
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
