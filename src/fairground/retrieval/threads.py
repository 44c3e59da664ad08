"""Work shared out to threads, each calling BLAS and compiled loops that let the others run."""

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from importlib import import_module
from typing import TypeVar

from threadpoolctl import ThreadpoolController

Task = TypeVar("Task")
Workspace = TypeVar("Workspace")


def share_out(
    tasks: Iterable[Task], make_workspace: Callable[[], Workspace], work: Callable[[Task, Workspace], None], n: int
) -> list[Workspace]:
    """Let `n` threads take tasks in turn, each with its own workspace; return the workspaces."""
    queue = _Queue(iter(tasks))

    def work_through() -> Workspace:
        workspace = make_workspace()
        for task in queue:
            work(task, workspace)
        return workspace

    with single_threaded_blas():
        if n == 1:
            return [work_through()]
        with ThreadPoolExecutor(n) as pool:
            return [future.result() for future in [pool.submit(work_through) for _ in range(n)]]


def share_stretches(length: int, step: int, work: Callable[[int, int], None], n: int) -> None:
    """Let `n` threads work through stretches (begin, end) of `length` in steps; each must touch only its own."""
    share_out(range(0, length, step), _no_workspace, lambda begin, _: work(begin, min(begin + step, length)), n)


def _no_workspace() -> None:
    return None


class _Queue(Iterator[Task]):
    """An iterator several threads may draw from."""

    def __init__(self, tasks: Iterator[Task]) -> None:
        self._tasks = tasks
        self._lock = threading.Lock()

    def __next__(self) -> Task:
        with self._lock:
            return next(self._tasks)


@cache
def _controller() -> ThreadpoolController:
    # SciPy, and compiled loops through it, have a BLAS of their own, which is only seen once it is loaded.
    import_module("scipy.linalg")
    return ThreadpoolController()


class _Limit:
    """How many callers want BLAS in one thread now: the first sets the limit, the last lifts it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_callers = 0
        self._limiter: AbstractContextManager[object] | None = None

    def take(self) -> None:
        with self._lock:
            self._n_callers += 1
            if self._limiter is None:
                self._limiter = _controller().limit(limits=1, user_api="blas")
                self._limiter.__enter__()

    def give_back(self) -> None:
        with self._lock:
            self._n_callers -= 1
            if self._n_callers == 0 and self._limiter is not None:
                self._limiter.__exit__(None, None, None)
                self._limiter = None


_LIMIT = _Limit()


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Limit BLAS to one thread per call, as our own threads call it side by side; callers may overlap."""
    _LIMIT.take()
    try:
        yield
    finally:
        _LIMIT.give_back()
