"""Which pretrained network suits the photographs: each one whose weights are here embeds a sample, frozen.

Validation classes decide, by the mean of the metrics that decide the race; the test classes are not looked at. What the
winner has embedded is kept, so that the race goes on with it.
"""

import os
from dataclasses import dataclass, replace
from statistics import fmean

import numpy as np

from fairground.adaptation.cross_validation import CrossValidation
from fairground.adaptation.workbench import Workbench
from fairground.recommendation.candidates import Candidate
from fairground.recommendation.race_clock import RaceClock
from fairground.recommendation.race_progress import RaceProgress
from fairground.recommendation.race_request import RaceRequest
from fairground.recommendation.race_state import RaceState
from fairground.spec.load import load_run
from fairground.spec.measurement_names import goodness
from fairground.training.torch_threads import torch_threads
from fairground.training.weights import known_weights

#: images of the sample, and images of each class that it needs to say anything
SAMPLE, LEAST_PER_CLASS = 400, 4
#: of the time, what the sample may take the first network, and each further one
SHARE, MOST_SHARE = 0.05, 0.1
#: the network of the protocol, which is tried first
FIRST = "efficientnet_lite0"


@dataclass(frozen=True, kw_only=True)
class TrunkScore:
    """What a frozen network reached on the sample: the metric that was asked for, and what ranks it."""

    trunk: str
    asked: float
    rank: float


def available_trunks() -> list[str]:
    """Return the networks whose published weights are on this machine, that of the protocol first."""
    found = dict.fromkeys(known.trunk for known in known_weights() if known.path)
    return sorted(found, key=lambda trunk: trunk != FIRST)


def with_trunk(asked: RaceRequest, *, clock: RaceClock, state: RaceState, progress: RaceProgress) -> RaceRequest:
    """Return what is asked with the network that suits the data best; as it is where there is no choice."""
    if asked.choice.kind != "photographs":
        return asked
    named = [word.partition("=")[2] for word in asked.base if word.partition("=")[0] == "trunk"]
    if named or any(word.startswith("trunk.") for word in asked.base):
        progress.say(f"The network is {named[-1] if named else FIRST}, as you said.")
        return asked
    if not state.trunk:
        trunks = available_trunks()
        if len(trunks) < 2:
            progress.say(f"The network is {FIRST} with its ImageNet weights; `fairground weights` lists others.")
            return asked
        state.trunk = TrunkTrial(asked, clock, progress).best(trunks)
        state.write()
    return replace(asked, base=(*asked.base, *trunk_words(state.trunk)))


def trunk_words(trunk: str) -> tuple[str, ...]:
    """Return the words that name a network with its published weights."""
    return (f"trunk={trunk}", "trunk.weights=imagenet")


class TrunkTrial:
    """Embeds the same sample with one network after another."""

    def __init__(self, asked: RaceRequest, clock: RaceClock, progress: RaceProgress) -> None:
        self.asked, self.clock, self.progress = asked, clock, progress
        #: the images that the first network embedded in its time; the others have to keep up
        self.sample: np.ndarray | None = None

    def best(self, trunks: list[str]) -> str:
        """Return the network that ranks highest on the sample; the first where there is no time to compare."""
        found: list[TrunkScore] = []
        for trunk in trunks:
            score = self._score(trunk)
            if score is None and not found:
                self.progress.say(f"No time to compare networks ({', '.join(trunks)}): {trunks[0]} is taken.")
                return trunks[0]
            if score is None:
                self.progress.say(f"The network {trunk} is left out: it is too slow for the time.")
            else:
                found.append(score)
        chosen = max(found, key=lambda one: one.rank)
        assert self.sample is not None
        scores = ", ".join(f"{one.trunk} {100 * one.asked:.2f}" for one in found)
        self.progress.say(
            f"Frozen networks on {len(self.sample)} images to learn from, {self.asked.by} on validation classes in per "
            f"cent: {scores}. {chosen.trunk} is taken."
        )
        return chosen.trunk

    def _score(self, trunk: str) -> TrunkScore | None:
        """Return what a network reaches on the sample; nothing where it is too slow for it."""
        asked = self.asked
        base = (*asked.base, *trunk_words(trunk))
        bench = Workbench(load_run(protocol=asked.choice.kind, overrides=[*base, f"seed={asked.seed}"]), is_small=False)
        least = LEAST_PER_CLASS * len(np.unique(bench.table.labels[bench.seen]))
        rows = bench.seen[: max(SAMPLE, least)] if self.sample is None else self.sample
        until = self.clock.seconds() + (SHARE if self.sample is None else MOST_SHARE) * self.clock.limit
        with torch_threads(os.cpu_count() or 1):
            there = bench.embed(
                rows, is_time=lambda: self.clock.seconds() < until, tell=self.progress.counted(f"trying {trunk}")
            )
        if len(there) < (min(least, len(rows)) if self.sample is None else len(rows)):
            return None
        self.sample = there
        return self._measured(trunk, bench, base, np.sort(there))

    def _measured(self, trunk: str, bench: Workbench, base: tuple[str, ...], rows: np.ndarray) -> TrunkScore:
        asked, deciding = self.asked, self.asked.deciding
        frozen = Candidate(name=asked.choice.frozen, words=("head=identity",))
        validation = CrossValidation(
            adapter=bench.adapter, folds=bench.folds(rows), metrics=deciding, deciding=deciding
        )
        scores = validation.score(frozen.spec(asked.choice.kind, base, asked.seed), 0).scores
        rank = fmean([goodness(scores[asked.by], asked.is_higher), *(scores[metric] for metric in deciding[1:])])
        return TrunkScore(trunk=trunk, asked=scores[asked.by], rank=rank)
