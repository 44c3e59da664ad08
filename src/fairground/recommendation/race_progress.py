"""What a person sees while a recommendation is made: the time left, what is being done, and every new best."""

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fairground.recommendation.race_clock import RaceClock

#: seconds between two lines about the same work where there is no terminal
EVERY = 10.0


class RaceProgress:
    """Prints sentences, and in a terminal keeps one bar: the time, with what is being done."""

    def __init__(self, clock: "RaceClock", *, is_quiet: bool, bar: Any = None) -> None:
        self.clock, self.is_quiet = clock, is_quiet
        self.sentences: list[str] = []
        self._bar = bar
        self._task = None if bar is None else bar.add_task("starting", total=clock.limit)
        self._printed = float("-inf")

    def say(self, sentence: str) -> None:
        """Print a sentence that the page shows too."""
        self.sentences.append(sentence)
        self.news(sentence)

    def news(self, line: str) -> None:
        """Print a line with the time."""
        if self.is_quiet:
            return
        minutes, seconds = divmod(round(self.clock.seconds()), 60)
        text = f"{minutes}:{seconds:02d}  {line}"
        if self._bar is None:
            print(text, file=sys.stderr)
        else:
            self._bar.console.print(text, markup=False, highlight=False)

    def doing(self, what: str) -> None:
        """Show what is being done; where there is no terminal, now and then."""
        if self._bar is not None:
            used = min(self.clock.seconds(), self.clock.limit)
            self._bar.update(self._task, description=what[:46], completed=used)
        elif self.clock.seconds() - self._printed >= EVERY:
            self._printed = self.clock.seconds()
            self.news(what)

    def counted(self, what: str) -> "CountedImages":
        """Return what hears how many images are done, and shows the speed."""
        return CountedImages(self, what)


class CountedImages:
    """Counts images and their speed."""

    def __init__(self, progress: RaceProgress, what: str) -> None:
        self._progress, self._what = progress, what
        self._begun: tuple[float, int] | None = None
        #: images a second since the first block; nothing before a second block
        self.speed = 0.0

    def __call__(self, done: int, of: int) -> None:
        """Hear that so many are done of so many."""
        now = self._progress.clock.seconds()
        if self._begun is None:
            self._begun = (now, done)
        begun, first = self._begun
        if done > first:
            self.speed = (done - first) / max(now - begun, 1e-9)
        speed = f", {self.speed:.0f} images/s" if self.speed else ""
        self._progress.doing(f"{self._what}: {done} of {of}{speed}")
