"""How fast the machine is just now: how many seconds a second of work takes beside everything else that runs.

Formula
    work = processor seconds of all threads / number of threads: about what the same would take on an idle machine
    pace = sum of seconds / sum of work, over the last pieces of work that took `SHORT` seconds together, or over those
    that took `LONG`, whichever is slower; 1 at least
"""

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

#: seconds that the pace is read from: short enough to follow the load, long enough not to believe in a lucky moment
SHORT, LONG = 8.0, 40.0


@dataclass
class Stretch:
    """A piece of work: the seconds it took, and what it would have taken on an idle machine."""

    seconds: float = 0.0
    work: float = 0.0


class Pace:
    """Measures pieces of work and says how long others would take at the same pace."""

    def __init__(
        self, *, now: Callable[[], float] = time.monotonic, work: Callable[[], float] = time.process_time
    ) -> None:
        self._now, self._work = now, work
        self._recent: deque[Stretch] = deque()

    @contextmanager
    def measured(self, threads: int = 1) -> Iterator[Stretch]:
        """Yield what holds, after the block, what the block took on so many threads."""
        begun, worked = self._now(), self._work()
        found = Stretch()
        try:
            yield found
        finally:
            found.seconds = self._now() - begun
            found.work = (self._work() - worked) / threads
            self._note(found)

    @property
    def value(self) -> float:
        """The seconds that a second of work takes."""
        return max(1.0, self._over(SHORT), self._over(LONG))

    def seconds(self, work: float) -> float:
        """Return how long so much work takes at this pace."""
        return self.value * work

    def _over(self, window: float) -> float:
        """Return the pace of the last pieces that took so many seconds together."""
        seconds = work = 0.0
        for one in reversed(self._recent):
            if seconds >= window:
                break
            seconds += one.seconds
            work += one.work
        return seconds / work if work > 0 else 1.0

    def _note(self, found: Stretch) -> None:
        self._recent.append(found)
        total = sum(one.seconds for one in self._recent)
        while total - self._recent[0].seconds >= LONG:
            total -= self._recent.popleft().seconds
