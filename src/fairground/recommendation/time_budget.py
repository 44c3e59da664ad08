"""The time of a recommendation: the share of each phase."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

Phase = Literal["embed", "untrained", "rounds", "race", "final", "test"]
#: of the whole, cumulative; the rest is for writing model and page
SHARES: dict[Phase, float] = {"embed": 0.35, "untrained": 0.42, "rounds": 0.6, "race": 0.8, "final": 0.9, "test": 0.96}
#: another piece of work starts only if so many times the length of the last one fits
MARGIN = 1.3


class TimeUpError(Exception):
    """The time of the phase is over."""


@dataclass
class Budget:
    """Phases share the time: one that ends early leaves its time to the next, and nothing starts after its share.

    `kept` seconds are set aside for embedding the test images, which are always scored completely.
    """

    seconds: float
    kept: float = 0.0
    now: Callable[[], float] = time.monotonic
    begun: float = field(init=False)

    def __post_init__(self) -> None:
        self.begun = self.now()

    def used(self) -> float:
        return self.now() - self.begun

    def left(self, phase: Phase) -> float:
        kept = 0.0 if phase == "test" else self.kept
        return SHARES[phase] * (self.seconds - kept) - self.used()

    def has_room(self, phase: Phase, seconds: float) -> bool:
        """Tell whether work that should take so many seconds may still start in a phase."""
        return self.left(phase) > MARGIN * seconds

    def check(self, phase: Phase) -> None:
        if self.left(phase) <= 0:
            raise TimeUpError
