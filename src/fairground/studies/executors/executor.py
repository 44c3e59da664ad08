"""What every executor does: jobs in, each with an id, and outcomes out as they finish, each exactly once.

A job is a function named by dotted path, `package.module:function`, so that naming it imports nothing. It takes one
argument and a function that reports progress, and returns its result:

    def train(argument: Mapping, tell: Callable[[Mapping], None]) -> object

    with executor_named("processes", "fairground.training.run:run_job", workers=2) as executor:
        for outcome in executor.run({"3f2a": argument}):
            ...

A search that learns from outcomes calls `submit` while it iterates over `finished`. Leaving the `with` block, by Ctrl-C
too, interrupts what still runs (the job gets KeyboardInterrupt) and leaves no process behind.
"""

import importlib
import os
import re
import sys
import traceback
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal, Self, get_args

from fairground.errors import FairgroundError, InputError, StoreError, require
from fairground.spec.catalogue import nearest

Argument = Mapping[str, Any]
Watch = Callable[[Mapping[str, Any]], None]
ExecutorName = Literal["inline", "processes", "ray"]
NAMES: tuple[str, ...] = get_args(ExecutorName)
#: every library that may start threads reads one of these, once, when it is imported
_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of one job: a result, or a failure in one sentence with its traceback in `details`.

    `is_store_failure` tells that the disk or the store failed and not the job.
    """

    job_id: str
    result: Any = None
    failure: str | None = None
    details: str = ""
    attempts: int = 1
    is_store_failure: bool = False


class Executor(ABC):
    """Runs one job for many arguments. `watch` is called, in the caller's thread, with the events of the jobs."""

    #: how many jobs run at once
    capacity: int = 1

    def __init__(self, job: str, *, threads: int = 1, watch: Watch | None = None) -> None:
        is_path = re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", job) is not None
        require(is_path, f"a job is named package.module:function; got {job!r}")
        require(threads >= 1, f"threads must be at least 1; got {threads}")
        self.job = job
        self._threads = threads
        self._watch: Watch = watch or (lambda _: None)
        self._under_way: set[str] = set()

    def submit(self, job_id: str, argument: Argument) -> None:
        require(job_id not in self._under_way, f"job {job_id} is already under way")
        self._under_way.add(job_id)
        self._start(job_id, argument)

    def finished(self) -> Iterator[Outcome]:
        """Yield outcomes as they come until nothing submitted is left, including what is submitted meanwhile."""
        while self._under_way:
            outcome = self._next()
            self._under_way.remove(outcome.job_id)
            yield outcome

    def run(self, arguments: Mapping[str, Argument]) -> Iterator[Outcome]:
        for job_id, argument in arguments.items():
            self.submit(job_id, argument)
        yield from self.finished()

    def close(self) -> None:
        """Interrupt what still runs and release what the executor holds."""
        self._under_way.clear()

    @abstractmethod
    def _start(self, job_id: str, argument: Argument) -> None:
        """Take a job without waiting for it."""

    @abstractmethod
    def _next(self) -> Outcome:
        """Wait for the next outcome, passing events to `watch` meanwhile."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class InlineExecutor(Executor):
    """Runs jobs here, one after another: a job starts when its outcome is asked for, and Ctrl-C reaches it directly."""

    def __init__(self, job: str, *, threads: int = 1, watch: Watch | None = None) -> None:
        super().__init__(job, threads=threads, watch=watch)
        self._waiting: deque[tuple[str, Argument]] = deque()

    def close(self) -> None:
        super().close()
        self._waiting.clear()

    def _start(self, job_id: str, argument: Argument) -> None:
        self._waiting.append((job_id, argument))

    def _next(self) -> Outcome:
        job_id, argument = self._waiting.popleft()
        return perform(job_id, self.job, argument, self._watch, threads=self._threads)


def executor_named(
    name: str,
    job: str,
    *,
    workers: int = 2,
    threads: int = 1,
    gpus: float = 0.0,
    address: str | None = None,
    node_wait: float | None = None,
    watch: Watch | None = None,
) -> Executor:
    """Return the executor called `name` for one job; `address`, `gpus` and `node_wait` are for Ray alone."""
    require(name in NAMES, f"no executor '{name}'.{nearest(name, NAMES)} There are: {', '.join(NAMES)}.")
    require(address is None or name == "ray", f"an address is for the executor ray; {name} has none")
    require(gpus == 0 or name == "ray", f"gpus = {gpus:g} per run is for the executor ray; {name} has no such shares")
    require(node_wait is None or name == "ray", f"node_wait is for the executor ray; {name} has no nodes to wait for")
    if name == "inline":
        return InlineExecutor(job, threads=threads, watch=watch)
    if name == "processes":
        from fairground.studies.executors.processes import ProcessExecutor

        return ProcessExecutor(job, workers=workers, threads=threads, watch=watch)
    # Imported only when asked for: Ray is an extra, and takes a second to import.
    try:
        from fairground.studies.executors.ray import NODE_WAIT, RayExecutor
    except ModuleNotFoundError as error:
        raise InputError("the executor ray needs Ray: pip install 'fairground[ray]'") from error
    return RayExecutor(
        job,
        workers=workers,
        threads=threads,
        gpus=gpus,
        address=address,
        node_wait=NODE_WAIT if node_wait is None else node_wait,
        watch=watch,
    )


def perform(job_id: str, path: str, argument: Argument, tell: Watch, *, threads: int | None = None) -> Outcome:
    """Call the job and return its outcome; with `threads` it is limited to as many.

    KeyboardInterrupt passes: the run is wanted later, it has not failed.
    """
    try:
        with nullcontext() if threads is None else limited_to(threads):
            return Outcome(job_id=job_id, result=_find(path)(argument, tell))
    except FairgroundError as error:
        is_store = isinstance(error, StoreError)
        return Outcome(job_id=job_id, failure=str(error), details=traceback.format_exc(), is_store_failure=is_store)
    except (Exception, SystemExit) as error:
        return Outcome(job_id=job_id, failure=f"{type(error).__name__}: {error}", details=traceback.format_exc())


def _find(path: str) -> Callable[[Argument, Watch], Any]:
    module_name, _, function = path.partition(":")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        raise InputError(f"cannot import '{module_name}' for the job '{path}': no module '{error.name}'") from error
    require(hasattr(module, function), f"'{module_name}' has no '{function}'.{nearest(function, dir(module))}")
    return getattr(module, function)  # type: ignore[no-any-return]


def environment_of(threads: int) -> dict[str, str]:
    return dict.fromkeys(_THREAD_VARIABLES, str(threads))


@contextmanager
def limited_to(threads: int) -> Iterator[None]:
    """Limit the libraries of this process to so many threads while the block lasts.

    Sums that are split over other numbers of threads round differently, so that results are reproducible for a fixed
    number only. A library that is imported inside the block reads the number from the environment.
    """
    from threadpoolctl import threadpool_limits

    # The job imports torch if it needs it. Torch's own copy of MKL listens to torch alone.
    torch = sys.modules.get("torch")
    n_before = None if torch is None else torch.get_num_threads()
    before = {name: os.environ.get(name) for name in _THREAD_VARIABLES}
    os.environ.update(environment_of(threads))
    try:
        with threadpool_limits(limits=threads):
            if torch is not None:
                torch.set_num_threads(threads)
            yield
    finally:
        if torch is not None:
            torch.set_num_threads(n_before)
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
