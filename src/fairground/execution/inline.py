"""Run jobs here, one after another: for tests, debuggers and machines with one core."""

from collections import deque

from fairground.execution.executor import Executor, Outcome, Plain, Watch
from fairground.execution.job import perform


class InlineExecutor(Executor):
    """A job starts when its outcome is asked for. Ctrl-C reaches the job itself."""

    def __init__(self, job: str, *, watch: Watch | None = None) -> None:
        super().__init__(job, watch=watch)
        self._waiting: deque[Plain] = deque()

    def close(self) -> None:
        """Forget what has not started."""
        super().close()
        self._waiting.clear()

    def _start(self, argument: Plain) -> None:
        self._waiting.append(argument)

    def _next(self) -> Outcome:
        argument = self._waiting.popleft()
        return Outcome.from_reply(argument, perform(self.job, argument, self._watch or _ignore))


def _ignore(event: Plain) -> None:
    """Let what a job tells go unheard."""
