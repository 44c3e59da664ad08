"""One recommendation from data to model, phase by phase.

    embed   choose the network, embed the images to learn from once, draw folds of classes
    race    the frozen network, heads and losses, fresh repeats, last stages: see `race`
    final   decide (see `decision`), train the chosen method on all seen classes, find thresholds
    test    open the test classes, score the frozen network and the chosen method on all of them
    write   model/, plan.json, report.html

Each phase has its share of the time (budget). Ctrl-C in the first two ends with the best so far, without the test.
"""

import hashlib
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import torch

from fairground.comparison.compare_values import compare_values
from fairground.comparison.comparison_result import Comparison
from fairground.deploy.metadata import Threshold
from fairground.errors import DataError, DivergedError, require
from fairground.evaluation.metric_scores import evaluate_in_detail
from fairground.recommendation import advice, candidates
from fairground.recommendation.budget import Budget, RaceProgress
from fairground.recommendation.candidates import Candidate
from fairground.recommendation.cross_validation import MOST_FOLDS, ClassFolds, CrossValidation
from fairground.recommendation.decision import Decision, RankedMethod, decide
from fairground.recommendation.final_model import find_thresholds, write_final_model
from fairground.recommendation.folder import Measurement, Measurements, RecommendationFolder
from fairground.recommendation.last_stages import StageTraining
from fairground.recommendation.race import Race
from fairground.recommendation.request import SECOND, Request
from fairground.recommendation.trunk_choice import choose_trunk, with_weights
from fairground.records.store import Store
from fairground.reporting.headings import duration, size
from fairground.reporting.rendering import write_race_page
from fairground.spec.adaptation import AdaptationSpec
from fairground.spec.load import load_run
from fairground.studies.select import OPENED
from fairground.training.adaptation import BLOCK, AdaptedModel, Workbench
from fairground.training.build import torch_threads
from fairground.training.measure import view_of_rows
from fairground.training.stage_cache import PLAIN

CORES = os.cpu_count() or 1
#: of the time, what is set aside for embedding the test images at most; beyond that the user is warned
MOST_KEPT = 0.5


class Recommendation:
    """Everything of one session in memory; `run` returns what `fairground recommend --json` prints."""

    def __init__(self, request: Request, folder: RecommendationFolder, budget: Budget, progress: RaceProgress) -> None:
        self.request, self.folder, self.budget, self.progress = request, folder, budget, progress
        self.rows = np.empty(0, np.int64)
        self.folds: ClassFolds | None = None
        self.race = Race(
            untrained=[candidates.plain(request.choice.frozen)],
            trained=(),
            measure=self._measure,
            known=Measurements(None, scope=""),
            budget=budget,
            metric=request.by,
            higher_is_better=request.is_higher,
            second=SECOND,
            on_measured=self._on_measured,
        )
        self._best = float("-inf")

    def run(self) -> dict[str, Any]:
        """Recommend a method, train its model and write everything."""
        is_stopped = False
        try:
            self._choose_network()
            self._embed()
            self._run_race()
        except KeyboardInterrupt:
            is_stopped = True
            self.progress.news("Stopped. Ending with the best so far: model and page (Ctrl-C again leaves at once).")
            if not hasattr(self, "bench"):
                self._open_bench("")
        self.bench.before_step = lambda: None
        decision = decide(self.race)
        model, thresholds = self._train_final(decision)
        test = advice.UnsealedScores() if is_stopped or not len(self.rows) else self._open_test(decision, model)
        plan = self._write_model(decision, model, thresholds, test)
        result = self._write_page(decision, test, is_stopped=is_stopped)
        spent = self.folder.plan["spent"] + self.budget.used()
        self.folder.write(**plan, result=result, spent=round(spent, 1))
        return result

    # embed

    def _choose_network(self) -> None:
        trunk = self.folder.plan["trunk"]
        if self.request.choice.kind == "photographs" and not trunk:
            with torch_threads(CORES):
                trunk = choose_trunk(self.request, self.budget, self.progress)
            self.folder.write(trunk=trunk)
        self._open_bench(trunk)

    def _open_bench(self, trunk: str) -> None:
        self.base = {**self.request.base, **with_weights(trunk)}
        store, name = Store(self.folder.root), self.folder.name
        self.bench = Workbench(
            load_run(protocol=self.request.choice.kind, overrides={**self.base, "seed": self.request.seed}),
            is_small=self.request.is_small,
            witness=lambda what: store.note_event(OPENED, name, what),
        )

    def _embed(self) -> None:
        """Embed the seen images, as many as the time allows, and keep the time that the test images will take."""
        bench, counted = self.bench, self.progress.counted("embedding images")

        def tell(done: int, of: int) -> None:
            counted(done, of)
            self._keep_for_test(counted.speed)

        with torch_threads(CORES):
            self.rows = bench.embed(bench.seen, is_time=lambda: self.budget.left("embed") > 0, tell=tell)
            require(len(self.rows) > 0, "no image can be read (`fairground data check` says why)", DataError)
            self.speed = counted.speed or self._probe_speed()
        self._keep_for_test(self.speed)
        self._say_embedded(counted.speed)
        # Where each fold is a training of the network from scratch, two have to do.
        most = 2 if self.request.is_small else MOST_FOLDS
        labels = bench.table.labels[self.rows]
        self.folds = ClassFolds(rows=self.rows, labels=labels, seed=self.request.seed, most_folds=most)
        self.validation = CrossValidation(
            bench=bench, folds=self.folds, metrics=self.request.metrics, deciding=self.request.deciding
        )

    def _keep_for_test(self, speed: float) -> None:
        if speed:
            self.budget.kept = min(self.bench.n_test / speed, MOST_KEPT * self.budget.seconds)

    def _probe_speed(self) -> float:
        """Return how many images per second the network embeds; 0 where there is none."""
        if self.bench.trunk is None:
            return 0.0
        some, begun = self.rows[:BLOCK], self.budget.used()
        with torch.no_grad():
            self.bench.trunk(self.bench.transform.evaluate(self.bench.table.images, some))
        return len(some) / (self.budget.used() - begun)

    def _say_embedded(self, speed: float) -> None:
        bench, cache = self.bench, self.bench.cache
        if cache is None:
            return
        n_late = len(cache.missing(PLAIN, bench.seen))
        n_bad = len(bench.seen) - len(self.rows) - n_late
        how = f" at {speed:.0f} images/s" if speed else ", found in the cache"
        bad = f" {n_bad} cannot be read and are left out (`fairground data check` names them)." if n_bad else ""
        late = f" There was no time for {n_late} more; a longer --time embeds them." if n_late else ""
        kept = size(len(self.rows) * cache.row_bytes)
        self.progress.say(
            f"{len(self.rows)} images embedded{how}; {kept} of features are in {cache.folder}.{bad}{late}"
        )
        seconds = bench.n_test / self.speed
        if seconds > MOST_KEPT * self.budget.seconds:
            self.progress.say(
                f"The {bench.n_test} test images alone take {duration(seconds)}: the time is too short and will be "
                "exceeded."
            )

    # race

    def _run_race(self) -> None:
        race, request, folds = self.race, self.request, self.folds
        assert folds is not None
        scope = hashlib.sha256(np.sort(self.rows).tobytes()).hexdigest()[:16]
        race.known, race.n_folds = Measurements(self.folder.path, scope=scope), folds.n_folds
        methods, width, least = request.methods(), self.bench.width, folds.least_training_rows
        if request.is_small:
            race.trained = candidates.network_candidates(methods)
        else:
            race.untrained = candidates.frozen_candidates(width, least, name=request.choice.frozen)
            race.trained = candidates.head_candidates(methods, width, least)
        race.deeper = self._deeper
        self.progress.say(
            f"{len(folds.classes)} classes validate in turn, in {folds.n_folds} folds; fresh repeats decide."
        )
        self.bench.before_step = lambda: self.budget.check("race")
        race.run()

    def _deeper(self, leader: Candidate) -> list[Candidate]:
        assert self.folds is not None
        stages = StageTraining(
            bench=self.bench,
            rows=self.rows,
            n_folds=self.folds.n_folds,
            speed=self.speed,
            budget=self.budget,
            progress=self.progress,
            spec_of=self._spec,
            step_seconds=self.race.step_seconds,
        )
        with torch_threads(CORES):
            return stages.candidates(leader)

    def _measure(self, candidate: Candidate, repeat: int) -> Measurement:
        self.progress.doing(f"{self.race.phase}: {candidate.label}")
        begun = self.budget.used()
        with torch_threads(_threads(candidate)):
            scores, blocks = self.validation.score(self._spec(candidate, repeat), repeat)
        return Measurement(
            scope=self.race.known.scope,
            method=candidate.label,
            repeat=repeat,
            scores=scores,
            blocks=blocks,
            seconds=self.budget.used() - begun,
        )

    def _on_measured(self, candidate: Candidate, found: Measurement) -> None:
        if found.repeat == 0 and self.race.rank(candidate) > self._best:
            self._best = self.race.rank(candidate)
            score = 100 * found.scores[self.request.by]
            self.progress.news(f"{candidate.label}: validation {self.request.by} {score:.2f} %")

    def _spec(self, candidate: Candidate, repeat: int = 0) -> AdaptationSpec:
        """Return what a candidate trains in a repeat; repeat 0 has the seed of the model that is handed over."""
        return candidate.spec(self.request.choice.kind, self.base, self.request.seed + repeat)

    # final

    def _fit(self, candidate: Candidate) -> AdaptedModel:
        """Return a method trained on all seen classes."""
        with torch_threads(_threads(candidate)):
            return self.bench.fit(self._spec(candidate), np.sort(self.rows))

    def _train_final(self, decision: Decision) -> tuple[AdaptedModel, tuple[Threshold, ...]]:
        """Train the chosen method on all seen classes; thresholds are found where there is time to train once more."""
        candidate = decision.chosen.candidate
        if self.folds is None:
            return self.bench.untrained(self._spec(candidate).run), ()
        self.progress.news(f"training the model to hand over: {decision.chosen.label}")
        begun = self.budget.used()
        model = self._fit(candidate)
        if not self.budget.has_room("final", self.budget.used() - begun):
            return model, ()
        with torch_threads(_threads(candidate)):
            return model, find_thresholds(self.bench, self._spec(candidate), self.folds)

    # test

    def _open_test(self, decision: Decision, model: AdaptedModel) -> advice.UnsealedScores:
        """Score the frozen network and the chosen method on all test classes, then the others while there is time."""
        bench, chosen, frozen = self.bench, decision.chosen, decision.frozen
        bench.sealed.end_selection(f"the race chose {chosen.label}")
        self.folder.write(n_openings=self.folder.plan["n_openings"] + 1)
        rows = bench.sealed.open()
        with torch_threads(CORES):
            rows = np.sort(bench.embed(rows, tell=self.progress.counted("test images")))
            if model.depth > 0:
                tell = self.progress.counted("test images, first stages")
                bench.embed_maps(rows, depth=model.depth, views=1, tell=tell)
        scores: dict[str, Mapping[str, float]] = {}
        blocks: dict[str, dict[int, float]] = {}
        last = 0.0
        others = [one for one in decision.methods if one.label not in (frozen.label, chosen.label)]
        for method in dict.fromkeys([frozen.label, chosen.label, *(one.label for one in others)]):
            found = next(one for one in decision.methods if one.label == method)
            if found in others and (found.candidate.depth > 0 or not self.budget.has_room("test", last)):
                continue
            self.progress.doing(f"test classes: {method}")
            begun = self.budget.used()
            fitted = model if method == chosen.label else self._fit(found.candidate)
            with suppress(DivergedError), torch_threads(CORES):
                view = view_of_rows(bench.table, fitted.embed(rows), rows, normalise=fitted.normalise)
                evaluated = evaluate_in_detail(view, self.request.metrics)
                scores[method] = dict(evaluated.scores)
                assert self.folds is not None
                values = np.nan_to_num(evaluated.per_class[decision.metric])
                blocks[method] = dict(enumerate(self.folds.blocks(values)))
            last = self.budget.used() - begun
        return advice.UnsealedScores(
            scores=scores,
            comparison=self._compare_test(decision, blocks),
            n_classes=len(np.unique(bench.table.labels[rows])),
            n_images=len(rows),
            n_left_out=bench.n_test - len(rows),
            n_openings=self.folder.plan["n_openings"],
        )

    def _compare_test(self, decision: Decision, blocks: Mapping[str, dict[int, float]]) -> Comparison | None:
        """Compare the chosen method with the frozen network; with the best other where that is chosen."""
        frozen, chosen = decision.frozen.label, decision.chosen.label
        rivals = [one.label for one in decision.methods if one.label in blocks and one.label != frozen]
        other = next(iter(rivals), None) if decision.is_frozen else chosen
        if other is None or other not in blocks or frozen not in blocks:
            return None
        is_higher = self.request.is_higher or decision.metric != self.request.by
        return compare_values({name: blocks[name] for name in (frozen, other)}, higher_is_better=is_higher)

    # write

    def _write_model(
        self, decision: Decision, model: AdaptedModel, thresholds: tuple[Threshold, ...], test: advice.UnsealedScores
    ) -> dict[str, Any]:
        """Write the model folder, and return the plan that makes it again."""
        chosen, frozen, rows = decision.chosen, decision.frozen, np.sort(self.rows)
        spec = self._spec(chosen.candidate)

        def write(method: RankedMethod, model: AdaptedModel, folder: Path, thresholds: tuple[Threshold, ...]) -> str:
            return write_final_model(
                self.bench,
                self._spec(method.candidate),
                model,
                folder,
                name=self.folder.name,
                scores={"validation": method.scores, "test": test.scores.get(method.label, {})},
                thresholds=thresholds,
                note=f"made by `fairground recommend`: {method.label}",
                rows=rows if len(rows) else self.bench.seen,
            )

        checksum = write(chosen, model, self.folder.model, thresholds)
        if not decision.is_frozen and test.comparison is not None:
            pair = test.comparison.pair(chosen.label, frozen.label)
            if pair.verdict == "better" and pair.a == frozen.label:
                # The test classes say that the frozen network is better, so it is there too.
                write(frozen, self._fit(frozen.candidate), self.folder.path / "frozen", ())
        return {
            "adaptation": spec.to_plain(),
            "is_small": self.bench.is_small,
            "rows": rows.tolist(),
            "views": self.bench.n_views(spec.depth),
            "threads": _threads(chosen.candidate),
            "weights_sha256": checksum,
        }

    def _write_page(self, decision: Decision, test: advice.UnsealedScores, *, is_stopped: bool) -> dict[str, Any]:
        """Write the page, and return all that it says as plain data."""
        folder, labels = self.folder, self.bench.table.labels
        elapsed = folder.plan["spent"] + self.budget.used()
        folds = advice.FoldSummary(
            n_classes=0 if self.folds is None else len(self.folds.classes),
            n_folds=1 if self.folds is None else self.folds.n_folds,
        )
        sentences = advice.advice_of(decision, test, folds, first=self.request.by, elapsed=elapsed)
        columns = advice.table_columns(self.request.shown, is_open=test.is_open)
        rows = advice.table_rows(decision, test, self.request.shown)
        write_race_page(
            folder.page,
            title=self.request.title,
            frozen=decision.frozen.label,
            advice=sentences,
            columns=columns,
            rows=rows,
            verdicts=advice.verdicts_of(decision),
            steps=self.progress.sentences,
            commands=(
                f"fairground embed {folder.model.absolute()} MY_IMAGES -o embeddings.npz",
                f"fairground reproduce {folder.name} --home {folder.root.absolute()}",
            ),
            counts={
                "images": str(len(labels)),
                "methods tried": str(decision.n_tried),
                "measurements": str(len(self.race.known)),
                "time": duration(elapsed),
            },
        )
        return {
            "name": folder.name,
            "size": f"{len(labels)}, {len(np.unique(labels))}",
            "chosen": decision.chosen.label,
            "is_frozen": decision.is_frozen,
            "metric": decision.metric,
            "advice": sentences,
            "columns": list(columns),
            "rows": [list(row) for row in rows],
            "validation": {method.label: method.scores for method in decision.methods},
            "test": {label: dict(scores) for label, scores in test.scores.items()},
            "verdicts": advice.verdicts_of(decision),
            "n_tried": decision.n_tried,
            "n_measurements": len(self.race.known),
            "is_stopped": is_stopped,
        }


def _threads(candidate: Candidate) -> int:
    """Heads are too small to share out: a second thread would only wait for the first."""
    return CORES if candidate.depth else 1
