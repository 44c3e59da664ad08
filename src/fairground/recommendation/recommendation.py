"""One recommendation from data to model, phase by phase.

    network   choose the pretrained network and the side of its images on a sample
    embed     embed the images to learn from once, draw folds of classes
    search    closed forms, then trainings, then further folds where the decision is open: see `search`
    final     train the chosen method on all seen classes, at least as long
    test      open the test classes, score the frozen network and the chosen method on all of them
    write     model/, plan.json, report.html

Each phase has its share of the time (budget). Ctrl-C in the first three ends with the best so far, without the test.
"""

import hashlib
from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from fairground.deploy import MeasuredScore, UsableModel, metadata_of, thresholds_of, write_model
from fairground.errors import DataError, DivergedError, StoreError, require
from fairground.evaluation import Bootstrap, EmbeddingView, Evaluation, evaluate_in_detail
from fairground.files import read_json
from fairground.recommendation import advice
from fairground.recommendation.methods import Method, Network, trained_networks
from fairground.recommendation.networks import TEST_PASSES, choose_network, joined_networks, seconds_per_image
from fairground.recommendation.page_pictures import PagePictures
from fairground.recommendation.recommendation_folder import Measurements, RecommendationFolder
from fairground.recommendation.request import NOTHING_READ, Request
from fairground.recommendation.sealed_classes_and_folds import ClassFolds
from fairground.recommendation.search import CORES, Search
from fairground.recommendation.search_progress import SearchProgress
from fairground.recommendation.time_budget import Budget
from fairground.records import ChangedError, Store, changes_in, content_of
from fairground.reporting import duration, size, write_recommendation_page
from fairground.spec import AdaptationSpec, to_plain
from fairground.studies.seal import OPENED
from fairground.training import checkpoint, device_named, torch_threads, view_of_rows
from fairground.training.adaptation import Adaptation, AdaptedModel, Workbench
from fairground.training.assemble import content_of_data, load_table, profile_of

#: a training that was still improving is trained at most so many times as long at the end
MOST_LONGER = 4


class Recommendation:
    """Everything of one session in memory; `run` returns what `fairground recommend --json` prints."""

    def __init__(
        self,
        request: Request,
        folder: RecommendationFolder,
        budget: Budget,
        progress: SearchProgress,
        device: str = "auto",
    ) -> None:
        self.request, self.folder, self.budget, self.progress = request, folder, budget, progress
        self.device = device_named(device)
        self.rows = np.empty(0, np.int64)
        self.test = advice.UnsealedScores()
        self.benches: dict[str, Workbench] = {}
        self.search: Search | None = None
        #: images per second through the frozen network, and seconds per step of the final training
        self.speed = self.step_seconds = 0.0

    @cached_property
    def network(self) -> Network:
        """The network whose frozen features everything is compared with."""
        if kept := self.folder.plan["network"]:
            return Network(**kept)
        found = self.request.first()
        if found.protocol == "photographs":
            self._prepare()
            say = (self.progress.say, self.progress.doing)
            with torch_threads(CORES):
                found = choose_network(self.request, self.budget, self.device, *say)
        self.folder.write(network=asdict(found))
        return found

    def _prepare(self) -> None:
        """Decode and shrink all images once; where some cannot be read, each is decoded whenever it is needed."""
        request = self.request
        run = request.frozen(request.published("", 0)).spec(request.base, request.seed).run
        try:
            load_table(run.data).table.images.prepare(self.progress.counted("preparing images"))
        except DataError as error:
            self.progress.say(f"{error}. Images are decoded each time they are needed, which is slower.")
            self.request = replace(request, prepared=0)

    @property
    def frozen(self) -> Method:
        return self.request.frozen(self.network)

    def bench_of(self, method: Method) -> Workbench:
        name = method.network.name
        if name not in self.benches:
            store, folder = Store(self.folder.root), self.folder.name
            run = self.request.frozen(method.network).spec(self.request.base, self.request.seed).run
            witness = lambda what: store.note_event(OPENED, folder, what)  # noqa: E731
            self.benches[name] = Workbench(run, witness=witness, device=self.device)
        return self.benches[name]

    @property
    def bench(self) -> Workbench:
        return self.bench_of(self.frozen)

    def run(self) -> dict[str, Any]:
        is_stopped = False
        try:
            self._embed()
            self._search()
        except KeyboardInterrupt:
            is_stopped = True
            if "network" not in vars(self):
                self.network = self.request.first()
            self.progress.news("Stopped. Ending with the best so far: model and page (Ctrl-C again leaves at once).")
        self.decision = advice.decide(self.search, self.frozen)
        if self._is_answered():
            n = self.folder.plan["result"]["steps"]
            title = self.decision.chosen.title
            self.progress.news(
                f"The answer stays: the {title} again, and there is no time for more than its {n} steps."
            )
            self.folder.write(spent=round(self.folder.plan["spent"] + self.budget.used(), 1))
            return dict(self.folder.plan["result"])
        model, spec = self._train_final()
        if self.search is not None and not is_stopped:
            self.test = self._open_test(model)
        plan = self._write_model(model, spec)
        result = self._write_page(spec) | {"is_stopped": is_stopped}
        spent = self.folder.plan["spent"] + self.budget.used()
        self.folder.write(**plan, result=result, spent=round(spent, 1))
        return result

    # embed

    def _embed(self) -> None:
        """Embed the seen images, as many as the time allows, and keep the time that the test images will take."""
        bench, progress, budget = self.bench, self.progress, self.budget
        counted = progress.counted("embedding images")
        with torch_threads(CORES):
            if bench.cache is not None and (each := seconds_per_image(bench, bench.seen, budget)):
                self.speed, seconds = 1 / each, TEST_PASSES * bench.n_test * each
                budget.kept = min(seconds, budget.seconds / 2)
                if seconds > budget.seconds / 2:
                    alone = f"The {bench.n_test} test images alone take about {duration(seconds)}"
                    progress.say(f"{alone}, more than half of the time that is left: it may be exceeded.")
            self.rows = bench.embed(bench.seen, is_time=lambda: budget.left("embed") > 0, tell=counted)
        n = len(self.rows)
        require(n > 0, NOTHING_READ, DataError)
        if bench.cache is not None:
            n_late = len(bench.cache.missing("plain", bench.seen))
            n_bad = len(bench.seen) - n - n_late
            how = f" at {progress.speed:.0f} images/s" if progress.speed else ""
            bad = f" {n_bad} cannot be read (`fairground data check` says why)." if n_bad else ""
            late = f" There was no time for {n_late} more; a longer --time embeds them." if n_late else ""
            kept = f"{size(n * bench.cache.row_bytes)} of features are in {bench.cache.folder}"
            progress.say(f"{n} images embedded{how}; {kept}.{bad}{late}")

    # search

    def _search(self) -> None:
        request, budget = self.request, self.budget
        scope = hashlib.sha256(np.sort(self.rows).tobytes()).hexdigest()[:16]
        folds = ClassFolds(rows=self.rows, labels=self.bench.table.labels[self.rows], seed=request.seed)
        known = Measurements(self.folder.path, scope=scope)
        say = (self.progress.doing, self.progress.news)
        joined = joined_networks(request, self.network)
        search = Search(request, budget, folds, known, self.bench_of, *say, speed=self.speed, joined=joined)
        portfolio: list[Method] = []
        if self.network.protocol != "features":
            portfolio = trained_networks(self.network, self.bench.n_last)
            if request.protocol == "laptop":
                portfolio = trained_networks(request.new(budget.seconds))
            elif request.is_drawn and not request.protocol:
                # The first of each in turn.
                portfolio[1:1] = trained_networks(request.new(budget.seconds))[:2]
        in_turn = f"{len(folds.classes)} classes validate in turn, in {folds.n_folds} folds"
        self.progress.say(f"{in_turn}. A training is judged on one fold, and on others while the decision is open.")
        self.search = search
        search.run(self.frozen, portfolio)

    # final

    def _is_answered(self) -> bool:
        """Tell whether an earlier session trained what is chosen now, for longer than there is time for here."""
        n = self._earlier_steps(self.decision.chosen)
        return n > 0 and n * self.folder.plan["step_seconds"] > self.budget.left("final")

    def _earlier_steps(self, method: Method) -> int:
        """Return how long the model of an earlier answer was trained, if it was trained by this method."""
        plan, spec = self.folder.plan, self._spec_of(method)
        if plan["result"] is None or plan["result"]["is_stopped"]:
            return 0
        earlier = AdaptationSpec.from_plain(plan["adaptation"])
        is_same = replace(earlier, steps=spec.steps) == spec and plan["rows"] == np.sort(self.rows).tolist()
        return earlier.steps if is_same else 0

    def _spec_of(self, method: Method) -> AdaptationSpec:
        return method.spec(self.request.base, self.request.seed)

    def _train_final(self) -> tuple[AdaptedModel, AdaptationSpec]:
        """Train what was chosen on all seen classes; where that diverges, the best of what needs no training."""
        try:
            return self._train_on_all(self.decision.chosen)
        except DivergedError as error:
            self.progress.say(f"Trained on all classes, the {self.decision.chosen.title} diverged: {error}.")
            self.decision = replace(self.decision, chosen=self.decision.best_closed)
            return self._train_on_all(self.decision.chosen)

    def _train_on_all(self, method: Method) -> tuple[AdaptedModel, AdaptationSpec]:
        """Train at least as long as the method was judged or trained before; if it still improved, as time allows."""
        spec = self._spec_of(method)
        bench = self.bench_of(method)
        if method.trains == "network" and not method.is_on_maps:
            # The test images go through all stages for the frozen network, and through all for this one.
            self.budget.kept *= 2 / TEST_PASSES
        rows = np.sort(self.rows if len(self.rows) else bench.seen)
        verb = "writing" if method.trains == "nothing" else "training"
        self.progress.news(f"{verb} the model to hand over: {method.title}")
        with torch_threads(_threads(spec)):
            training, begun = Adaptation(bench, spec, rows), self.budget.used()
            most = least = max(method.steps, self._earlier_steps(method))
            if method.trains == "network" and self.decision.still_improves:
                most *= MOST_LONGER
            while training.steps < most and (training.steps < least or self.budget.left("final") > 0):
                self.progress.doing(f"final training: step {training.steps}")
                training.step()
            self.step_seconds = (self.budget.used() - begun) / max(training.steps, 1)
            spec = replace(spec, steps=training.steps)
            return training.finished(spec.run.head), spec

    # test

    def _open_test(self, model: AdaptedModel) -> advice.UnsealedScores:
        """Score the frozen network, the best closed form and the chosen method on all test classes."""
        decision, bench = self.decision, self.bench
        bench.sealed.end_selection(f"the search chose {decision.chosen.label}")
        self.folder.write(n_openings=self.folder.plan["n_openings"] + 1)
        rows = bench.sealed.open()
        found: dict[str, Evaluation] = {}
        views: dict[str, EmbeddingView] = {}
        for method in decision.methods:
            is_chosen = method is decision.chosen
            if method.trains != "nothing" and not is_chosen:
                continue
            self.progress.doing(f"test classes: {method.title}")
            own = self.bench_of(method)
            seed, base = self.request.seed, self.request.base
            if method.trains != "network":
                with torch_threads(CORES):
                    rows = np.sort(own.embed(rows, tell=self.progress.counted("test images")))
            fitted = model if is_chosen else own.fit(method.spec(base, seed), np.sort(self.rows))
            with torch_threads(CORES):
                view = view_of_rows(own.table, fitted.embed(rows), rows, normalise=fitted.normalise)
                found[method.label] = evaluate_in_detail(view, self.request.metrics, bootstrap=Bootstrap())
            views[method.label] = view
        return advice.UnsealedScores(
            scores={label: dict(one.scores) for label, one in found.items()},
            intervals={label: one.intervals for label, one in found.items()},
            views=views,
            rows=rows,
            pair=advice.compared(found, decision),
            n_classes=len(np.unique(bench.table.labels[rows])),
            n_left_out=bench.n_test - len(rows),
            n_openings=self.folder.plan["n_openings"],
        )

    # write

    def _write_model(self, adapted: AdaptedModel, spec: AdaptationSpec) -> dict[str, Any]:
        """Write the model folder, trunk and head as one network, and return the plan that makes it again."""
        method, run = self.decision.chosen, spec.run
        bench = self.bench_of(method)
        rows = np.sort(self.rows if len(self.rows) else bench.seen)
        network = bench.full_model(adapted)
        scores = {"validation": self.decision.scores_of(method), "test": self.test.scores.get(method.label, {})}
        view = self.search.views.get(method.label) if self.search else None
        prints = (bench.table.images.fingerprint()[:16], hashlib.sha256(rows.tobytes()).hexdigest()[:16])
        metadata = metadata_of(
            self.folder.name,
            run,
            profile_of(bench.table, rows, network, *prints, is_normalised=adapted.normalise),
            protocol=f"recommend {run.protocol}",
            precision="full",
            scores=tuple(
                MeasuredScore(metric=metric, split=split, value=value)
                for split, found in scores.items()
                for metric, value in found.items()
            ),
            thresholds=thresholds_of(view) if view else (),
            notes=(f"made by `fairground recommend`: {replace(method, steps=spec.steps).label}",),
        )
        model = UsableModel(network=network, transform=bench.transform, metadata=metadata, device=self.device)
        return {
            "adaptation": to_plain(spec),
            "rows": np.sort(self.rows).tolist(),
            "threads": _threads(spec),
            "step_seconds": round(self.step_seconds, 4),
            "device": self.device.type,
            "weights_sha256": write_model(model, self.folder.model).weights_sha256,
        }

    def _write_page(self, spec: AdaptationSpec) -> dict[str, Any]:
        folder, decision, test = self.folder, self.decision, self.test
        labels, by = self.bench.table.labels, self.request.by
        metrics = tuple(dict.fromkeys(("recall@1", "map@r", by)))
        elapsed = folder.plan["spent"] + self.budget.used()
        columns, rows = advice.table_of(decision, test, metrics)
        said = {
            "advice": advice.advice_of(decision, test, self.search, elapsed=elapsed),
            "columns": columns,
            "rows": rows,
            "verdicts": advice.verdicts_of(decision),
        }
        self.progress.doing("writing the page")
        is_picture = self.bench.table.images.is_picture
        yours = "YOUR_IMAGES" if is_picture else "YOUR_FEATURES.npz"
        write_recommendation_page(
            folder.page,
            title=self.request.title,
            frozen=decision.frozen.title,
            **said,
            bars={metric: advice.bars_of(decision, test, metric) for metric in metrics},
            is_open=bool(test.scores),
            noun="images" if is_picture else "items",
            **self._pictures(),
            settings={
                one.title: one.label if one is not decision.chosen else replace(one, steps=spec.steps).label
                for one in decision.methods
            },
            steps=self.progress.sentences,
            commands=(
                f"fairground embed {folder.model.absolute()} {yours} -o embeddings.npz",
                f"fairground index {folder.model.absolute()} {yours} -o my_index",
                f"fairground query my_index {yours} --page found.html",
                f"fairground export {folder.model.absolute()} -o my_model --onnx",
                f"fairground reproduce {folder.name} --home {folder.root.absolute()}",
            ),
        )
        return {
            "name": folder.name,
            "size": f"{len(labels)}, {len(np.unique(labels))}",
            "chosen": decision.chosen.label,
            "title": decision.chosen.title,
            "steps": spec.steps,
            "is_frozen": decision.is_frozen,
            "metric": decision.metric,
            **said,
            "validation": {method.label: decision.scores_of(method) for method in decision.methods},
            "test": test.scores,
            "n_tried": decision.n_tried,
            "n_measurements": 0 if self.search is None else len(self.search.known),
        }

    def _pictures(self) -> dict[str, Any]:
        """Return what the page shows of the data: of test images, once they are open, and of suspect labels."""
        bench, test = self.bench, self.test
        methods = (self.decision.frozen, self.decision.chosen)
        rows = np.sort(np.concatenate([self.rows, test.rows]))
        if bench.cache is not None:
            rows = bench.cache.readable("plain", rows)
        with torch_threads(CORES):
            features = bench.features.evaluate(bench.table.images, rows).numpy()
            views = {one.title: test.views[one.label] for one in methods if one.label in test.views}
            return PagePictures(bench.table, test.rows, views).content(features, rows)


def remake_model(plan: Path) -> tuple[str, str]:
    """Train what a plan says; return the checksum of the weights in the plan, and that of those made again."""
    asked: dict[str, Any] = read_json(plan, error=StoreError)
    require(bool(asked.get("rows")), f"{plan}: nothing was trained or measured yet, so there is nothing to repeat")
    spec = AdaptationSpec.from_plain(asked["adaptation"])
    now = content_of(spec.run, lambda: content_of_data(spec.run))
    if what := changes_in(asked.get("content", now), now):
        raise ChangedError(f"recommendation {plan.parent.name} was made with other content: {what}")
    rows, device = np.array(asked["rows"], dtype=np.int64), device_named(asked.get("device", "cpu"))
    bench = Workbench(spec.run, device=device)
    if spec.trains != "network" or spec.run.training.trainable != "all":
        bench.embed(rows)
    with torch_threads(asked["threads"]):
        adapted = bench.fit(spec, rows)
    weights = checkpoint.to_bytes(bench.full_model(adapted).state_dict())
    return asked["weights_sha256"], hashlib.sha256(weights).hexdigest()


def _threads(spec: AdaptationSpec) -> int:
    """Heads are too small to share out: a second thread would only wait for the first."""
    return CORES if spec.trains == "network" else 1
