"""Which pretrained network suits the photographs: each one whose weights are here embeds the same sample, frozen.

Validation classes decide, by the mean of the metrics that decide the race. What the winner has embedded is cached, so
the race continues with it.
"""

from collections.abc import Mapping
from statistics import fmean
from typing import NamedTuple

import numpy as np

from fairground.recommendation.budget import Budget, RaceProgress
from fairground.recommendation.candidates import plain
from fairground.recommendation.cross_validation import ClassFolds, CrossValidation
from fairground.recommendation.request import Request
from fairground.spec.load import load_run
from fairground.spec.measurement_names import goodness
from fairground.spec.settings import Value
from fairground.training.adaptation import Workbench
from fairground.training.published_weights import known_weights

#: images of the sample, and images of each class that it needs
SAMPLE, LEAST_PER_CLASS = 400, 4
#: of the time, what the sample may take the first network, and each further one
SHARE, MOST_SHARE = 0.05, 0.1
#: the network of the protocol, which is tried first
FIRST = "efficientnet_lite0"


class TrunkScore(NamedTuple):
    """What a frozen network reaches on a sample: the metric that was asked for, what ranks it, and the sample."""

    trunk: str
    asked: float
    rank: float
    sample: np.ndarray


def available_trunks() -> list[str]:
    """Return the networks whose published weights are on this machine, that of the protocol first."""
    found = dict.fromkeys(known.trunk for known in known_weights() if known.path)
    return sorted(found, key=lambda trunk: trunk != FIRST)


def choose_trunk(request: Request, budget: Budget, progress: RaceProgress) -> str:
    """Return the network that suits the photographs best; empty where there is no choice."""
    if any(key.partition(".")[0] == "trunk" for key in request.base):
        progress.say(f"The network is {request.base.get('trunk', FIRST)}, as you asked.")
        return ""
    trunks = available_trunks()
    if len(trunks) < 2:
        progress.say(f"The network is {FIRST} with its ImageNet weights; `fairground weights` lists others.")
        return ""
    found: list[TrunkScore] = []
    for trunk in trunks:
        score = try_trunk(trunk, found[0].sample if found else None, request, budget, progress)
        if score is not None:
            found.append(score)
        elif found:
            progress.say(f"The network {trunk} is left out: it is too slow for the time.")
        else:
            progress.say(f"No time to compare networks ({', '.join(trunks)}): {trunks[0]} is used.")
            return trunks[0]
    chosen = max(found, key=lambda one: one.rank)
    scores = ", ".join(f"{one.trunk} {100 * one.asked:.2f}" for one in found)
    progress.say(
        f"Frozen networks on {len(chosen.sample)} images to learn from, {request.by} on validation classes in per "
        f"cent: {scores}. {chosen.trunk} is used."
    )
    return chosen.trunk


def with_weights(trunk: str) -> Mapping[str, Value]:
    """Return the overrides that name a network with its published weights."""
    return {"trunk": trunk, "trunk.weights": "imagenet"} if trunk else {}


def try_trunk(
    trunk: str, sample: np.ndarray | None, request: Request, budget: Budget, progress: RaceProgress
) -> TrunkScore | None:
    """Return what a frozen network reaches; none where it is too slow for the sample of the first one, or for one."""
    base, kind, seed = {**request.base, **with_weights(trunk)}, request.choice.kind, request.seed
    bench = Workbench(load_run(protocol=kind, overrides={**base, "seed": seed}), is_small=False)
    least = LEAST_PER_CLASS * len(np.unique(bench.table.labels[bench.seen]))
    rows = bench.seen[: max(SAMPLE, least)] if sample is None else sample
    until = budget.used() + (SHARE if sample is None else MOST_SHARE) * budget.seconds
    done = bench.embed(rows, is_time=lambda: budget.used() < until, tell=progress.counted(f"trying {trunk}"))
    if len(done) < (min(least, len(rows)) if sample is None else len(rows)):
        return None
    rows = np.sort(done)
    folds = ClassFolds(rows=rows, labels=bench.table.labels[rows], seed=seed)
    deciding = request.deciding
    validation = CrossValidation(bench=bench, folds=folds, metrics=deciding, deciding=deciding)
    scores, _ = validation.score(plain(request.choice.frozen).spec(kind, base, seed), 0)
    further = [scores[metric] for metric in deciding[1:]]
    rank = fmean([goodness(scores[request.by], request.is_higher), *further])
    return TrunkScore(trunk, scores[request.by], rank, done)
