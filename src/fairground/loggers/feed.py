"""Passes the news of runs to their loggers, in a thread of its own: a run never waits for a logger, nor ends by one.

News is only that something happened; what happened is read from the run's newest checkpoint or its record, so
that a row that was missed, by a kill or a resume, is there with the next.
"""

import queue
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fairground.loggers.choose import checked, logger_named
from fairground.loggers.logger import Introduction, RunLogger, introduce, numbers_of, results_of
from fairground.records.events import EpochEnded, Event, Listener
from fairground.records.record import RunRecord
from fairground.records.run_folder import RunFolder, run_in_progress

#: seconds the loggers have to write what is left when everything else is over
PATIENCE = 60.0
Open = Callable[[str, Introduction, Path], RunLogger]


class Feed:
    """`names` are the loggers' names, checked; `warn` is called once for each logger that failed and is dropped."""

    def __init__(
        self, names: Sequence[str], home: Path, *, warn: Callable[[str], None], open_logger: Open = logger_named
    ) -> None:
        self._names, self._home, self._warn, self._open = list(names), home, warn, open_logger
        self._loggers: dict[str, dict[str, RunLogger]] = {}
        self._news: queue.SimpleQueue[str | RunRecord | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, daemon=True, name="loggers")
        if names:
            self._thread.start()

    def listen(self, event: Mapping[str, Any]) -> None:
        """Take an event of an executor about its runs; only the end of an epoch is news."""
        if event.get("kind") == "epoch":
            self.epoch_ended(event["run"])

    def epoch_ended(self, run: str) -> None:
        if self._names:
            self._news.put(run)

    def with_events(self, watch: Callable[[Mapping[str, Any]], None]) -> Callable[[Mapping[str, Any]], None]:
        """Return a function for the events of an executor that calls another one first, and then the loggers."""

        def both(event: Mapping[str, Any]) -> None:
            watch(event)
            self.listen(event)

        return both

    def with_run_events(self, listen: Listener, run: str) -> Listener:
        """Return a listener to one run that calls another one first, and then the loggers."""

        def both(event: Event) -> None:
            listen(event)
            if isinstance(event, EpochEnded):
                self.epoch_ended(run)

        return both

    def with_records(self, on_record: Callable[[RunRecord], None]) -> Callable[[RunRecord], None]:
        """Return a function that calls `on_record` first, and then the loggers."""

        def both(record: RunRecord) -> None:
            on_record(record)
            self.finished(record)

        return both

    def finished(self, record: RunRecord) -> None:
        """Take the record of a run that is over."""
        if self._names:
            self._news.put(record)

    def close(self, patience: float = PATIENCE) -> None:
        """Let the loggers write what is left; one that takes too long is left behind."""
        if not self._thread.is_alive():
            return
        self._news.put(None)
        self._thread.join(patience)
        if self._thread.is_alive():
            self._warn(
                f"the loggers ({', '.join(self._names)}) were still writing after {patience:g} s and are left behind"
            )

    def _work(self) -> None:
        while (news := self._news.get()) is not None:
            if isinstance(news, RunRecord):
                self._log_record(news)
            else:
                self._log_progress(news)
        for run in list(self._loggers):
            self._each(run, lambda logger: logger.close("stopped"))

    def _log_progress(self, run: str) -> None:
        seen = run_in_progress(RunFolder(self._home, run))
        # Without a folder here the run is on another machine: its record will bring everything.
        if seen is not None and seen.rows:
            self._open_run(run, seen.spec)
            self._each(run, lambda logger: logger.write(numbers_of(seen.rows)))

    def _log_record(self, record: RunRecord) -> None:
        self._open_run(record.name, record.spec)
        self._each(record.name, lambda logger: logger.write([*numbers_of(record.epochs), *results_of(record)]))
        self._each(record.name, lambda logger: logger.close(record.state))
        self._loggers.pop(record.name, None)

    def _open_run(self, run: str, spec: Mapping[str, Any]) -> None:
        """Open the run in every logger, when its first news comes."""
        if run in self._loggers:
            return
        self._loggers[run] = opened = {}
        for name in list(self._names):
            try:
                opened[name] = self._open(name, introduce(run, spec), self._home)
            except Exception as error:  # whatever a logger does wrong, the run goes on
                self._drop(name, error)

    def _each(self, run: str, act: Callable[[RunLogger], None]) -> None:
        for name, logger in list(self._loggers.get(run, {}).items()):
            try:
                act(logger)
            except Exception as error:  # as above
                self._drop(name, error)

    def _drop(self, name: str, error: Exception) -> None:
        if name in self._names:
            self._names.remove(name)
            words = f"{type(error).__name__}: {error}".partition("\n")[0][:300]
            self._warn(f"the logger {name} failed and is dropped; the run goes on ({words})")
        for opened in self._loggers.values():
            opened.pop(name, None)


@contextmanager
def fed(names: Sequence[str], home: Path) -> Iterator[Feed]:
    """Yield a feed for the loggers of these names, refusing what is not installed before anything starts."""
    feed = Feed(checked(tuple(names)), home, warn=lambda words: print(f"warning: {words}", file=sys.stderr))
    try:
        yield feed
    finally:
        feed.close()
