"""Work shared out to threads, each calling BLAS and compiled loops that let the others run."""

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from importlib import import_module
from itertools import islice
from typing import TypeVar

from threadpoolctl import ThreadpoolController

Task = TypeVar("Task")
Workspace = TypeVar("Workspace")


def share_out(
    tasks: Iterable[Task], make_workspace: Callable[[], Workspace], work: Callable[[Task, Workspace], None], n: int
) -> list[Workspace]:
    """Let `n` threads take tasks in turn, each with its own workspace; return the workspaces."""
    waiting, lock = iter(tasks), threading.Lock()

    def work_through() -> Workspace:
        workspace = make_workspace()
        while True:
            with lock:
                some = list(islice(waiting, 1))
            if not some:
                return workspace
            work(some[0], workspace)

    with single_threaded_blas():
        if n == 1:
            return [work_through()]
        with ThreadPoolExecutor(n) as pool:
            return [future.result() for future in [pool.submit(work_through) for _ in range(n)]]


def share_stretches(length: int, step: int, work: Callable[[int, int], None], n: int) -> None:
    """Let `n` threads work through stretches (begin, end) of `length` in steps; each must touch only its own."""
    share_out(range(0, length, step), lambda: None, lambda begin, _: work(begin, min(begin + step, length)), n)


@cache
def _controller() -> ThreadpoolController:
    # SciPy, and compiled loops through it, have a BLAS of their own, which is only seen once it is loaded.
    import_module("scipy.linalg")
    return ThreadpoolController()


_LOCK = threading.Lock()
#: the limit, while any caller wants BLAS in one thread: the first sets it, the last lifts it
_LIMITS: list[AbstractContextManager[object]] = []
_n_callers = 0


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Limit BLAS to one thread per call, as our own threads call it side by side; callers may overlap."""
    global _n_callers  # noqa: PLW0603
    with _LOCK:
        _n_callers += 1
        if not _LIMITS:
            _LIMITS.append(_controller().limit(limits=1, user_api="blas"))
            _LIMITS[0].__enter__()
    try:
        yield
    finally:
        with _LOCK:
            _n_callers -= 1
            if _n_callers == 0:
                _LIMITS.pop().__exit__(None, None, None)
