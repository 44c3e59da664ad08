"""Hands what is heard of runs to their sinks, in a thread of its own: a run never waits for a sink, nor ends by one.

What is told is only that something happened; what happened is read from the run's newest checkpoint or its record, so
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
from fairground.records.artefacts import RunFolder
from fairground.records.in_progress import run_in_progress
from fairground.records.record import RunRecord

#: seconds the sinks have to write what is left when everything else is over
PATIENCE = 60.0
Listener = Callable[[Mapping[str, Any]], None]
Open = Callable[[str, Introduction, Path], RunLogger]


class Feed:
    """`names` are the sinks' names, checked; `warn` is told once of each sink that failed and is dropped."""

    def __init__(
        self, names: Sequence[str], home: Path, *, warn: Callable[[str], None], open_sink: Open = logger_named
    ) -> None:
        self._names, self._home, self._warn, self._open = list(names), home, warn, open_sink
        self._sinks: dict[str, dict[str, RunLogger]] = {}
        self._told: queue.SimpleQueue[str | RunRecord | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, daemon=True, name="sinks")
        if names:
            self._thread.start()

    def listen(self, event: Mapping[str, Any], run: str | None = None) -> None:
        """Hear what a run tells of itself, or an executor of its runs; only the end of an epoch is news."""
        name = run or event.get("run")
        if self._names and event.get("kind") == "epoch" and isinstance(name, str):
            self._told.put(name)

    def beside(self, listen: Listener, run: str | None = None) -> Listener:
        """Return a listener that tells another one first, and then the sinks."""

        def both(event: Mapping[str, Any]) -> None:
            listen(event)
            self.listen(event, run)

        return both

    def after(self, heard: Callable[[RunRecord], None]) -> Callable[[RunRecord], None]:
        """Return what hears of a finished run as `heard` does, and then tells the sinks."""

        def both(record: RunRecord) -> None:
            heard(record)
            self.finished(record)

        return both

    def finished(self, record: RunRecord) -> None:
        """Hear of a run that is over."""
        if self._names:
            self._told.put(record)

    def close(self, patience: float = PATIENCE) -> None:
        """Let the sinks write what is left; one that takes too long is left behind."""
        if not self._thread.is_alive():
            return
        self._told.put(None)
        self._thread.join(patience)
        if self._thread.is_alive():
            self._warn(
                f"the sinks ({', '.join(self._names)}) were still writing after {patience:g} s and are left behind"
            )

    def _work(self) -> None:
        while (told := self._told.get()) is not None:
            if isinstance(told, RunRecord):
                self._end(told)
            else:
                self._look(told)
        for run in list(self._sinks):
            self._each(run, lambda sink: sink.close("stopped"))

    def _look(self, run: str) -> None:
        seen = run_in_progress(RunFolder(self._home, run))
        # Without a folder here the run is on another machine: its record will bring everything.
        if seen is not None and seen.rows:
            self._meet(run, seen.spec)
            self._each(run, lambda sink: sink.write(numbers_of(seen.rows)))

    def _end(self, record: RunRecord) -> None:
        self._meet(record.name, record.spec)
        self._each(record.name, lambda sink: sink.write([*numbers_of(record.epochs), *results_of(record)]))
        self._each(record.name, lambda sink: sink.close(record.state))
        self._sinks.pop(record.name, None)

    def _meet(self, run: str, spec: Mapping[str, Any]) -> None:
        """Open the run in every sink, when it is first heard of."""
        if run in self._sinks:
            return
        self._sinks[run] = opened = {}
        for name in list(self._names):
            try:
                opened[name] = self._open(name, introduce(run, spec), self._home)
            except Exception as error:  # whatever a sink does wrong, the run goes on
                self._drop(name, error)

    def _each(self, run: str, act: Callable[[RunLogger], None]) -> None:
        for name, sink in list(self._sinks.get(run, {}).items()):
            try:
                act(sink)
            except Exception as error:  # as above
                self._drop(name, error)

    def _drop(self, name: str, error: Exception) -> None:
        if name in self._names:
            self._names.remove(name)
            words = f"{type(error).__name__}: {error}".partition("\n")[0][:300]
            self._warn(f"the sink {name} failed and is dropped; the run goes on ({words})")
        for opened in self._sinks.values():
            opened.pop(name, None)


@contextmanager
def fed(names: Sequence[str], home: Path) -> Iterator[Feed]:
    """Yield a feed for the sinks of these names, refusing what is not installed before anything starts."""
    feed = Feed(checked(tuple(names)), home, warn=lambda words: print(f"warning: {words}", file=sys.stderr))
    try:
        yield feed
    finally:
        feed.close()
