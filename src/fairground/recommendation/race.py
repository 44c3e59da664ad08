"""The race: from cheap to expensive, each phase leaving an answer, until its share of the time is used up.

1. untrained: the frozen network, plain, with discriminants, on principal axes and whitened, on the folds of repeat 0
2. rounds: heads and losses with their settings; each round trains three times as long, and a third goes on
3. race: the leaders on fresh repeats, in which every class validates again in another fold, with another seed; then
   last stages trained after the best head and the leader with one thing changed, each beside further repeats

Repeat 0 only decides which methods go on. What is recommended is decided on the fresh repeats, so that the best of
hundreds by chance has no advantage. Nothing here opens the test split, and no score is measured twice.
"""

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from fairground.recommendation.candidates import STEPS, Candidate, changed_leaders, started_from
from fairground.recommendation.recommendation_folder import Measurement, Measurements
from fairground.recommendation.request import Request
from fairground.recommendation.time_budget import Budget, Phase, TimeUpError

#: candidates that the first round measures though its share is used up, and that go on at least
LEAST = 3
#: fresh repeats before anything more expensive is tried
FIRST_REPEATS = 2
#: trained methods that are confirmed on fresh repeats
LEADERS = 3
MOST_REPEATS = 30
#: seconds between two lines about the same work where there is no terminal
EVERY = 10.0


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


@dataclass
class Race:
    """`untrained` are the ways to use the network as it is, the plain one first; `trained` are methods to train.

    `measure` trains and scores a candidate on the folds of a repeat and returns its scores, means and by groups of
    classes; it raises `TimeUpError` where it is too slow. `deeper` returns what to try beyond the leader.
    """

    request: Request
    budget: Budget
    measure: Callable[[Candidate, int], tuple[Mapping[str, float], Mapping[str, Sequence[float]]]]
    untrained: Sequence[Candidate]
    trained: Sequence[Candidate] = ()
    known: Measurements = field(default_factory=Measurements)
    n_folds: int = 4
    deeper: Callable[[Candidate], Iterable[Candidate]] = lambda _: ()
    #: what was measured on repeat 0, by label
    entered: dict[str, Candidate] = field(default_factory=dict)
    #: what is confirmed on fresh repeats, the plain frozen network first
    finalists: list[Candidate] = field(default_factory=list)
    phase: Phase = "untrained"
    #: seconds per step of the last training, by the number of stages trained
    step_seconds: dict[int, float] = field(default_factory=dict)
    _untrained_seconds: float = 0.0

    def run(self) -> None:
        """Race until the time is used up or nothing is left to try; there are finalists even after Ctrl-C."""
        try:
            with suppress(TimeUpError):
                for place, candidate in enumerate(self.untrained):
                    self._score(candidate, 0, "untrained", is_needed=place == 0)
                self._run_rounds()
        finally:
            self._choose_finalists()
        with suppress(TimeUpError):
            self._improve()

    def rank(self, candidate: Candidate, repeat: int = 0) -> float:
        """Return what the race goes by; minus infinity where nothing is measured."""
        found = self.known.get((candidate.label, repeat))
        return float("-inf") if found is None else self.request.rank(found.scores)

    def _run_rounds(self) -> None:
        """Train all, then a third of them three times as long, and again; the rounds share the time equally."""
        discriminants = [one for one in self.entered.values() if one.overrides.get("head") == "plda"]
        best = max(discriminants, key=self.rank, default=None)
        pool = list(self.trained) if best is None else [started_from(one, best) for one in self.trained]
        for number, steps in enumerate(STEPS):
            end = self.budget.used() + self.budget.left("rounds") / (len(STEPS) - number)
            scored: list[Candidate] = []
            for candidate in (one.trained_for(steps) for one in pool):
                is_least = number == 0 and len(scored) < LEAST
                is_late = self.budget.used() >= end and (candidate.label, 0) not in self.known
                if (is_late and not is_least) or not self._score(candidate, 0, "race" if is_least else "rounds"):
                    break
                scored.append(candidate)
            scored.sort(key=lambda candidate: -self.rank(candidate))
            pool = scored[: max(LEAST, len(scored) // 3)]

    def _choose_finalists(self) -> None:
        """Take the plain frozen network, the best other way to use it untrained, and the best trained methods.

        As many of these as there is time to repeat, but one at least; the best first, so that it is repeated first.
        """
        ranked = sorted(self.entered.values(), key=lambda candidate: -self.rank(candidate))
        untrained = [one for one in ranked if not one.is_trained and one.label != self.untrained[0].label][:1]
        # One method at several lengths would take all places.
        shortlist = {one.method: one for one in reversed(ranked) if one.is_trained}
        leaders = sorted(shortlist.values(), key=lambda one: -self.rank(one))[:LEADERS]
        while len(leaders) > 1 and FIRST_REPEATS * sum(
            self.seconds(one) for one in (self.untrained[0], *untrained, *leaders)
        ) > self.budget.left("race"):
            leaders.pop()
        self.finalists = [self.untrained[0], *sorted([*untrained, *leaders], key=lambda one: -self.rank(one))]

    def _improve(self) -> None:
        """Repeat the finalists; then challenge the leader, with a further repeat after each challenge."""
        for repeat in range(1, FIRST_REPEATS + 1):
            if not self._repeat(repeat):
                return
        repeats, tried = FIRST_REPEATS, {*self.entered, *(one.label for one in self.finalists)}
        waiting = [one for one in self.deeper(self._leader()) if one.label not in tried]
        while True:
            tried |= {one.label for one in waiting}
            waiting += [one for one in changed_leaders(self._leader()) if one.label not in tried]
            if waiting:
                self._challenge(waiting.pop(0), repeats)
            if repeats < MOST_REPEATS and self._repeat(repeats + 1):
                repeats += 1
            elif not waiting:
                return

    def _repeat(self, repeat: int) -> bool:
        """Measure all finalists on a fresh repeat; return whether there was time for all of them."""
        done = [self._score(candidate, repeat, "race") for candidate in self.finalists]
        return all(done)

    def _challenge(self, candidate: Candidate, repeats: int) -> None:
        """Compare a candidate with the leader in repeat 1; if it is better and catches up in time, it joins."""
        if not self._score(candidate, 1, "race") or self.rank(candidate, 1) <= self.rank(self._leader(), 1):
            return
        if all(self._score(candidate, repeat, "race") for repeat in range(2, repeats + 1)):
            trained = sorted((one for one in self.finalists if one.is_trained), key=lambda one: -self._mean(one))
            kept = {one.label for one in trained[: LEADERS - 1]}
            self.finalists = [one for one in self.finalists if not one.is_trained or one.label in kept] + [candidate]

    def _leader(self) -> Candidate:
        """Return the best finalist on fresh repeats: a trained one where there is any."""
        return max(self.finalists, key=lambda one: (one.is_trained, self._mean(one)))

    def _mean(self, candidate: Candidate) -> float:
        fresh = [self.rank(candidate, repeat) for repeat in self.known.repeats(candidate.label) if repeat > 0]
        return fmean(fresh) if fresh else float("-inf")

    def _score(self, candidate: Candidate, repeat: int, phase: Phase, *, is_needed: bool = False) -> bool:
        """Measure a candidate unless its score is known; return False where there is no time for it."""
        label = candidate.label
        if (label, repeat) not in self.known:
            if not is_needed and not self._has_room(candidate, phase):
                return False
            self.phase, begun = phase, self.budget.used()
            scores, blocks = self.measure(candidate, repeat)
            self.known.add(label, repeat, Measurement(scores, blocks, self.budget.used() - begun))
        if repeat == 0:
            self.entered[label] = candidate
        seconds, steps = self.known[label, repeat].seconds, candidate.depth_steps or candidate.steps
        if steps:
            self.step_seconds[candidate.depth] = max(0.0, seconds - self._untrained_seconds) / steps
        else:
            self._untrained_seconds = seconds
        return True

    def _has_room(self, candidate: Candidate, phase: Phase) -> bool:
        """Tell whether a candidate may start: time is left for it, and for training the winner once more at the end."""
        expected = self.seconds(candidate)
        final = max([expected, *(self.seconds(one) for one in self.finalists)]) / self.n_folds
        return self.budget.has_room(phase, expected) and self.budget.has_room("race", expected + final)

    def seconds(self, candidate: Candidate) -> float:
        """Return how long measuring a candidate should take: its steps, each as long as those of the last training."""
        steps = candidate.depth_steps or candidate.steps
        return self._untrained_seconds + steps * self.step_seconds.get(candidate.depth, 0.0)
