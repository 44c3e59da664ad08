"""The test classes of a recommendation, opened once the choice is made: as many of their images as the time allows."""

import os
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from fairground.adaptation.adapter import AdaptedModel
from fairground.adaptation.embedding import BLOCK, round_robin
from fairground.adaptation.scores import scores_of_rows
from fairground.comparison.compare_values import compare_values
from fairground.comparison.comparison_result import Comparison
from fairground.errors import DivergedError
from fairground.recommendation.advice import UnsealedScores
from fairground.recommendation.decision import Decision, RankedMethod
from fairground.training.torch_threads import torch_threads

if TYPE_CHECKING:
    from fairground.recommendation.race_session import RaceSession

#: of the rows that trained stages could read in the time left, this share is taken
READ = 0.9
#: from this pace on the machine has other work for every processor
BUSY = 2.0
#: of the time, what ranking may take however late it is: what is embedded shall be looked at
RANKING = 0.01
#: as many images of each test class are wanted before the time for scoring them is thought of
LEAST_PER_CLASS = 4


class Unsealing:
    """Opens the test rows for `found`, whose chosen method is trained as `model`."""

    def __init__(self, session: "RaceSession", found: Decision, model: AdaptedModel) -> None:
        self.session, self.found, self.model = session, found, model
        self.bench, self.clock, self.forecast = session.bench, session.clock, session.forecast
        self.scores: dict[str, dict[str, float]] = {}
        self.blocks: dict[str, dict[int, float]] = {}
        #: the longest that scoring a method took, in seconds
        self._longest = 0.0

    def open(self) -> UnsealedScores:
        """Score the frozen network and the chosen method, then the others while there is time."""
        session, found = self.session, self.found
        self.bench.sealed.end_selection(f"the race chose {found.chosen.label}")
        session.state.n_openings += 1
        session.state.write()
        rows = self._rows(self.bench.sealed.open())
        needed = [found.frozen, *([] if found.is_frozen else [found.chosen])]
        for method in needed:
            self._score(method, rows)
        for method in found.methods:
            if method.label not in self.scores and method.candidate.depth == 0 and self._is_time_for(method):
                self._score(method, rows)
        return UnsealedScores(
            scores=self.scores,
            comparison=self._comparison(),
            n_classes=len(np.unique(self.bench.table.labels[rows])),
            n_images=len(rows),
            n_left_out=self.bench.n_test - len(rows),
            n_openings=session.state.n_openings,
        )

    def _left(self) -> float:
        """Return the seconds that are left for the test classes: model and page come after them."""
        return self.clock.limit - self.forecast.tail() - self.clock.seconds()

    def _rows(self, rows: np.ndarray) -> np.ndarray:
        """Return the rows that are embedded and can be ranked in time, about as many of each class."""
        session, bench = self.session, self.bench
        rows = round_robin(rows, bench.table.labels[rows], session.asked.seed + 11)
        tell = session.progress.counted("test images")
        least = min(len(rows), LEAST_PER_CLASS * bench.n_test_classes)
        is_read_twice = self.model.depth != 0 and bench.trunk is not None
        n_done = 0

        def heard(done: int, of: int) -> None:
            nonlocal n_done
            n_done = done
            tell(done, of)

        first = 0.5 * self._left() if is_read_twice else 0.0

        def is_time() -> bool:
            # The next block ends only when all of it is embedded.
            block = BLOCK / tell.speed if tell.speed else 0.0
            needed = first + block + self._scoring_seconds(n_done) if n_done >= least else 0.0
            return self._left() > needed

        with torch_threads(os.cpu_count() or 1):
            rows = bench.embed(rows, is_time=is_time, tell=heard)
            if is_read_twice:
                speed = tell.speed or session.speed
                n_read = int(READ * speed * (self._left() - self._scoring_seconds(len(rows))))
                rows = rows[: max(least, n_read)]
                if self.model.depth > 0:
                    bench.embed_maps(rows, depth=self.model.depth, views=1, is_time=lambda: True, tell=tell)
        n_ranked = self.forecast.rows_in(max(self._left(), RANKING * self.clock.limit), most=len(rows))
        return np.sort(rows[: max(least, n_ranked)])

    def _scoring_seconds(self, n: int) -> float:
        return 2 * self.session.pace.seconds(self.forecast.scoring(n))

    def _is_time_for(self, method: RankedMethod) -> bool:
        fitting = self.session.pace.seconds(self.forecast.fit(method.candidate))
        return fitting + 1.2 * self._longest < self._left()

    def _score(self, method: RankedMethod, rows: np.ndarray) -> None:
        session, found = self.session, self.found
        session.progress.doing(f"test classes: {method.label}")
        begun = self.clock.seconds()
        fitted = self.model if method.label == found.chosen.label else session.fit(method.candidate)
        # On a busy machine a second thread is one more that waits for the others.
        threads = 1 if session.pace.value > BUSY else os.cpu_count() or 1
        with suppress(DivergedError), torch_threads(threads):
            evaluated = scores_of_rows(
                self.bench.table, fitted.embed(rows), rows, session.asked.metrics, normalise=fitted.normalise
            )
            self.scores[method.label] = dict(evaluated.scores)
            values = np.nan_to_num(evaluated.per_class[found.metric])
            self.blocks[method.label] = dict(enumerate(session.folds.blocks(values)))
        self._longest = max(self._longest, self.clock.seconds() - begun)

    def _comparison(self) -> Comparison | None:
        """Compare the chosen method with the frozen network; with the best other where it is chosen."""
        found, blocks = self.found, self.blocks
        rivals = [one.label for one in found.methods if one.label in blocks and one.label != found.frozen.label]
        other = found.chosen.label if not found.is_frozen else next(iter(rivals), None)
        if other is None or other not in blocks or found.frozen.label not in blocks:
            return None
        pair = {label: blocks[label] for label in (found.frozen.label, other)}
        is_higher = self.session.asked.is_higher or found.metric != self.session.asked.by
        return compare_values(pair, higher_is_better=is_higher)
