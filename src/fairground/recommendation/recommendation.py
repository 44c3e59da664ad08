"""One recommendation from data to model, phase by phase.

    embed   choose the network, embed the images to learn from once, draw folds of classes
    race    the frozen network, heads and losses, fresh repeats, last stages: see `race`
    final   decide (see `advice`), train the chosen method on all seen classes, find thresholds
    test    open the test classes, score the frozen network and the chosen method on all of them
    write   model/, plan.json, report.html

Each phase has its share of the time (budget). Ctrl-C in the first two ends with the best so far, without the test.
"""

import hashlib
import os
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch

from fairground.comparison.compare_values import compare_values
from fairground.deploy import MeasuredScore, Threshold, UsableModel, metadata_of, thresholds_of, write_model
from fairground.errors import DataError, DivergedError, StoreError, require
from fairground.evaluation.metric_scores import evaluate_in_detail
from fairground.files import read_json
from fairground.recommendation import advice, candidates
from fairground.recommendation.candidates import Candidate
from fairground.recommendation.cross_validation import MOST_FOLDS, ClassFolds, cross_validate
from fairground.recommendation.pretrained_network import choose_trunk, stages_beyond
from fairground.recommendation.race import Race, RaceProgress
from fairground.recommendation.recommendation_folder import Measurements, RecommendationFolder
from fairground.recommendation.request import Request
from fairground.recommendation.time_budget import Budget
from fairground.records import ChangedError, Store, changes_in, content_of
from fairground.reporting import duration, size, write_race_page
from fairground.spec import ALL, AdaptationSpec, to_plain
from fairground.studies.seal import OPENED
from fairground.training import InputProfile, checkpoint, device_named, evaluate_run, stage_cache, torch_threads
from fairground.training.adaptation import BLOCK, AdaptedModel, Workbench
from fairground.training.assemble import content_of_data

CORES = os.cpu_count() or 1
#: of the time, what is set aside for embedding the test images at most; beyond that the user is warned
MOST_KEPT = 0.5
#: rows that thresholds are found on at most: pairs grow with their square
MOST_ROWS = 5000
#: images whose sizes are asked
_LOOKED_AT = 512


class Recommendation:
    """Everything of one session in memory; `run` returns what `fairground recommend --json` prints."""

    def __init__(
        self,
        request: Request,
        folder: RecommendationFolder,
        budget: Budget,
        progress: RaceProgress,
        device: str = "auto",
    ) -> None:
        self.folder, self.budget, self.progress, self.device = folder, budget, progress, device_named(device)
        self.rows = np.empty(0, np.int64)
        self.folds: ClassFolds | None = None
        self.test = advice.UnsealedScores()
        self.race = Race(request, budget, self._measure, [request.frozen], deeper=self._deeper)

    @property
    def request(self) -> Request:
        return self.race.request

    @cached_property
    def bench(self) -> Workbench:
        store, name, request = Store(self.folder.root), self.folder.name, self.request
        return Workbench(
            request.spec(request.frozen).run,
            is_small=request.is_small,
            witness=lambda what: store.note_event(OPENED, name, what),
            device=self.device,
        )

    def run(self) -> dict[str, Any]:
        is_stopped = False
        try:
            self._choose_network()
            self._embed()
            self._run_race()
        except KeyboardInterrupt:
            is_stopped = True
            self.progress.news("Stopped. Ending with the best so far: model and page (Ctrl-C again leaves at once).")
        self.bench.before_step = lambda: None
        self.decision = advice.decide(self.race)
        model, thresholds = self._train_final()
        if self.folds is not None and not is_stopped:
            self.test = self._open_test(model, self.folds)
        plan = self._write_plan(model, thresholds)
        result = self._write_page() | {"is_stopped": is_stopped}
        spent = self.folder.plan["spent"] + self.budget.used()
        self.folder.write(**plan, result=result, spent=round(spent, 1))
        return result

    # embed

    def _choose_network(self) -> None:
        trunk = self.folder.plan["trunk"]
        if self.request.kind == "photographs" and not trunk:
            with torch_threads(CORES):
                trunk = choose_trunk(self.request, self.progress, self.device)
            self.folder.write(trunk=trunk)
        self.race.request = self.request.with_trunk(trunk)

    def _embed(self) -> None:
        """Embed the seen images, as many as the time allows, and keep the time that the test images will take."""
        bench, progress = self.bench, self.progress
        counted = progress.counted("embedding images")

        def tell(done: int, of: int) -> None:
            counted(done, of)
            self._keep_for_test(progress.speed)

        with torch_threads(CORES):
            self.rows = bench.embed(bench.seen, is_time=lambda: self.budget.left("embed") > 0, tell=tell)
            require(len(self.rows) > 0, "no image can be read (`fairground data check` says why)", DataError)
            self.speed = progress.speed
            if not self.speed and bench.trunk is not None:
                some, begun = self.rows[:BLOCK], self.budget.used()
                with torch.no_grad():
                    bench.trunk(bench.transform.evaluate(bench.table.images, some, self.device))
                self.speed = len(some) / (self.budget.used() - begun)
        self._keep_for_test(self.speed)
        self._say_embedded()
        # Where each fold is a training of the network from scratch, two have to do.
        most = 2 if self.request.is_small else MOST_FOLDS
        labels = bench.table.labels[self.rows]
        self.folds = ClassFolds(rows=self.rows, labels=labels, seed=self.request.seed, most_folds=most)

    def _keep_for_test(self, speed: float) -> None:
        if speed:
            self.budget.kept = min(self.bench.n_test / speed, MOST_KEPT * self.budget.seconds)

    def _say_embedded(self) -> None:
        bench, cache, speed, n = self.bench, self.bench.cache, self.progress.speed, len(self.rows)
        if cache is None:
            return
        n_late = len(cache.missing(stage_cache.PLAIN, bench.seen))
        n_bad = len(bench.seen) - n - n_late
        how = f" at {speed:.0f} images/s" if speed else ", found in the cache"
        bad = f" {n_bad} cannot be read and are left out (`fairground data check` names them)." if n_bad else ""
        late = f" There was no time for {n_late} more; a longer --time embeds them." if n_late else ""
        kept = f"{size(n * cache.row_bytes)} of features are in {cache.folder}"
        self.progress.say(f"{n} images embedded{how}; {kept}.{bad}{late}")
        seconds = bench.n_test / self.speed
        if seconds > MOST_KEPT * self.budget.seconds:
            alone = f"The {bench.n_test} test images alone take {duration(seconds)}"
            self.progress.say(f"{alone}: the time is too short and will be exceeded.")

    # race

    def _run_race(self) -> None:
        race, request, folds = self.race, self.request, self.folds
        assert folds is not None
        scope = hashlib.sha256(np.sort(self.rows).tobytes()).hexdigest()[:16]
        race.known, race.n_folds = Measurements(self.folder.path, scope=scope), folds.n_folds
        methods, width, least = request.methods(), self.bench.width, folds.least_training_rows
        if request.is_small:
            # Small networks are trained from scratch.
            scratch = Candidate(depth=ALL, depth_steps=candidates.STEPS[0])
            race.trained = [replace(scratch, loss=one.label, overrides=one.overrides) for one in methods]
        else:
            race.untrained = candidates.frozen_candidates(width, least, name=request.frozen.name)
            race.trained = candidates.head_candidates(methods, width, least)
        in_turn = f"{len(folds.classes)} classes validate in turn, in {folds.n_folds} folds"
        self.progress.say(f"{in_turn}; fresh repeats decide.")
        self.bench.before_step = lambda: self.budget.check("race")
        race.run()

    def _deeper(self, leader: Candidate) -> list[Candidate]:
        with torch_threads(CORES):
            return stages_beyond(leader, self.race, self.bench, self.rows, self.speed, self.progress)

    def _measure(self, candidate: Candidate, repeat: int) -> tuple[dict[str, float], dict[str, list[float]]]:
        self.progress.doing(f"{self.race.phase}: {candidate.label}")
        request, folds = self.request, self.folds
        assert folds is not None
        with torch_threads(_threads(candidate)):
            values = cross_validate(self.bench, folds, request.spec(candidate, repeat), repeat, request.metrics)
        scores = {metric: float(of.mean()) for metric, of in values.items()}
        if repeat == 0 and all(request.rank(scores) > self.race.rank(one) for one in self.race.entered.values()):
            self.progress.news(f"{candidate.label}: validation {request.by} {100 * scores[request.by]:.2f} %")
        return scores, {metric: folds.blocks(values[metric]) for metric in request.deciding}

    # final

    def _fit(self, candidate: Candidate) -> AdaptedModel:
        with torch_threads(_threads(candidate)):
            return self.bench.fit(self.request.spec(candidate), np.sort(self.rows))

    def _train_final(self) -> tuple[AdaptedModel, tuple[Threshold, ...]]:
        """Train the chosen method on all seen classes.

        Where there is time, train it once more without the classes of one fold, which thresholds are found on.
        """
        candidate, bench = self.decision.chosen.candidate, self.bench
        spec = self.request.spec(candidate)
        if self.folds is None:
            return bench.untrained(spec.run), ()
        self.progress.news(f"training the model to hand over: {candidate.label}")
        begun = self.budget.used()
        model = self._fit(candidate)
        if not self.budget.has_room("final", self.budget.used() - begun):
            return model, ()
        train, validation = next(self.folds.repeat(0))
        rows = validation[:: max(1, -(-len(validation) // MOST_ROWS))]
        with torch_threads(_threads(candidate)):
            other = bench.fit(spec, train)
            view = evaluate_run.view_of_rows(bench.table, other.embed(rows), rows, normalise=other.normalise)
            return model, thresholds_of(view)

    # test

    def _open_test(self, model: AdaptedModel, folds: ClassFolds) -> advice.UnsealedScores:
        """Score the frozen network and the chosen method on all test classes, then the others while there is time."""
        bench, decision = self.bench, self.decision
        chosen, frozen = decision.chosen, decision.frozen
        bench.sealed.end_selection(f"the race chose {chosen.label}")
        self.folder.write(n_openings=self.folder.plan["n_openings"] + 1)
        rows = bench.sealed.open()
        with torch_threads(CORES):
            rows = np.sort(bench.embed(rows, tell=self.progress.counted("test images")))
            if model.depth > 0:
                tell = self.progress.counted("test images, first stages")
                bench.embed_maps(rows, depth=model.depth, views=1, tell=tell)
        scores: dict[str, dict[str, float]] = {}
        blocks: dict[str, dict[int, float]] = {}
        last = 0.0
        for method in sorted(decision.methods, key=lambda one: one is not frozen and one is not chosen):
            is_needed = method is frozen or method is chosen
            if not is_needed and (method.candidate.depth > 0 or not self.budget.has_room("test", last)):
                continue
            self.progress.doing(f"test classes: {method.label}")
            begun = self.budget.used()
            fitted = model if method is chosen else self._fit(method.candidate)
            with suppress(DivergedError), torch_threads(CORES):
                view = evaluate_run.view_of_rows(bench.table, fitted.embed(rows), rows, normalise=fitted.normalise)
                evaluated = evaluate_in_detail(view, self.request.metrics)
                scores[method.label] = dict(evaluated.scores)
                values = np.nan_to_num(evaluated.per_class[decision.metric])
                blocks[method.label] = dict(enumerate(folds.blocks(values)))
            last = self.budget.used() - begun
        # The chosen method is compared with the frozen network, and that one with the best other where it is chosen.
        other = next((one for one in blocks if one != frozen.label and (decision.is_frozen or one == chosen.label)), "")
        compared = {one: blocks[one] for one in (frozen.label, other) if one in blocks}
        return advice.UnsealedScores(
            scores=scores,
            pair=next(iter(compare_values(compared).pairs), None) if len(compared) > 1 else None,
            n_classes=len(np.unique(bench.table.labels[rows])),
            n_images=len(rows),
            n_left_out=bench.n_test - len(rows),
            n_openings=self.folder.plan["n_openings"],
        )

    # write

    def _write_plan(self, model: AdaptedModel, thresholds: tuple[Threshold, ...]) -> dict[str, Any]:
        """Write the model folder, and return the plan that makes it again."""
        chosen, frozen, pair = self.decision.chosen, self.decision.frozen, self.test.pair
        checksum = self._write_model(chosen, model, self.folder.model, thresholds)
        if chosen is not frozen and pair is not None and pair.verdict == "better" and pair.a == frozen.label:
            # The test classes say that the frozen network is better, so it is there too.
            self._write_model(frozen, self._fit(frozen.candidate), self.folder.path / "frozen", ())
        spec = self.request.spec(chosen.candidate)
        return {
            "adaptation": to_plain(spec),
            "is_small": self.bench.is_small,
            "rows": np.sort(self.rows).tolist(),
            "views": self.bench.n_views(spec.depth),
            "threads": _threads(chosen.candidate),
            "device": self.device.type,
            "weights_sha256": checksum,
        }

    def _write_model(
        self, method: advice.RankedMethod, adapted: AdaptedModel, folder: Path, thresholds: tuple[Threshold, ...]
    ) -> str:
        """Write a model folder, trunk and head as one network, and return the checksum of its weights."""
        bench, run, images = self.bench, self.request.spec(method.candidate).run, self.bench.table.images
        rows = np.sort(self.rows) if len(self.rows) else bench.seen
        network = bench.full_model(adapted)
        sizes = images.sizes(rows[:_LOOKED_AT]) if images.is_picture else np.zeros((1, 2), np.int64)
        is_one_size = images.is_picture and bool((sizes == sizes[0]).all())
        scores = {"validation": method.scores, "test": self.test.scores.get(method.label, {})}
        profile = InputProfile(
            is_picture=images.is_picture,
            channels=images.channels,
            size=(int(sizes[0, 0]), int(sizes[0, 1])) if is_one_size else None,
            classes=tuple(bench.table.class_names[label] for label in np.unique(bench.table.labels[rows])),
            embedding_dim=network.head.embedding_dim,
            is_normalised=adapted.normalise,
            preprocessing=bench.preprocessing,
            data_fingerprint=images.fingerprint()[:16],
            split_fingerprint=hashlib.sha256(np.sort(rows).tobytes()).hexdigest()[:16],
        )
        metadata = metadata_of(
            self.folder.name,
            run,
            profile,
            protocol=f"recommend {run.protocol}",
            precision="full",
            scores=tuple(
                MeasuredScore(metric=metric, split=split, value=value)
                for split, found in scores.items()
                for metric, value in found.items()
            ),
            thresholds=thresholds,
            notes=(f"made by `fairground recommend`: {method.label}",),
        )
        model = UsableModel(network=network, transform=bench.transform, metadata=metadata, device=self.device)
        return write_model(model, folder).weights_sha256

    def _write_page(self) -> dict[str, Any]:
        folder, decision, test = self.folder, self.decision, self.test
        labels, by = self.bench.table.labels, self.request.by
        elapsed = folder.plan["spent"] + self.budget.used()
        columns, rows = advice.table_of(decision, test, tuple(dict.fromkeys(("recall@1", "map@r", by))))
        said = {
            "advice": advice.advice_of(decision, test, self.folds, first=by, elapsed=elapsed),
            "columns": columns,
            "rows": rows,
            "verdicts": advice.verdicts_of(decision),
        }
        write_race_page(
            folder.page,
            title=self.request.title,
            frozen=decision.frozen.label,
            **said,
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
            **said,
            "validation": {method.label: method.scores for method in decision.methods},
            "test": test.scores,
            "n_tried": decision.n_tried,
            "n_measurements": len(self.race.known),
        }


def remake_model(plan: Path) -> tuple[str, str]:
    """Train what a plan says; return the checksum of the weights in the plan, and that of those made again."""
    asked: dict[str, Any] = read_json(plan, error=StoreError)
    require(bool(asked.get("rows")), f"{plan}: nothing was trained or measured yet, so there is nothing to repeat")
    spec = AdaptationSpec.from_plain(asked["adaptation"])
    now = content_of(spec.run, lambda: content_of_data(spec.run))
    if what := changes_in(asked.get("content", now), now):
        raise ChangedError(f"recommendation {plan.parent.name} was made with other content: {what}")
    bench = Workbench(spec.run, is_small=asked["is_small"], device=device_named(asked.get("device", "cpu")))
    rows = np.array(asked["rows"], dtype=np.int64)
    bench.embed(rows)
    if spec.depth > 0:
        bench.embed_maps(rows, depth=spec.depth, views=asked["views"])
    with torch_threads(asked["threads"]):
        adapted = bench.fit(spec, rows)
    weights = checkpoint.to_bytes(bench.full_model(adapted).state_dict())
    return asked["weights_sha256"], hashlib.sha256(weights).hexdigest()


def _threads(candidate: Candidate) -> int:
    """Heads are too small to share out: a second thread would only wait for the first."""
    return CORES if candidate.depth else 1
