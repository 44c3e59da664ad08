"""The time of a recommendation: how much is used, how much is left, and when work must stop."""

import time
from collections.abc import Callable
from dataclasses import dataclass


class TimeUpError(Exception):
    """The time for the work under way is over."""


@dataclass
class RaceClock:
    """`limit` seconds from `begun` on; `reserve` of them are kept for the ending."""

    limit: float
    begun: float
    reserve: float = 0.0
    now: Callable[[], float] = time.monotonic

    def seconds(self) -> float:
        """Return the seconds used so far."""
        return self.now() - self.begun

    def left(self) -> float:
        """Return the seconds left for work: some are kept for the ending."""
        return self.limit - self.reserve - self.seconds()

    def tick(self) -> None:
        """Raise when the time for work is over; called before every step of training."""
        if self.left() <= 0:
            raise TimeUpError
