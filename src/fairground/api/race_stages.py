"""Whether the time allows the last stages of the network to be trained, and what to try if it does: by a pilot."""

import os
import time
from typing import TYPE_CHECKING

import numpy as np

from fairground.adaptation.workbench import MOST_BYTES, cached_bytes
from fairground.api.torch_threads import torch_threads
from fairground.recommend.candidates import Candidate, stage_candidates

if TYPE_CHECKING:
    from fairground.api.race_session import RaceSession

#: images and steps of the pilot
PILOT_IMAGES, PILOT_STEPS = 32, 2
#: steps of a training of last stages: as many as fit, between these
FEWEST_STEPS, MOST_STEPS = 40, 160
#: of the time left, what caching maps and the trainings that a decision needs may take
SHARE = 0.75
#: trainings on all folds before anything is decided: repeat 1, the repeats to catch up with, and the final one
TRAININGS = 4
DEPTHS = (2, 3)
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
            steps = self._affordable(leader, depth)
            if steps:
                found += stage_candidates(leader, [depth], steps)
            else:
                break
        return found

    def _affordable(self, leader: Candidate, depth: int) -> int:
        """Return how many steps fit; 0 where too few do. The maps are cached by then."""
        session, bench, rows = self.session, self.session.bench, self.session.rows
        shape = bench.map_shape(depth)
        views = VIEWS
        while views > 1 and cached_bytes(shape, len(rows), views) > MOST_BYTES:
            views -= 1
        few = rows[:PILOT_IMAGES]
        with torch_threads(os.cpu_count() or 1):
            bench.embed_maps(few, depth=depth, views=1, is_time=lambda: True, tell=lambda *_: None)
            step = self._step_seconds(leader, depth, few)
            left = session.clock.left()
            while views > 1 and views * len(rows) / session.speed > 0.35 * left:
                views -= 1
            caching = views * len(rows) / session.speed
            fits = (SHARE * left - caching) / (TRAININGS * session.folds.n_folds * max(step, 1e-6))
            steps = int(min(MOST_STEPS, fits))
            if steps < FEWEST_STEPS:
                session.progress.say(
                    f"Training the last {depth} stages is left out: a step takes {step:.2f} s here, and {FEWEST_STEPS} "
                    "steps on every fold do not fit the time."
                )
                return 0
            counted = session.progress.counted(f"first stages of the network, {views} views")
            is_complete = bench.embed_maps(
                rows, depth=depth, views=views, is_time=lambda: session.clock.left() > 0.5 * left, tell=counted
            )
        if not is_complete:
            return 0
        session.progress.say(
            f"The last {depth} stages are trained on cached outputs of the stages before, in {views} views of each "
            f"image: {steps} steps at {step:.2f} s."
        )
        return steps

    def _step_seconds(self, leader: Candidate, depth: int, rows: np.ndarray) -> float:
        """Return what a step takes, the first one left out: it warms up."""
        session = self.session
        seconds = []
        for steps in (1, 1 + PILOT_STEPS):
            candidate = stage_candidates(leader.trained_for(1), [depth], steps)[0]
            spec = session.spec(candidate)
            begun = time.monotonic()
            session.bench.adapter.fit(spec, np.sort(rows))
            seconds.append(time.monotonic() - begun)
        return max(seconds[1] - seconds[0], 1e-3) / PILOT_STEPS
