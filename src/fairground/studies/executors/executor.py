"""The contract of every executor: plain arguments in, outcomes out as they finish, each exactly once.

A job is a function named by dotted path, `package.module:function`. It takes one JSON object and a way to tell how it
is getting on, and returns one JSON object:

    def train(argument: dict, tell: Callable[[dict], None]) -> dict

Because a job is only a name here, this room never imports what it runs, and an argument can go to any machine.

    with ProcessExecutor("fairground.training.job:train", workers=2) as executor:
        for outcome in executor.run(arguments):
            ...

A search that learns from outcomes calls `submit` while it goes through `finished`. Leaving the `with` block, by
Ctrl-C too, interrupts what still runs (the job sees KeyboardInterrupt) and leaves no process behind.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from fairground.errors import require
from fairground.spec.identity import canonical_json
from fairground.studies.executors.job import check_path

Plain = Mapping[str, Any]
Watch = Callable[[Plain], None]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What came of one argument: a result, or a failure in a sentence with its traceback in `details`.

    `is_store_failure` tells that the disk or the store failed and not the job.
    """

    argument: Plain
    result: Plain | None
    failure: str | None
    details: str = ""
    attempts: int = 1
    is_store_failure: bool = False

    @classmethod
    def from_reply(cls, argument: Plain, reply: Plain, *, attempts: int = 1) -> "Outcome":
        """Return the outcome of a job's reply."""
        return cls(
            argument=argument,
            result=reply.get("result"),
            failure=reply.get("failure"),
            details=reply.get("details", ""),
            attempts=attempts,
            is_store_failure=reply.get("is_store_failure", False),
        )


class Executor(ABC):
    """Runs one job for many arguments. `watch` is called, in the caller's own thread, with the events of the jobs."""

    #: how many jobs run at once
    capacity: int = 1

    def __init__(self, job: str, *, watch: Watch | None = None) -> None:
        self.job = check_path(job)
        self._watch = watch
        self._outstanding: dict[str, Plain] = {}

    def submit(self, argument: Plain) -> None:
        """Hand over one argument; it may start at once. One that is already under way is refused."""
        key = canonical_json(argument)
        require(key not in self._outstanding, f"this argument is already under way: {key[:200]}")
        self._outstanding[key] = argument
        self._start(argument)

    def finished(self) -> Iterator[Outcome]:
        """Yield outcomes as they come until nothing submitted is left, counting what is submitted meanwhile."""
        while self._outstanding:
            outcome = self._next()
            del self._outstanding[canonical_json(outcome.argument)]
            yield outcome

    def run(self, arguments: Iterable[Plain]) -> Iterator[Outcome]:
        """Submit all arguments and yield their outcomes as they finish."""
        for argument in arguments:
            self.submit(argument)
        yield from self.finished()

    def close(self) -> None:
        """Interrupt what still runs and release what the executor holds."""
        self._outstanding.clear()

    @abstractmethod
    def _start(self, argument: Plain) -> None:
        """Take an argument without waiting for it."""

    @abstractmethod
    def _next(self) -> Outcome:
        """Wait for the next outcome, passing on the events meanwhile to `watch`."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
