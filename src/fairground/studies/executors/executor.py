"""What every executor does: jobs in, each with an id, and outcomes out as they finish, each exactly once.

A job is named by dotted path, `package.module:function`, which imports nothing; it takes an argument and a reporter.
Leaving the `with` block, by Ctrl-C too, interrupts what still runs (KeyboardInterrupt) and leaves no process behind.
"""

import importlib
import os
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pkgutil import resolve_name
from typing import Any, NamedTuple, Self

from fairground.spec import FairgroundError, InputError, StoreError, nearest, require

Argument = Mapping[str, Any]
Watch = Callable[[Mapping[str, Any]], None]
NAMES = ("inline", "processes", "ray", "slurm")
#: every library that may start threads reads one of these, once, when it is imported
_LIBRARIES_NUM = ("OMP_NUM", "MKL_NUM", "OPENBLAS_NUM", "NUMBA_NUM", "VECLIB_MAXIMUM", "NUMEXPR_NUM")
_THREAD_VARIABLES = tuple(f"{library}_THREADS" for library in _LIBRARIES_NUM)


class Outcome(NamedTuple):
    """A job's result or its failure in one sentence; `is_store_failure`: the disk or the store failed, not the job."""

    job_id: str
    result: Any = None
    failure: str | None = None
    attempts: int = 1
    is_store_failure: bool = False


class Order(NamedTuple):
    """A job to be carried out: the function by its dotted path, and its argument."""

    job_id: str
    job: str
    argument: Argument
    attempt: int = 1


class Executor:
    """Runs one job for many arguments: here, in turn, each when its outcome is asked for; others have workers.

    `watch` hears, in the caller's thread, of the jobs' events.
    """

    #: how many jobs run at once
    capacity: int = 1

    def __init__(self, job: str, *, threads: int = 1, watch: Watch | None = None, device: str = "auto") -> None:
        self.job = job
        self._threads, self._device = threads, device
        self._watch: Watch = watch or (lambda _: None)
        self._under_way: set[str] = set()
        self._waiting: deque[Order] = deque()

    def submit(self, job_id: str, argument: Argument) -> None:
        self._under_way.add(job_id)
        self._waiting.append(Order(job_id, self.job, {**argument, "device": self._device}))
        self._launch()

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
        self._under_way.clear()
        self._waiting.clear()

    def _launch(self) -> None:
        """Start waiting jobs as far as there are free workers."""

    def _next(self) -> Outcome:
        """Wait for the next outcome, passing events to `watch` meanwhile."""
        return perform(self._waiting.popleft(), self._watch, threads=self._threads)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def executor_named(
    name: str,
    job: str,
    *,
    workers: int = 2,
    threads: int = 1,
    watch: Watch | None = None,
    device: str = "auto",
    **others: Any,
) -> Executor:
    """Return the executor called `name` for one job; `others` are settings that not all of them have."""
    shared: dict[str, Any] = {"threads": threads, "watch": watch, "device": device}
    require(name in NAMES, f"no executor '{name}'.{nearest(name, NAMES)} There are: {', '.join(NAMES)}.")
    given = {key: value for key, value in others.items() if value not in (None, ())}
    takers = {"gpus_per_run": ("processes", "ray", "slurm"), "slurm": ("slurm",)}
    for key, value in given.items():
        allowed = takers.get(key, ("ray",))
        require(name in allowed, f"{key} = {value} is for the executor {' or '.join(allowed)}, not for {name}")
    if name == "inline":
        return Executor(job, **shared)
    # Imported only when asked for: Ray and submitit are extras, and Ray takes a second to import.
    try:
        module = importlib.import_module(f"fairground.studies.executors.{name}")
    except ModuleNotFoundError as error:
        package = {"ray": "Ray", "slurm": "submitit"}.get(name, name)
        raise InputError(f"the executor {name} needs {package}: pip install 'fairground[{name}]'") from error
    kind = {"processes": "ProcessExecutor", "ray": "RayExecutor", "slurm": "SlurmExecutor"}[name]
    found: Executor = getattr(module, kind)(job, workers=workers, **shared, **given)
    return found


def perform(order: Order, tell: Watch, *, threads: int | None = None) -> Outcome:
    """Call the job, limited to `threads`; KeyboardInterrupt passes: the run is wanted later, it has not failed."""
    try:
        with nullcontext() if threads is None else limited_to(threads):
            return Outcome(job_id=order.job_id, result=resolve_name(order.job)(order.argument, tell))
    except (Exception, SystemExit) as error:
        failure = str(error) if isinstance(error, FairgroundError) else f"{type(error).__name__}: {error}"
        return Outcome(job_id=order.job_id, failure=failure, is_store_failure=isinstance(error, StoreError))


def environment_of(threads: int) -> dict[str, str]:
    return dict.fromkeys(_THREAD_VARIABLES, str(threads))


@contextmanager
def limited_to(threads: int) -> Iterator[None]:
    """Limit the libraries of this process, and those imported inside the block, to so many threads.

    Sums that are split over other numbers of threads round differently: results are reproducible for a fixed number.
    """
    from threadpoolctl import threadpool_limits

    # The job imports torch if it needs it. Torch's own copy of MKL listens to torch alone.
    torch = sys.modules.get("torch")
    n_before = None if torch is None else torch.get_num_threads()
    before = {name: os.environ[name] for name in _THREAD_VARIABLES if name in os.environ}
    os.environ.update(environment_of(threads))
    try:
        with threadpool_limits(limits=threads):
            if torch is not None:
                torch.set_num_threads(threads)
            yield
    finally:
        if torch is not None:
            torch.set_num_threads(n_before)
        for name in _THREAD_VARIABLES:
            os.environ.pop(name, None)
        os.environ.update(before)
