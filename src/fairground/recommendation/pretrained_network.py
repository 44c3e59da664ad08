"""The pretrained network of photographs: which one suits them, and which of its last stages there is time to train.

Each network whose weights are here embeds the same sample, frozen. Validation classes decide, by what ranks the race.
What the winner has embedded is cached, so the race continues with it. Stages are trained after the best head, as many
as the cost of two steps allows.
"""

import numpy as np
import torch

from fairground.recommendation.candidates import Candidate, stage_candidates
from fairground.recommendation.cross_validation import ClassFolds, cross_validate
from fairground.recommendation.race import Race, RaceProgress
from fairground.recommendation.request import Request
from fairground.spec.adaptation_spec import ALL
from fairground.training.adaptation import Workbench
from fairground.trunks._pretrained_weights import known_weights

#: images of the sample, and images of each class that it needs
SAMPLE, LEAST_PER_CLASS = 400, 4
#: of the time, what the sample may take the first network, and each further one
FIRST_SHARE, FURTHER_SHARE = 0.05, 0.1
#: the network of the protocol, which is tried first
FIRST = "efficientnet_lite0"
#: images and steps of the probe of a stage
PROBE_IMAGES, PROBE_STEPS = 32, 2
#: steps of a training of stages: as many as fit, between these
FEWEST_STEPS, MOST_STEPS = 40, 160
#: of the time left, what caching and the trainings that a decision needs may take, and what caching alone may take
TRAINING_SHARE, CACHING_SHARE = 0.75, 0.35
#: trainings on all folds before anything is decided: repeat 1, the repeats to catch up with, and the final one
TRAININGS = 4
#: how many of the last stages are trained, the cheapest first; at the end the complete network
DEPTHS = (2, 3, ALL)
VIEWS = 3
#: bytes that cached maps may take
MOST_BYTES = 2_000_000_000


def available_trunks() -> list[str]:
    """Return the networks whose published weights are on this machine, that of the protocol first."""
    found = dict.fromkeys(known.trunk for known in known_weights() if known.path)
    return sorted(found, key=lambda trunk: trunk != FIRST)


def choose_trunk(request: Request, progress: RaceProgress, device: torch.device) -> str:
    """Return the network that suits the photographs best; empty where there is no choice."""
    if any(key.partition(".")[0] == "trunk" for key in request.base):
        progress.say(f"The network is {request.base.get('trunk', FIRST)}, as you asked.")
        return ""
    trunks = available_trunks()
    if len(trunks) < 2:
        progress.say(f"The network is {FIRST} with its ImageNet weights; `fairground weights` lists others.")
        return ""
    sample: np.ndarray | None = None
    found: dict[str, dict[str, float]] = {}
    for trunk in trunks:
        tried = try_trunk(trunk, sample, request, progress, device)
        if tried is not None:
            found[trunk], sample = tried
        elif found:
            progress.say(f"The network {trunk} is left out: it is too slow for the time.")
        else:
            progress.say(f"No time to compare networks ({', '.join(trunks)}): {trunks[0]} is used.")
            return trunks[0]
    assert sample is not None
    chosen = max(found, key=lambda trunk: request.rank(found[trunk]))
    listed = ", ".join(f"{trunk} {100 * scores[request.by]:.2f}" for trunk, scores in found.items())
    progress.say(
        f"Frozen networks on {len(sample)} images to learn from, {request.by} on validation classes in per cent: "
        f"{listed}. {chosen} is used."
    )
    return chosen


def try_trunk(
    trunk: str, sample: np.ndarray | None, request: Request, progress: RaceProgress, device: torch.device
) -> tuple[dict[str, float], np.ndarray] | None:
    """Return what a frozen network reaches, and its sample: that of the first one, or its own.

    None where it is too slow.
    """
    request, budget = request.with_trunk(trunk), progress.budget
    spec = request.spec(request.frozen)
    bench = Workbench(spec.run, is_small=False, device=device)
    least = LEAST_PER_CLASS * len(np.unique(bench.table.labels[bench.seen]))
    rows = bench.seen[: max(SAMPLE, least)] if sample is None else sample
    until = budget.used() + (FIRST_SHARE if sample is None else FURTHER_SHARE) * budget.seconds
    tell = progress.counted(f"trying {trunk}")
    done = bench.embed(rows, is_time=lambda: budget.used() < until, tell=tell)
    if len(done) < (min(least, len(rows)) if sample is None else len(rows)):
        return None
    folds = ClassFolds(rows=np.sort(done), labels=bench.table.labels[np.sort(done)], seed=request.seed)
    values = cross_validate(bench, folds, spec, 0, request.deciding)
    return {metric: float(of.mean()) for metric, of in values.items()}, done


def stages_beyond(
    leader: Candidate, race: Race, bench: Workbench, rows: np.ndarray, speed: float, progress: RaceProgress
) -> list[Candidate]:
    """Return the leader with as many last stages trained as the time allows; nothing without a trained leader.

    `rows` are embedded, so many per second as `speed` says. The maps that stages are trained on are cached here.
    """
    budget, n_folds, n = race.budget, race.n_folds, len(rows)
    found: list[Candidate] = []
    if bench.trunk is None or not leader.is_trained or leader.depth or speed <= 0:
        return found
    for depth in DEPTHS:
        left, views = budget.left("race"), 0
        what, on = "the complete network", "images"
        if depth != ALL:
            bench.embed_maps(rows[:PROBE_IMAGES], depth=depth, views=1)
            view_bytes = 2 * int(np.prod(bench.map_shape(depth))) * n
            views = int(np.clip(min(MOST_BYTES / view_bytes, CACHING_SHARE * left * speed / n), 1, VIEWS))
            what = f"the last {depth} stages"
            on = f"cached outputs of the stages before, in {views} views of each image"
        # The first step warms up.
        seconds = []
        for steps in (1, 1 + PROBE_STEPS):
            probe = stage_candidates(leader.trained_for(1), depth, steps)[0]
            begun = budget.used()
            bench.fit(race.request.spec(probe), np.sort(rows[:PROBE_IMAGES]))
            seconds.append(budget.used() - begun)
        step = max(seconds[1] - seconds[0], 1e-3) / PROBE_STEPS
        race.step_seconds[depth] = step * n_folds
        # The complete network reads its validation images again each time.
        reading = n * (TRAININGS if depth == ALL else views) / speed
        steps = int(min(MOST_STEPS, (TRAINING_SHARE * left - reading) / (TRAININGS * n_folds * step)))
        if steps < FEWEST_STEPS:
            progress.say(
                f"Training {what} is left out: a step takes {step:.2f} s here, and {FEWEST_STEPS} steps on every fold "
                "do not fit the time."
            )
            break
        if depth != ALL:
            tell = progress.counted(f"first stages of the network, {views} views")
            is_time = lambda end=0.5 * left: budget.left("race") > end  # noqa: E731
            if not bench.embed_maps(rows, depth=depth, views=views, is_time=is_time, tell=tell):
                break
        progress.say(f"Training {what}, on {on}: {steps} steps at {step:.2f} s.")
        found += stage_candidates(leader, depth, steps)
    return found
