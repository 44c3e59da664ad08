"""The part of the ending that needs no test class, done ahead: the leader trained on all seen classes."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairground.adaptation.adapter import AdaptedModel
from fairground.adaptation.final_model import find_thresholds
from fairground.deploy.metadata import Threshold
from fairground.recommendation.candidates import Candidate
from fairground.training.torch_threads import torch_threads

if TYPE_CHECKING:
    from fairground.recommendation.race_session import RaceSession

#: thresholds of fewer rows than this say too little
LEAST_ROWS = 200


@dataclass(frozen=True, kw_only=True)
class PreparedMethod:
    """A method ready to be handed over."""

    key: str
    model: AdaptedModel
    thresholds: tuple[Threshold, ...]


class EndingRehearsal:
    """Prepares what would be chosen now; a choice that stays is not prepared again."""

    def __init__(self, session: "RaceSession") -> None:
        self.session = session

    def run(self) -> None:
        """Prepare the method that would be chosen, and keep what the rest of the ending takes at the pace of now."""
        adapter = self.session.bench.adapter
        ticking, adapter.tick = adapter.tick, lambda: None
        try:
            self.prepare(self.session.decision().chosen.candidate)
        finally:
            adapter.tick = ticking
        self.session.keep_for_the_ending()

    def prepare(self, candidate: Candidate) -> PreparedMethod:
        """Return a method trained on all seen classes, with thresholds if half of the time left is enough for them."""
        session = self.session
        if session.prepared is None or session.prepared.key != candidate.key:
            model = session.fit(candidate)
            session.prepared = PreparedMethod(key=candidate.key, model=model, thresholds=self._thresholds(candidate))
        return session.prepared

    def _thresholds(self, candidate: Candidate) -> tuple[Threshold, ...]:
        session, forecast = self.session, self.session.forecast
        left = session.clock.limit - forecast.tail() - session.clock.seconds()
        most = forecast.rows_for_thresholds(candidate, 0.5 * left)
        if most < LEAST_ROWS:
            return ()
        threads = session.threads(candidate)
        with torch_threads(threads), session.pace.measured(threads) as finding:
            found = find_thresholds(session.bench, session.spec(candidate), session.folds, most_rows=most)
        n_fold = len(session.rows) // session.folds.n_folds
        forecast.hear_thresholds(candidate, min(most, n_fold), finding.work)
        return found
