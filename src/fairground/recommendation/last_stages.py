"""Which last stages of the network there is time to train after the best head: by the cost of two steps."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fairground.recommendation.budget import Budget, RaceProgress
from fairground.recommendation.candidates import Candidate, stage_candidates
from fairground.spec.adaptation import ALL, AdaptationSpec
from fairground.training.adaptation import Workbench

#: images and steps of the probe
PROBE_IMAGES, PROBE_STEPS = 32, 2
#: steps of a training of stages: as many as fit, between these
FEWEST_STEPS, MOST_STEPS = 40, 160
#: of the time left, what caching and the trainings that a decision needs may take, and what caching alone may take
SHARE, CACHING = 0.75, 0.35
#: trainings on all folds before anything is decided: repeat 1, the repeats to catch up with, and the final one
TRAININGS = 4
#: how many of the last stages are trained, the cheapest first; at the end the complete network
DEPTHS = (2, 3, ALL)
VIEWS = 3
#: bytes that cached maps may take
MOST_BYTES = 2_000_000_000


@dataclass
class StageTraining:
    """`speed` is in images per second, `spec_of` makes the spec of a candidate.

    `step_seconds` learns what a step on all folds takes, by the number of stages trained.
    """

    bench: Workbench
    rows: np.ndarray
    n_folds: int
    speed: float
    budget: Budget
    progress: RaceProgress
    spec_of: Callable[[Candidate], AdaptationSpec]
    step_seconds: dict[int, float]

    def candidates(self, leader: Candidate) -> list[Candidate]:
        """Return what to try beyond the leader; nothing without time, a trunk or a trained leader."""
        found: list[Candidate] = []
        if self.bench.trunk is None or not leader.is_trained or leader.depth or self.speed <= 0:
            return found
        for depth in DEPTHS:
            steps = self._affordable(leader, depth)
            if steps == 0:
                break
            found += stage_candidates(leader, depth, steps)
        return found

    def _affordable(self, leader: Candidate, depth: int) -> int:
        """Return how many steps fit, and cache the maps that they need; 0 where too few fit."""
        left, views = self.budget.left("race"), 0
        if depth != ALL:
            self.bench.embed_maps(self.rows[:PROBE_IMAGES], depth=depth, views=1)
            views = self._views(depth, left)
        step = self._probe_step(leader, depth)
        self.step_seconds[depth] = step * self.n_folds
        # The complete network reads its validation images again each time.
        images = len(self.rows) * (TRAININGS if depth == ALL else views)
        seconds = SHARE * left - images / self.speed
        steps = int(min(MOST_STEPS, seconds / (TRAININGS * self.n_folds * step)))
        what = "the complete network" if depth == ALL else f"the last {depth} stages"
        if steps < FEWEST_STEPS:
            self.progress.say(
                f"Training {what} is left out: a step takes {step:.2f} s here, and {FEWEST_STEPS} steps on every fold "
                "do not fit the time."
            )
            return 0
        if depth != ALL and not self.bench.embed_maps(
            self.rows,
            depth=depth,
            views=views,
            is_time=lambda: self.budget.left("race") > 0.5 * left,
            tell=self.progress.counted(f"first stages of the network, {views} views"),
        ):
            return 0
        on = "images" if depth == ALL else f"cached outputs of the stages before, in {views} views of each image"
        self.progress.say(f"Training {what}, on {on}: {steps} steps at {step:.2f} s.")
        return steps

    def _views(self, depth: int, left: float) -> int:
        """Return in how many views the maps fit disk and time."""
        views, n = VIEWS, len(self.rows)
        view_bytes = 2 * int(np.prod(self.bench.map_shape(depth))) * n
        while views > 1 and (views * view_bytes > MOST_BYTES or views * n / self.speed > CACHING * left):
            views -= 1
        return views

    def _probe_step(self, leader: Candidate, depth: int) -> float:
        """Return what a step takes, the first one left out: it warms up."""
        rows, seconds = np.sort(self.rows[:PROBE_IMAGES]), []
        for steps in (1, 1 + PROBE_STEPS):
            probe = stage_candidates(leader.trained_for(1), depth, steps)[0]
            begun = self.budget.used()
            self.bench.fit(self.spec_of(probe), rows)
            seconds.append(self.budget.used() - begun)
        return max(seconds[1] - seconds[0], 1e-3) / PROBE_STEPS
