"""What a recommendation prints while it runs: the time used, what is being done, and every new best."""

import sys
from typing import Any

from fairground.recommendation.budget import Budget

#: seconds between two lines about the same work where there is no terminal
EVERY = 10.0


class RaceProgress:
    """Prints sentences; in a terminal one bar shows the time used and what is being done."""

    def __init__(self, budget: Budget, *, is_quiet: bool, bar: Any = None) -> None:
        self.budget, self.is_quiet = budget, is_quiet
        self.sentences: list[str] = []
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

    def counted(self, what: str) -> "CountedImages":
        """Return a callback that counts images and shows their speed."""
        return CountedImages(self, what)


class CountedImages:
    """Counts images and their speed."""

    def __init__(self, progress: RaceProgress, what: str) -> None:
        self._progress, self._what = progress, what
        self._begun: tuple[float, int] | None = None
        #: images per second since the first block; nothing before a second block
        self.speed = 0.0

    def __call__(self, done: int, of: int) -> None:
        now = self._progress.budget.used()
        if self._begun is None:
            self._begun = (now, done)
        begun, first = self._begun
        if done > first:
            self.speed = (done - first) / max(now - begun, 1e-9)
        speed = f", {self.speed:.0f} images/s" if self.speed else ""
        self._progress.doing(f"{self._what}: {done} of {of}{speed}")
