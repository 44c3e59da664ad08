"""Short tasks of BLAS calls and compiled loops on several threads at once."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

import torch

from fairground.geometry.threads import single_threaded_blas

Result = TypeVar("Result")


def side_by_side(work: Callable[[int], Result], n_tasks: int) -> list[Result]:
    """Return work(0) .. work(n_tasks - 1), done by as many threads as torch may use.

    It pays for tasks of a tenth of a millisecond or more that let go of the interpreter's lock.
    """
    n_threads = torch.get_num_threads()
    with single_threaded_blas():
        if n_threads == 1:
            return [work(task) for task in range(n_tasks)]
        return list(_threads(n_threads).map(work, range(n_tasks)))


@cache
def _threads(n: int) -> ThreadPoolExecutor:
    # Kept from call to call: starting threads takes longer than the work they are given.
    return ThreadPoolExecutor(n, thread_name_prefix="side_by_side")


# A forked process has none of its parent's threads, and would wait for them for ever.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_threads.cache_clear)
