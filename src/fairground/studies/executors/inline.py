"""Run jobs here, one after another: for tests, debuggers and machines with one core."""

from collections import deque

from fairground.errors import require
from fairground.studies.executors.executor import Executor, Outcome, Plain, Watch
from fairground.studies.executors.job import perform


class InlineExecutor(Executor):
    """A job starts when its outcome is asked for, with `threads` threads. Ctrl-C reaches the job itself."""

    def __init__(self, job: str, *, threads: int = 1, watch: Watch | None = None) -> None:
        super().__init__(job, watch=watch)
        require(threads >= 1, f"threads must be at least 1; got {threads}")
        self._threads = threads
        self._waiting: deque[Plain] = deque()

    def close(self) -> None:
        """Forget what has not started."""
        super().close()
        self._waiting.clear()

    def _start(self, argument: Plain) -> None:
        self._waiting.append(argument)

    def _next(self) -> Outcome:
        argument = self._waiting.popleft()
        reply = perform(self.job, argument, self._watch or _ignore, threads=self._threads)
        return Outcome.from_reply(argument, reply)


def _ignore(event: Plain) -> None:
    """Let what a job tells go unheard."""
