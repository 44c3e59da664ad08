"""The time of a recommendation, shared by its phases, and what is printed while it passes."""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

Phase = Literal["embed", "untrained", "rounds", "race", "final", "test"]
#: of the whole, cumulative; the rest is for writing model and page
SHARES: dict[Phase, float] = {
    "embed": 0.35,
    "untrained": 0.42,
    "rounds": 0.60,
    "race": 0.80,
    "final": 0.90,
    "test": 0.96,
}
#: another piece of work starts only if so many times the length of the last one fits
MARGIN = 1.3
#: seconds between two lines about the same work where there is no terminal
EVERY = 10.0


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


class RaceProgress:
    """Prints sentences; in a terminal one bar shows the time used and what is being done."""

    def __init__(self, budget: Budget, *, is_quiet: bool, bar: Any = None) -> None:
        self.budget, self.is_quiet = budget, is_quiet
        self.sentences: list[str] = []
        self.speed = 0.0
        self._bar = bar
        self._task = None if bar is None else bar.add_task("starting", total=budget.seconds)
        self._printed = float("-inf")

    def say(self, sentence: str) -> None:
        """Print a sentence that the page shows too."""
        self.sentences.append(sentence)
        self.news(sentence)

    def news(self, line: str) -> None:
        if self.is_quiet:
            return
        minutes, seconds = divmod(round(self.budget.used()), 60)
        text = f"{minutes}:{seconds:02d}  {line}"
        if self._bar is None:
            print(text, file=sys.stderr)
        else:
            self._bar.console.print(text, markup=False, highlight=False)

    def doing(self, what: str) -> None:
        """Show what is being done; without a terminal only every few seconds."""
        if self._bar is not None:
            used = min(self.budget.used(), self.budget.seconds)
            self._bar.update(self._task, description=what[:46], completed=used)
        elif self.budget.used() - self._printed >= EVERY:
            self._printed = self.budget.used()
            self.news(what)

    def counted(self, what: str) -> Callable[[int, int], None]:
        """Return what shows how many images are done; from the second block on `speed` is in images per second."""
        seen: list[tuple[float, int]] = []
        self.speed = 0.0

        def show(done: int, of: int) -> None:
            seen.append((self.budget.used(), done))
            begun, first = seen[0]
            if done > first:
                self.speed = (done - first) / max(seen[-1][0] - begun, 1e-9)
            speed = f", {self.speed:.0f} images/s" if self.speed else ""
            self.doing(f"{what}: {done} of {of}{speed}")

        return show
