"""The time of a recommendation: the share of each phase."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

Phase = Literal["network", "embed", "closed", "try", "confirm", "final", "test"]
#: of the whole, cumulative; the rest is for writing model and page
SHARES: dict[Phase, float] = {
    "network": 0.14,
    "embed": 0.26,
    "closed": 0.3,
    "try": 0.56,
    "confirm": 0.64,
    "final": 0.92,
    "test": 0.97,
}


@dataclass
class Budget:
    """Phases share the time: one that ends early leaves its time to the next, and nothing starts after its share.

    `kept` seconds are set aside for the test images, which are always scored completely.
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
