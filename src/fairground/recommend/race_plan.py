"""How a race fits into its time: successive halving whose every piece has been priced by a cost probe.

Formula
    rungs        after ceil(R / 3), ceil(2 R / 3) and R of R epochs; n methods start, ceil(n / 2) go on, then
                 max(2, ceil(n / 4)); nothing is trained twice, for a run goes on where it paused
    seconds      sum over rungs of ceil(n / workers) (start + epochs (batches batch + look)), and likewise for the
                 leaders' further seeds; then the openings of the test split, the page and the model
    the plan     the first whose seconds fit into the time: seeds are saved first, then training down to half, then
                 methods down to half, then training again

Paper
    Jamieson and Talwalkar, "Non-stochastic Best Arm Identification and Hyperparameter Optimization", AISTATS 2016.

Departures from the paper
    Rungs are fewer and farther apart: each costs a barrier at which workers wait for each other. The first comes late,
    for objectives that learn vectors of classes start slowly and overtake others in the second half of training.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from fairground.errors import InputError, require

#: how much longer things take than a cost probe says, on a machine that also does something else
SLACK = 1.2
#: seconds to draw the page and to write the model
ENDING = 15.0
#: how many methods get several seeds, and how many seeds each
LEADERS, SEEDS = 2, 3
#: the smallest field worth the name of a race
LEAST_METHODS = 3
#: shares of the protocol's training tried in turn where all of it does not fit, and looks at validation on the way
SHARES = (0.75, 0.5, 0.35, 0.25, 0.15, 0.1, 0.05, 0.02, 0.01)
VALIDATIONS = 6
LEAST_BATCHES = 5


@dataclass(frozen=True, kw_only=True)
class Costs:
    """What a cost probe measured, in seconds of one worker: to take up a run, a batch, a look, an opening of test.

    `n_batches` is how many batches the protocol's epoch has, `memory` the peak in bytes.
    """

    start: float
    batch: float
    look: float
    opening: float
    n_batches: int
    memory: int


@dataclass(frozen=True, kw_only=True)
class Rung:
    """`n` runs are trained to the end of epoch `epochs`."""

    epochs: int
    n: int


@dataclass(frozen=True, kw_only=True)
class RacePlan:
    """All that is decided before the race: how long a run trains in all, the rungs, and the leaders' seeds."""

    epochs: int
    batches_per_epoch: int
    rungs: tuple[Rung, ...]
    leaders: int = LEADERS
    seeds: int = SEEDS

    def epoch_seconds(self, costs: Costs) -> float:
        """Return what one epoch and the look after it take."""
        return self.batches_per_epoch * costs.batch + costs.look

    def run_seconds(self, costs: Costs) -> float:
        """Return what one run takes from its first look to its last epoch."""
        return costs.start + costs.look + self.epochs * self.epoch_seconds(costs)

    def race_seconds(self, costs: Costs, *, workers: int) -> float:
        """Return what the rungs and the leaders' further seeds take."""
        total, before = 0.0, 0
        for rung in self.rungs:
            first_look = costs.look if before == 0 else 0.0
            piece = costs.start + first_look + (rung.epochs - before) * self.epoch_seconds(costs)
            total += math.ceil(rung.n / workers) * piece
            before = rung.epochs
        further = self.leaders * (self.seeds - 1)
        return total + math.ceil(further / workers) * self.run_seconds(costs)

    def ending_seconds(self, costs: Costs, *, workers: int, n_to_open: int = 0) -> float:
        """Return what is needed after the race: openings of at least the leaders' runs, the page and the model."""
        openings = math.ceil((max(self.leaders * self.seeds, n_to_open) + 1) / workers)
        return openings * (costs.start + costs.opening) + ENDING

    def seconds(self, costs: Costs, *, workers: int) -> float:
        """Return what all of it takes, with slack."""
        return SLACK * (self.race_seconds(costs, workers=workers) + self.ending_seconds(costs, workers=workers))


def rungs_of(epochs: int, n: int) -> tuple[Rung, ...]:
    """Return the rungs of `n` methods that train `epochs` epochs at most."""
    lengths = sorted({math.ceil(epochs / 3), math.ceil(2 * epochs / 3), epochs})
    sizes = (n, math.ceil(n / 2), max(2, math.ceil(n / 4)))
    # The last rung is always the shortest list: with fewer rungs the halving is faster.
    kept = sizes if len(lengths) == 3 else ((sizes[0], sizes[2]) if len(lengths) == 2 else (n,))
    return tuple(Rung(epochs=length, n=min(size, n)) for length, size in zip(lengths, kept, strict=True))


def plans(costs: Costs, *, epochs: int, n_methods: int) -> Iterator[RacePlan]:
    """Yield plans from the one most wished for to the least.

    Training is shortened to half before anybody is left out, for the best of all may be the one that did not start.
    Then the field shrinks to half, and training again.
    """
    lengths = list(_lengths(costs, epochs))
    n_long = sum(2 * length * batches >= epochs * costs.n_batches for length, batches in lengths)
    fields = [n for n in range(n_methods, 0, -1) if n >= max(LEAST_METHODS, n_methods / 2)] or [n_methods]
    for position, (length, batches) in enumerate(lengths):
        for n in fields if position >= n_long - 1 else fields[:1]:
            for seeds in (SEEDS, 2):
                yield _plan(length, batches, n, seeds)
    # Better a short race of few than none: the least there is.
    yield _plan(*lengths[-1], min(LEAST_METHODS, n_methods), 2)


def plan_race(costs: Costs, *, seconds: float, workers: int, epochs: int, n_methods: int, limit: float) -> RacePlan:
    """Return the first plan that fits into `seconds`; refuse a time too short for any, naming the shortest.

    `limit` is the time that was given, of which `seconds` are left.
    """
    least = 0.0
    for plan in plans(costs, epochs=epochs, n_methods=n_methods):
        least = plan.seconds(costs, workers=workers)
        if least <= seconds:
            return plan
    need = limit - seconds + least
    require(
        False,
        f"{duration_words(limit)} is too short for a race on this data: by a cost probe on this machine the shortest "
        f"takes {duration_words(_round_up(need))}. Say --time {duration_option(_round_up(need))}, or more workers; "
        "photographs can also be embedded once with a frozen network, to race on the features, which is hundreds of "
        "times faster",
        InputError,
    )
    raise AssertionError


def duration_words(seconds: float) -> str:
    """Return a time in words: '90 seconds', '30 minutes', '2.5 hours'."""
    for size, word in ((3600, "hour"), (60, "minute")):
        if seconds >= (2 if size == 60 else 1.5) * size or seconds == size:
            number = f"{seconds / size:.1f}".removesuffix(".0")
            return f"{number} {word}{'' if number == '1' else 's'}"
    return f"{seconds:.0f} seconds"


def duration_option(seconds: float) -> str:
    """Return a time as the command line takes it: 90s, 30m or 2h."""
    for size, letter in ((3600, "h"), (60, "m")):
        if seconds >= size and seconds % size == 0:
            return f"{seconds / size:.0f}{letter}"
    return f"{seconds:.0f}s"


def _plan(epochs: int, batches: int, n: int, seeds: int) -> RacePlan:
    return RacePlan(
        epochs=epochs,
        batches_per_epoch=batches,
        rungs=rungs_of(epochs, n),
        leaders=min(LEADERS, n),
        seeds=seeds,
    )


def _lengths(costs: Costs, epochs: int) -> Iterator[tuple[int, int]]:
    """Yield epochs and batches an epoch: the protocol's first, then shares of it with fewer looks at validation."""
    yield epochs, costs.n_batches
    full = epochs * costs.n_batches
    for share in SHARES:
        if share * full < LEAST_BATCHES:
            return
        length = min(epochs, VALIDATIONS) if share * full >= VALIDATIONS * LEAST_BATCHES else 1
        yield length, max(LEAST_BATCHES, round(share * full / length))


def _round_up(seconds: float) -> float:
    step = 30 if seconds < 600 else 300
    return float(step * math.ceil(seconds / step))
