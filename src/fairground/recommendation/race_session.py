"""One session of a recommendation: embed, draw the folds, race until the time is over."""

import hashlib
import os

import numpy as np
import torch

from fairground.adaptation.adapter import AdaptedModel
from fairground.adaptation.class_folds import ClassFolds
from fairground.adaptation.cross_validation import CrossValidation
from fairground.adaptation.embedding import BLOCK
from fairground.adaptation.workbench import Workbench
from fairground.comparison.compare_values import compare_values
from fairground.deploy.calibration import thresholds_of
from fairground.evaluation.scores import evaluate_in_detail
from fairground.evaluation.view import EmbeddingView
from fairground.recommendation.advice import UnsealedScores
from fairground.recommendation.candidates import Candidate, frozen_candidates, head_candidates, network_candidates
from fairground.recommendation.decision import Decision, decide
from fairground.recommendation.ending_forecast import EndingForecast
from fairground.recommendation.ending_rehearsal import EndingRehearsal, PreparedMethod
from fairground.recommendation.measurements import Measurement, Measurements
from fairground.recommendation.pace import Pace
from fairground.recommendation.race import Race
from fairground.recommendation.race_clock import RaceClock
from fairground.recommendation.race_ending import RaceEnding
from fairground.recommendation.race_progress import RaceProgress
from fairground.recommendation.race_request import SECOND, RaceRequest
from fairground.recommendation.race_stages import StageProbe
from fairground.recommendation.race_state import RaceState
from fairground.records.store import Store
from fairground.reporting.headings import size
from fairground.spec.adaptation import AdaptationSpec
from fairground.spec.load import load_run
from fairground.studies.select import OPENED
from fairground.training.torch_threads import torch_threads

#: of the time, this share may go to embedding; what is not embedded by then is left out
EMBEDDING = 0.65
#: before anything is measured, this share of the time is kept for the ending
FIRST_RESERVE = 0.15
#: of the time, at most this share is kept
MOST_RESERVE = 0.6
#: how often the race may go on after a rehearsal of the ending, and the share of the time worth going on for
MOST_RETURNS, GOES_ON = 5, 0.02


class RaceSession:
    """Holds what a session has in memory; every step leaves the session able to `end`."""

    def __init__(self, asked: RaceRequest, *, clock: RaceClock, state: RaceState, progress: RaceProgress) -> None:
        self.asked, self.clock, self.state, self.progress = asked, clock, state, progress
        store = Store(state.home)
        spec = load_run(protocol=asked.choice.kind, overrides=[*asked.base, f"seed={asked.seed}"])
        self.bench = Workbench(
            spec,
            is_small=asked.choice.kind == "laptop",
            witness=lambda what: store.note_event(OPENED, state.name, what),
        )
        self.bench.adapter.tick = clock.tick
        self.rows = np.empty(0, np.int64)
        #: seconds of work to embed an image, once measured; 0 where none are embedded
        self.image_work = 0.0
        self.known = Measurements(None, scope="")
        self.race = Race(
            frozen=[Candidate(name=asked.choice.frozen, words=("head=identity",))],
            trained=(),
            measure=self._measure,
            known=self.known,
            clock=clock,
            metric=asked.by,
            higher_is_better=asked.is_higher,
            second=SECOND,
            on_measured=self._on_measured,
        )
        self.race.finalists = [self.race.frozen[0]]
        self.pace = Pace()
        self.forecast = EndingForecast(self)
        #: the method that was trained last for the ending, with its thresholds
        self.prepared: PreparedMethod | None = None
        self._best = float("-inf")
        clock.reserve = FIRST_RESERVE * clock.limit

    def prepare(self) -> None:
        """Embed the seen images, as many as the time allows, and draw the folds."""
        bench = self.bench
        share = len(bench.seen) / (len(bench.seen) + bench.n_test)
        counted, start = self.progress.counted("embedding images"), self.clock.seconds()
        until = start + EMBEDDING * share * (self.clock.limit - start)
        n_there = 0 if bench.cache is None else len(bench.seen) - len(bench.cache.missing(bench.seen))
        threads = os.cpu_count() or 1
        with torch_threads(threads), self.pace.measured(threads) as embedding:
            self.rows = bench.embed(
                bench.seen,
                is_time=lambda: self.clock.seconds() < until,
                tell=counted,
            )
        self._say_embedded(counted.speed)
        self.image_work = self._image_work(embedding.work, len(self.rows) - n_there)
        self.folds: ClassFolds = bench.folds(self.rows)
        scope = hashlib.sha256(np.sort(self.rows).tobytes()).hexdigest()[:16]
        self.race.known = self.known = Measurements(self.state.path, scope=scope)
        self.validation = CrossValidation(
            adapter=bench.adapter, folds=self.folds, metrics=self.asked.metrics, deciding=self.race.deciding
        )
        self._warm_up()
        width, least = bench.width, self.folds.least_training_rows
        methods = self.asked.methods()
        if bench.is_small:
            self.race.trained = network_candidates(methods)
        else:
            self.race.frozen = frozen_candidates(width, least, name=self.asked.choice.frozen)
            self.race.trained = head_candidates(methods, width, least)
        self.race.deeper = StageProbe(self).candidates

    def run(self) -> None:
        """Race until the time is over."""
        self.progress.say(
            f"{len(self.folds.classes)} classes validate in turn, in {self.folds.n_folds} folds; fresh repeats decide."
        )
        for _ in range(MOST_RETURNS):
            if not self.race.run():
                return
            # What was kept for the ending was a forecast: part of it is done now, and shows what the rest takes.
            EndingRehearsal(self).run()
            if self.clock.left() < GOES_ON * self.clock.limit:
                return

    def decision(self) -> Decision:
        """Return what is to be taken by what is known now."""
        return decide(self.race)

    def say_candidate(self, candidate: Candidate, found: Measurement) -> None:
        """Print a new best of repeat 0."""
        value = 100 * found.scores[self.asked.by]
        self.progress.doing(f"{self.race.stage}: {candidate.label}")
        if found.repeat == 0 and self.race.goodness(candidate) > self._best:
            self._best = self.race.goodness(candidate)
            self.progress.news(f"{candidate.label}: validation {self.asked.by} {value:.2f} %")

    def _on_measured(self, candidate: Candidate, found: Measurement) -> None:
        self.say_candidate(candidate, found)
        if self.forecast.page == 0.0:
            # Everything that an ending decides and writes, done once: it leaves a page, and says what it costs.
            with self.pace.measured() as writing:
                for values in found.blocks.values():
                    compare_values({"a": dict(enumerate(values)), "b": dict(enumerate(values))})
                RaceEnding(self).write_page(self.decision(), UnsealedScores(), is_stopped=True)
            self.forecast.page = writing.work
        self.keep_for_the_ending()

    def keep_for_the_ending(self) -> None:
        """Keep the time that the ending should take at the pace of now."""
        self.clock.reserve = min(MOST_RESERVE * self.clock.limit, self.forecast.seconds())

    def fit(self, candidate: Candidate) -> AdaptedModel:
        """Return a method trained on all seen classes."""
        threads = self.threads(candidate)
        with torch_threads(threads), self.pace.measured(threads):
            return self.bench.adapter.fit(self.spec(candidate), np.sort(self.rows))

    def _measure(self, candidate: Candidate, repeat: int) -> Measurement:
        self.progress.doing(f"{self.race.stage}: {candidate.label}")
        threads = self.threads(candidate)
        with torch_threads(threads), self.pace.measured(threads) as measured:
            found = self.validation.score(self.spec(candidate, repeat), repeat)
        if candidate.key == self.race.frozen[0].key:
            ranking = measured.work * found.ranking_seconds / max(found.seconds, 1e-9)
            self.forecast.hear_frozen(ranking=ranking, embedding=measured.work - ranking)
        return Measurement(
            scope=self.known.scope,
            method=candidate.key,
            repeat=repeat,
            scores=found.scores,
            blocks=found.blocks,
            seconds=found.seconds,
            work=measured.work,
        )

    def threads(self, candidate: Candidate) -> int:
        """Heads are too small to share out: a second thread would only wait for the first."""
        return (os.cpu_count() or 1) if candidate.depth else 1

    def spec(self, candidate: Candidate, repeat: int = 0) -> AdaptationSpec:
        """Return what a candidate trains in a repeat; repeat 0 has the seed of the model that is handed over."""
        return candidate.spec(self.asked.choice.kind, self.asked.base, self.asked.seed + repeat)

    def _warm_up(self) -> None:
        """Score a handful of rows: what is compiled at first use shall not count as what ranking takes."""
        points = torch.randn(8, 4, generator=torch.Generator().manual_seed(0))
        with self.pace.measured():
            view = EmbeddingView(points, np.arange(8) // 2)
            evaluate_in_detail(view, self.asked.metrics)
            thresholds_of(view)

    @property
    def speed(self) -> float:
        """Images per second at the machine's pace; 0 where none are embedded."""
        return 1 / self.pace.seconds(self.image_work) if self.image_work else 0.0

    def _image_work(self, work: float, n_new: int) -> float:
        """Return the work of embedding an image; where all were in the cache, by a block that is embedded again."""
        bench, threads = self.bench, os.cpu_count() or 1
        if bench.trunk is None or not len(self.rows):
            return 0.0
        if n_new >= BLOCK:
            return work / n_new
        some = self.rows[:BLOCK]
        with torch_threads(threads), torch.no_grad(), self.pace.measured(threads) as embedding:
            bench.trunk(bench.transform.evaluate(bench.table.images, some))
        return embedding.work / len(some)

    def _say_embedded(self, rate: float) -> None:
        cache, bench = self.bench.cache, self.bench
        if cache is None:
            return
        n_bad = len(bench.seen) - len(self.rows) - len(cache.missing(bench.seen))
        speed = f" at {rate:.0f} images/s" if rate else ", found in the cache"
        bad = f" {n_bad} cannot be read and are left out (`fairground data check` names them)." if n_bad else ""
        left = len(cache.missing(bench.seen))
        late = f" There was no time for {left} more; a longer --time embeds them." if left else ""
        self.progress.say(
            f"{len(self.rows)} images embedded{speed}; {size(cache.n_bytes)} of features are kept in "
            f"{cache.folder.parent}.{bad}{late}"
        )
