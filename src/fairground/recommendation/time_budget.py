"""The time of a recommendation: how it is read, and the share of each phase."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from fairground.errors import require

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


def seconds_of(text: str | float) -> float:
    """Read 90s, 30m or 1h30m; a number is in seconds."""
    seconds = 0.0 if isinstance(text, str) else text
    if isinstance(text, str):
        parts = re.findall(r"(\d+(?:\.\d+)?)([smh])", text.lower())
        is_time = bool(parts) and "".join(number + letter for number, letter in parts) == text.lower().strip()
        require(is_time, f"time takes a number with s, m or h, like 90s or 1h30m; got '{text}'")
        units = {"s": 1, "m": 60, "h": 3600}
        seconds = sum(float(number) * units[letter] for number, letter in parts)
    require(seconds > 0, f"time must be more than nothing; got {seconds:g} seconds")
    return seconds
