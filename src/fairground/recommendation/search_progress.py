"""What a recommendation says while it works."""

import sys
from collections.abc import Callable
from typing import Any

from fairground.recommendation.time_budget import Budget

#: seconds between two lines about the same work where there is no terminal
EVERY = 10.0


class SearchProgress:
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
