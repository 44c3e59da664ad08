"""The race: from cheap to dear, each step leaving an answer, until the time is over.

    1. the network as it is, then with discriminants, on principal axes and whitened, on the folds of repeat 0
    2. heads and losses with their settings, in rounds: each round trains three times as long, and a third goes on;
       those that start from a discriminant start from the best one
    3. the leaders on fresh repeats, in which every class validates again in another fold, with another seed
    4. challengers: last stages trained after the best head, then the leader with one thing changed; whoever beats it in
       repeat 1 joins. In between, further repeats.
Repeat 0 only decides who goes on. What is recommended is decided on the fresh repeats, so that the best of hundreds by
chance has no advantage. Nothing here opens the test split, and every score that is known already is read, not made.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from fairground.recommendation.candidates import STEPS, Candidate, challengers, started_from
from fairground.recommendation.measurements import Measurement, Measurements
from fairground.recommendation.race_clock import RaceClock, TimeUpError
from fairground.spec.measurement_names import goodness

#: of the time left, this share may go to what is not trained
UNTRAINED_SHARE = 0.2
#: of the time left, this share goes to rounds on repeat 0
ROUNDS = 0.45
#: candidates that the first round measures whatever it takes, and that go on at least
LEAST = 3
#: fresh repeats before anything dearer is tried
FIRST_REPEATS = 2
#: trained methods that are confirmed on fresh repeats
LEADERS = 3
MOST_REPEATS = 30

#: trains a candidate on the folds of a repeat and scores it; raises `TimeUpError` when the time is over
Measure = Callable[[Candidate, int], Measurement]
#: what to try beyond the leader: makes sure first that there is time for it
Deeper = Callable[[Candidate], Iterable[Candidate]]
OnMeasured = Callable[[Candidate, Measurement], None]


@dataclass
class Race:
    """`frozen` are the ways to use the network untrained, the plain one first; `trained` is the field of methods."""

    frozen: Sequence[Candidate]
    trained: Sequence[Candidate]
    measure: Measure
    known: Measurements
    clock: RaceClock
    metric: str
    higher_is_better: bool = True
    #: decides where the first metric shows nothing; more of it is better
    second: str | None = None
    deeper: Deeper = lambda _: ()
    on_measured: OnMeasured = lambda *_: None
    #: what was measured on repeat 0, in the order it was measured
    entered: dict[str, Candidate] = field(default_factory=dict)
    #: what is confirmed on fresh repeats, the plain frozen network first
    finalists: list[Candidate] = field(default_factory=list)
    stage: str = "frozen"
    #: what was found to be dearer than a leader, so that it is asked once
    _deeper_than: dict[str, list[Candidate]] = field(default_factory=dict)

    def run(self) -> bool:
        """Race until the time is over, or nothing is left to try; return which. Called again, it goes on."""
        try:
            self._frozen()
            self._rounds()
            self._choose_finalists()
            for repeat in range(1, FIRST_REPEATS + 1):
                self._repeat(repeat)
            self._improve()
        except TimeUpError:
            return True
        return False

    @property
    def deciding(self) -> tuple[str, ...]:
        """The metrics that decide, in that order."""
        return (self.metric,) if self.second in (None, self.metric) else (self.metric, str(self.second))

    def goodness(self, candidate: Candidate, repeat: int = 0) -> float:
        """Return a score, turned so that more is better; minus infinity where there is none."""
        found = self.known.get(candidate.key, repeat)
        return float("-inf") if found is None else goodness(found.scores[self.metric], self.higher_is_better)

    def rank(self, candidate: Candidate, repeat: int = 0) -> float:
        """Return what the race goes by: the mean of the metrics that decide, each turned so that more is better.

        The second hardly wobbles where the first counts hits and misses alone.
        """
        found = self.known.get(candidate.key, repeat)
        if found is None:
            return float("-inf")
        further = [found.scores[metric] for metric in self.deciding[1:]]
        return fmean([goodness(found.scores[self.metric], self.higher_is_better), *further])

    def _frozen(self) -> None:
        start = self.clock.seconds()
        for number, candidate in enumerate(self.frozen):
            used = self.clock.seconds() - start
            if number > LEAST and used >= UNTRAINED_SHARE * (used + self.clock.left()):
                break
            self._score(candidate, 0)
        self.finalists = [self.frozen[0]]

    def _rounds(self) -> None:
        """Train all, then a third of them three times as long, and again; each round has the same time."""
        self.stage = "rounds"
        start = self.clock.seconds()
        discriminants = [one for one in self.entered.values() if "head=plda" in one.words]
        best = max(discriminants, key=self.rank, default=None)
        pool = list(self.trained) if best is None else [started_from(one, best) for one in self.trained]
        for number, steps in enumerate(STEPS):
            share = ROUNDS * (number + 1) / len(STEPS)
            scored: list[Candidate] = []
            for one in pool:
                used = self.clock.seconds() - start
                # The time left is asked anew: what is kept for the ending grows as its cost becomes known.
                is_enough = number > 0 or len(scored) >= LEAST
                if is_enough and used >= share * (used + self.clock.left()):
                    break
                candidate = one.trained_for(steps)
                self._score(candidate, 0)
                scored.append(candidate)
            # Entered one after another, so that a stop within a round still has leaders.
            scored.sort(key=lambda candidate: -self.rank(candidate))
            if not scored:
                break
            pool = scored[: max(LEAST, len(scored) // 3)]

    def _choose_finalists(self) -> None:
        """Take the plain frozen network, the best other way to use it untrained, and the best trained methods.

        As many of these as there is time to repeat, but one at least.
        """
        ranked = sorted(self.entered.values(), key=lambda candidate: -self.rank(candidate))
        untrained = [one for one in ranked if not one.is_trained and one.key != self.frozen[0].key]
        trained: list[Candidate] = []
        for one in ranked:
            # One method at several lengths would fill all places.
            if one.is_trained and all(one.words != other.words for other in trained):
                trained.append(one)
        least = [self.frozen[0], *untrained[:1]]
        leaders = trained[:LEADERS]
        while len(leaders) > 1 and FIRST_REPEATS * self._seconds([*least, *leaders]) > self.clock.left():
            leaders.pop()
        # The best first, so that a stop within a repeat has compared it.
        self.finalists = [self.frozen[0], *sorted([*untrained[:1], *leaders], key=lambda one: -self.rank(one))]

    def _seconds(self, candidates: Sequence[Candidate]) -> float:
        """Return what measuring these once took."""
        return sum(found.seconds for one in candidates if (found := self.known.get(one.key, 0)) is not None)

    def _repeat(self, repeat: int) -> None:
        self.stage = "repeats"
        for candidate in list(self.finalists):
            self._score(candidate, repeat)

    def _improve(self) -> None:
        """Try what is dearer, then the leader changed; a further repeat after each, until the time is over."""
        self.stage = "challengers"
        leader = self._leader()
        if leader.key not in self._deeper_than:
            self._deeper_than[leader.key] = list(self.deeper(leader))
        waiting = [one for one in self._deeper_than[leader.key] if self.known.get(one.key, 1) is None]
        tried = {candidate.key for candidate in (*self.entered.values(), *self.finalists)}
        repeats = FIRST_REPEATS
        while True:
            waiting += [one for one in challengers(self._leader()) if one.key not in tried]
            tried |= {one.key for one in waiting}
            if waiting:
                self._challenge(waiting.pop(0), repeats)
            elif repeats >= MOST_REPEATS:
                return
            if repeats < MOST_REPEATS and (not waiting or self.clock.left() > 0):
                repeats += 1
                self._repeat(repeats)

    def _challenge(self, candidate: Candidate, repeats: int) -> None:
        """Hold a candidate against the leader in repeat 1; better, it joins and catches up."""
        self._score(candidate, 1)
        if self.rank(candidate, 1) <= self.rank(self._leader(), 1):
            return
        for repeat in range(2, repeats + 1):
            self._score(candidate, repeat)
        trained = sorted((one for one in self.finalists if one.is_trained), key=lambda one: -self._mean(one))
        kept = {one.key for one in trained[: LEADERS - 1]}
        self.finalists = [one for one in self.finalists if not one.is_trained or one.key in kept] + [candidate]

    def _leader(self) -> Candidate:
        """Return the best finalist on fresh repeats: a trained one where there is any."""
        return max(self.finalists, key=lambda one: (one.is_trained, self._mean(one)))

    def _mean(self, candidate: Candidate) -> float:
        fresh = [self.rank(candidate, repeat) for repeat in self.known.repeats(candidate.key) if repeat > 0]
        return sum(fresh) / len(fresh) if fresh else float("-inf")

    def _score(self, candidate: Candidate, repeat: int) -> None:
        if repeat == 0:
            self.entered[candidate.key] = candidate
        if self.known.get(candidate.key, repeat) is None:
            self.clock.tick()
            found = self.measure(candidate, repeat)
            self.known.add(found)
            self.on_measured(candidate, found)
