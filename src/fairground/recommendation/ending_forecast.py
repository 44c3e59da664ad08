"""What the ending of a recommendation should take: measured on the way, said in seconds at the machine's pace."""

import math
import os
from typing import TYPE_CHECKING

from fairground.recommendation.candidates import Candidate

if TYPE_CHECKING:
    from fairground.recommendation.race_session import RaceSession

#: what is kept beyond what the ending should take, on an idle machine and at most; a busy one is less steady
SLACK, PER_PACE, MOST_SLACK = 1.1, 0.05, 1.6
#: seconds of work: two decisions, and beyond that for each method tried; the least of a ranking; the program's own end
DECIDING, PER_METHOD, LEAST_RANKING, LEAVING = 0.4, 0.008, 0.03, 0.25
#: seconds of work for the model's folder, and beyond that for each byte of weights: hashed, copied and written
FOLDER, PER_BYTE = 0.05, 2e-8
#: verification looks at every pair, as ranking does, and sorts what it sees
THRESHOLDS = 2.5
#: rows that thresholds are found on, at most: pairs grow with their square
MOST_ROWS = 5000
#: of the time, at most this share is kept for embedding test images: they only judge
MOST_TEST = 0.3
#: however fast thresholds were found, scoring takes this share of its forecast
LEAST_FOUND = 0.3
#: how much faster all threads rank than one does
SHARED = 1.5 if (os.cpu_count() or 1) > 1 else 1.0
#: methods that the test classes are opened for whatever it takes: frozen and chosen
OPENED = 2


class EndingForecast:
    """Forecasts of single pieces are in seconds of work, sums in seconds."""

    def __init__(self, session: "RaceSession") -> None:
        self.session = session
        #: work of writing the page, and of ranking and embedding all folds of the frozen network, once measured
        self.page, self._ranking, self._embedding = 0.0, math.inf, math.inf
        #: what thresholds took, of what they were to take: the first measurement has much to load
        self._found = 1.0

    @property
    def slack(self) -> float:
        """How many times its forecast is kept for the ending."""
        return min(MOST_SLACK, SLACK + PER_PACE * (self.session.pace.value - 1))

    def hear_frozen(self, *, ranking: float, embedding: float) -> None:
        """Take the work that all folds of the frozen network took; the first time has more to load."""
        self._ranking, self._embedding = min(self._ranking, ranking), min(self._embedding, embedding)

    def hear_thresholds(self, candidate: Candidate, n: int, work: float) -> None:
        """Take the work of finding thresholds on n rows: it shows what ranking takes by now."""
        self._found = min(1.0, max(LEAST_FOUND, self._found * work / self.thresholds(candidate, n)))

    def fit(self, candidate: Candidate) -> float:
        """Return the work of training a method once; nothing where it was never measured."""
        known = self.session.known
        found = known.get(candidate.key, 1) or known.get(candidate.key, 0)
        return 0.0 if found is None else found.work / self.session.folds.n_folds

    def scoring(self, n: int) -> float:
        """Return the work of embedding and ranking n rows: everything is held against everything."""
        rows, n_folds = max(len(self.session.rows), 1), self.session.folds.n_folds
        if math.isinf(self._ranking):
            return LEAST_RANKING
        grown = n / rows
        return LEAST_RANKING + self._found * (n_folds * grown**2 * self._ranking + grown * self._embedding)

    def thresholds(self, candidate: Candidate, n: int) -> float:
        """Return the work of finding thresholds on n rows, by a method trained without their classes."""
        return self.fit(candidate) + THRESHOLDS * self.scoring(n)

    def writing(self) -> float:
        """Return the work of model and page, and of leaving."""
        trunk = self.session.bench.trunk
        n_bytes = 0 if trunk is None else sum(one.numel() * one.element_size() for one in trunk.state_dict().values())
        return 1.2 * max(self.page, 0.1) + FOLDER + PER_BYTE * n_bytes + LEAVING

    def tail(self) -> float:
        """Return the seconds to keep for what follows the test classes."""
        return self.slack * self.session.pace.seconds(self.writing())

    def seconds(self) -> float:
        """Return what to keep for everything: training, thresholds, test classes, model and page."""
        session = self.session
        ready = "" if session.prepared is None else session.prepared.key
        waiting = [one for one in session.race.finalists if one.key != ready]
        n_fold = min(MOST_ROWS, len(session.rows) // session.folds.n_folds)
        dearest = max((self.fit(one) + self.thresholds(one, n_fold) for one in waiting), default=0.0)
        work = DECIDING + PER_METHOD * len(session.known.methods()) + dearest + self.writing()
        # Test classes are scored on all threads, validation classes on one.
        work += OPENED * self.scoring(session.bench.n_test) / SHARED
        # Test images that are late are left out and counted, so that they need no slack.
        return self.embedding() + self.slack * session.pace.seconds(work)

    def embedding(self) -> float:
        """Return the seconds to embed the test images; trained stages read all of them once more."""
        speed = self.session.speed
        passes = 2 if any(one.depth for one in self.session.race.finalists) else 1
        seconds = passes * self.session.bench.n_test / speed if speed else 0.0
        return min(MOST_TEST * self.session.clock.limit, seconds)

    def rows_in(self, seconds: float, *, most: int, methods: int = OPENED) -> int:
        """Return how many of `most` rows can be scored in so many seconds for so many methods."""
        fits = self.slack * methods * self.session.pace.value / SHARED

        def is_too_dear(n: int) -> bool:
            return fits * self.scoring(n) > seconds

        low, high = 0, most
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (low, middle - 1) if is_too_dear(middle) else (middle, high)
        return low

    def rows_for_thresholds(self, candidate: Candidate, seconds: float) -> int:
        """Return on how many rows thresholds can be found in so many seconds; a training comes first."""
        left = seconds - self.slack * self.session.pace.seconds(self.fit(candidate))
        return self.rows_in(left / THRESHOLDS / SHARED, most=MOST_ROWS, methods=1)
