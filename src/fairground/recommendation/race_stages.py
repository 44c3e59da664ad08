"""Whether the time allows stages of the network to be trained, and what to try if it does: by a probe of their cost."""

import os
import time
from typing import TYPE_CHECKING

import numpy as np

from fairground.adaptation.workbench import MOST_BYTES, cached_bytes
from fairground.recommendation.candidates import Candidate, stage_candidates
from fairground.spec.adaptation import ALL
from fairground.training.torch_threads import torch_threads

if TYPE_CHECKING:
    from fairground.recommendation.race_session import RaceSession

#: images and steps of the probe
PROBE_IMAGES, PROBE_STEPS = 32, 2
#: steps of a training of stages: as many as fit, between these
FEWEST_STEPS, MOST_STEPS = 40, 160
#: of the time left, what caching maps and the trainings that a decision needs may take
SHARE = 0.75
#: of the time left, what caching maps alone may take
CACHING = 0.35
#: trainings on all folds before anything is decided: repeat 1, the repeats to catch up with, and the final one
TRAININGS = 4
#: how many of the last stages are trained, the cheapest first; at the end the complete network
DEPTHS = (2, 3, ALL)
VIEWS = 3


class StageProbe:
    """Asks the session's clock and network what a training of last stages would cost."""

    def __init__(self, session: "RaceSession") -> None:
        self.session = session

    def candidates(self, leader: Candidate) -> list[Candidate]:
        """Return what to try beyond the leader; nothing where there is no time, no trunk or no trained leader."""
        session = self.session
        if session.bench.trunk is None or not leader.is_trained or session.speed <= 0:
            return []
        found: list[Candidate] = []
        for depth in DEPTHS:
            with torch_threads(os.cpu_count() or 1):
                steps = self._affordable(leader, depth)
            if steps == 0:
                break
            found += stage_candidates(leader, [depth], steps)
        return found

    def _affordable(self, leader: Candidate, depth: int) -> int:
        """Return how many steps fit; 0 where too few do. The maps are cached by then."""
        session, rows = self.session, self.session.rows
        if depth != ALL:
            session.bench.embed_maps(
                rows[:PROBE_IMAGES], depth=depth, views=1, is_time=lambda: True, tell=lambda *_: None
            )
        step = self._step_seconds(leader, depth)
        left = session.clock.left()
        views = 0 if depth == ALL else self._views(depth, left)
        # The complete network reads its validation images anew each time.
        images = len(rows) * (TRAININGS if depth == ALL else views)
        seconds = SHARE * left - images / session.speed
        steps = int(min(MOST_STEPS, seconds / (TRAININGS * session.folds.n_folds * max(step, 1e-6))))
        what = "the complete network" if depth == ALL else f"the last {depth} stages"
        if steps < FEWEST_STEPS:
            session.progress.say(
                f"Training {what} is left out: a step takes {step:.2f} s here, and {FEWEST_STEPS} steps on every fold "
                "do not fit the time."
            )
            return 0
        if depth != ALL and not self._cache(depth, views, left):
            return 0
        on = "images" if depth == ALL else f"cached outputs of the stages before, in {views} views of each image"
        session.progress.say(f"Training {what}, on {on}: {steps} steps at {step:.2f} s.")
        return steps

    def _views(self, depth: int, left: float) -> int:
        """Return in how many views the maps fit memory and time."""
        session, views = self.session, VIEWS
        shape, n = session.bench.map_shape(depth), len(session.rows)
        while views > 1 and (cached_bytes(shape, n, views) > MOST_BYTES or views * n / session.speed > CACHING * left):
            views -= 1
        return views

    def _cache(self, depth: int, views: int, left: float) -> bool:
        session = self.session
        return session.bench.embed_maps(
            session.rows,
            depth=depth,
            views=views,
            is_time=lambda: session.clock.left() > 0.5 * left,
            tell=session.progress.counted(f"first stages of the network, {views} views"),
        )

    def _step_seconds(self, leader: Candidate, depth: int) -> float:
        """Return what a step takes, the first one left out: it warms up."""
        session = self.session
        rows, seconds = np.sort(session.rows[:PROBE_IMAGES]), []
        for steps in (1, 1 + PROBE_STEPS):
            candidate = stage_candidates(leader.trained_for(1), [depth], steps)[0]
            begun = time.monotonic()
            session.bench.adapter.fit(session.spec(candidate), rows)
            seconds.append(time.monotonic() - begun)
        return max(seconds[1] - seconds[0], 1e-3) / PROBE_STEPS
