"""The search for the best method: from cheap to expensive, until its time is used up.

Each step leaves an answer; `choice` says which:

1. closed: the frozen network, plain and with heads in closed form, on all folds of classes; then several networks
   side by side, plain and with PLDA, which stay where they are better than one network
2. try: trainings in the order of the portfolio, each on the first fold, measured after 20, 40, 80, ... steps
3. confirm: the best on further folds, as long as the decision is open
4. go on: where nothing trained has won, the best training becomes longer in half of what is left

Nothing here opens the test split, and no method is measured twice on a fold.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, product

import numpy as np
import torch

from fairground.evaluation import DivergedError, EmbeddingView, evaluate_in_detail
from fairground.recommendation.choice import Choice
from fairground.recommendation.methods import (
    DISCRIMINANTS,
    Method,
    after_training,
    closed_forms,
    discriminant,
    trained_heads,
    with_head,
)
from fairground.recommendation.networks import seconds_per_image
from fairground.recommendation.recommendation_folder import Measurement, Measurements
from fairground.recommendation.request import Request
from fairground.recommendation.sealed_classes_and_folds import ClassFolds
from fairground.recommendation.time_budget import SHARES, Budget, Phase
from fairground.training import MOST_FITTED, Adaptation, Workbench, torch_threads, view_of_rows

#: a training is first measured after so many steps, then after each doubling
FIRST_MARK = {"head": 30, "network": 20}
#: fewer steps say nothing
LEAST_STEPS = 8
#: images that heads are fitted to, at least and at most
FITTED = (300, MOST_FITTED)
#: a training ends when its best was so many marks ago
PATIENCE = 2
#: of the time to try trainings, what one may take: the next ones are to have some
MOST_OF_TRY = 0.6
MOST_FOLDS = 12
#: how much faster the last stages are on cached maps than the network on images, forward and backward
MAPS_FASTER = 3.5
CORES = torch.get_num_threads()


@dataclass
class Search(Choice):
    """`bench_of` returns the workbench of a method's network; `tell` hears what is being done."""

    request: Request
    budget: Budget
    folds: ClassFolds
    known: Measurements
    bench_of: Callable[[Method], Workbench]
    tell: Callable[[str], None]
    news: Callable[[str], None] = lambda _: None
    #: images per second through the frozen network
    speed: float = 0.0
    #: several frozen networks side by side
    joined: Method | None = None
    #: what was measured, by label, the frozen network first
    entered: dict[str, Method] = field(default_factory=dict)
    #: seconds per step of the last training of each kind
    step_seconds: dict[str, float] = field(default_factory=dict)
    #: trainings of the network on the first fold, which can go on
    running: dict[str, Adaptation] = field(default_factory=dict)
    #: validation embeddings of the last fold, by label, for thresholds
    views: dict[str, EmbeddingView] = field(default_factory=dict)

    def run(self, frozen: Method, portfolio: Sequence[Method]) -> None:
        """Search until the time is used up or nothing is left to try.

        The frozen network and its first discriminant are always measured, whatever the clock says.
        """
        bench, rows = self.bench_of(frozen), self.folds.least_training_rows
        width = bench.trunk.n_features
        n = self.folds.n_folds
        self._measure_closed_forms(closed_forms(frozen, width, rows), range(n), n_always=2 * n)
        single = self.best("nothing") or frozen
        methods = [*portfolio, *trained_heads(single, width, rows)]
        if self.joined:
            self._try_joined(self.joined, single)
        # What earlier sessions measured counts, however short this one is.
        for method in methods:
            self._enter_known(method)
        # Photographs have the network to train; without one, heads are all there is.
        for method in methods:
            if (left := self.budget.left("try")) <= 0:
                break
            if self._fits(method):
                share = MOST_OF_TRY if method.trains == "network" else 1.0
                self._train(method, 0, self.budget.used() + share * left)
        for fold in range(1, MOST_FOLDS):
            if not self._confirm(fold):
                break
        if portfolio and self.chosen().trains == "nothing":
            self._go_on(portfolio)

    def _go_on(self, portfolio: Sequence[Method]) -> None:
        """Continue the best training in the time of the final one, which nothing needs yet, and leave enough for it."""
        leader = self.best("network")
        method = next((one for one in portfolio if leader and one.training == leader.training), portfolio[0])
        running = self.running.get(method.training)
        again = running.steps * self.step_seconds[method.training] if running else 0.0
        seconds = (self.budget.left("final") - again) / 2
        # Less than half as many steps more would say nothing new.
        if seconds > again / 2:
            self._train(method, 0, self.budget.used() + seconds, phase="final")

    def _confirm(self, fold: int) -> bool:
        """Measure the leaders on a further fold; tell whether the decision was open and there was time."""
        frozen, chosen, leaders = next(iter(self.entered.values())), self.chosen(), self.best_of_each()
        differences = [self.difference(chosen, rival) for rival in leaders if rival is not chosen]
        if not any(abs(mean) < 2 * error for mean, error in differences):
            return False
        for one in {one.label: one for one in (frozen, chosen, *leaders)}.values():
            left = self.budget.left("confirm")
            if one.trains == "nothing":
                self._measure_closed(one, fold)
            elif one.steps * self.step_seconds.get(one.training, 0.0) < left:
                self._train(one, fold, self.budget.used() + left, phase="confirm")
            else:
                return False
        return True

    def _try_joined(self, joined: Method, single: Method) -> None:
        """Measure several networks side by side where there is time to embed all images with them.

        They cost as much as all of them, so they stay only if they are better than the best of one network.
        """
        budget, rows, kept = self.budget, self.folds.rows, self.budget.kept
        is_embedded, why = bool(self.known.folds(joined.label)), "they do not fit the time"
        # Two networks take twice as long at least.
        if is_embedded or 2 * len(rows) < self.speed * budget.left("closed"):
            bench = self.bench_of(joined)
            with torch_threads(CORES):
                each = seconds_per_image(bench, rows, budget)
                budget.kept += each * bench.n_test
                if is_embedded or each * len(rows) < budget.left("closed"):
                    tell = lambda n, of: self.tell(f"embedding images with {joined.name}: {n} of {of}")  # noqa: E731
                    done = bench.embed(rows, is_time=lambda: is_embedded or budget.left("closed") > 0, tell=tell)
                    is_embedded = len(done) == len(rows)
            if is_embedded:
                methods = [joined, *(with_head(joined, *discriminant(one)) for one in self._discriminants())]
                folds = self.known.folds(single.label)
                self._measure_closed_forms(methods, folds)
                best = self.best("nothing") or single
                if best.network == joined.network and self.replaces(best, single):
                    return
                if len(self.known.folds(methods[-1].label)) >= len(folds):
                    why = "they are not better than one network by more than the noise"
        self.news(f"The {joined.name} are left out: {why}.")
        budget.kept = kept
        self.entered = {label: one for label, one in self.entered.items() if one.network != joined.network}

    def _measure_closed_forms(self, methods: Sequence[Method], folds: Iterable[int], n_always: int = 0) -> None:
        """Measure on these folds as long as there is time, the first measurements whatever the clock says."""
        for place, (method, fold) in enumerate(product(methods, folds)):
            if place >= n_always and (method.label, fold) not in self.known and self.budget.left("closed") <= 0:
                break
            self._measure_closed(method, fold)

    def _measure_closed(self, method: Method, fold: int) -> None:
        self.entered.setdefault(method.label, method)
        if (method.label, fold) in self.known:
            return
        self.tell(f"closed form: {method.name}")
        bench, (train, validation) = self.bench_of(method), self.folds.fold(fold)
        with torch_threads(1):
            adapted = bench.fit(method.spec(self.request.base, self.request.seed), train)
            self._add(method, fold, adapted.embed(validation), validation, normalise=True)

    def _train(self, method: Method, fold: int, until: float, phase: Phase = "try") -> None:
        """Train on one fold and measure at marks and at the end; a method with steps is measured there alone."""
        if phase == "try" and any(
            of == fold and one.training == method.training for (_, of), one in self.known.items()
        ):
            return
        spec = method.spec(self.request.base, self.request.seed + fold)
        bench, (train, validation) = self.bench_of(method), self.folds.fold(fold)
        best, since_best = float("-inf"), 0
        with torch_threads(CORES if method.trains == "network" else 1):
            training = self.running.pop(method.training, None) if phase == "final" else None
            training = training or Adaptation(bench, spec, train)
            n_before = training.steps
            mark = method.steps or max(2 * n_before, FIRST_MARK[method.trains])
            if method.trains == "network" and not fold:
                self.running[method.training] = training
            measuring = self._measuring_seconds(method, fold)
            started = self.budget.used()
            while True:
                self.tell(f"{method.name}: step {training.steps} of {mark}")
                training.step()
                self.step_seconds[method.training] = step = (self.budget.used() - started) / (training.steps - n_before)
                is_over = not method.steps and self.budget.used() + step + measuring > until
                if training.steps < mark and not (is_over and training.steps >= LEAST_STEPS):
                    if self.budget.left(phase) <= 0:
                        self.news(f"{method.name} is left out: {LEAST_STEPS} steps do not fit the time.")
                        return
                    continue
                measured_at = self.budget.used()
                ranks = self._measure_trained(training, method, fold, validation)
                measuring = self.budget.used() - measured_at
                started += measuring
                since_best = 0 if max(ranks) > best else since_best + 1
                best = max(best, *ranks)
                # Less than half as many steps more would say nothing new.
                is_over |= self.budget.used() + training.steps / 2 * step + measuring > until
                if method.steps or is_over or since_best >= PATIENCE:
                    return
                # Measuring is to take a third of the time at most.
                mark = max(2 * mark, training.steps + round(2 * measuring / step))

    def _fits(self, method: Method) -> bool:
        """Tell whether a training may become half as long as the best so far, which is enough to compare them."""
        leader = self.best("network")
        if method.trains != "network" or leader is None or leader.network is not method.network:
            return True
        step = self.step_seconds.get(leader.training, 0.0)
        if leader.is_on_maps and not method.is_on_maps:
            step *= MAPS_FASTER
        return leader.steps / 2 * step + self._measuring_seconds(method) < self.budget.left("try")

    def _speed(self, method: Method) -> float:
        """Return how many images per second go through what a method trains."""
        return self.speed * (MAPS_FASTER if method.is_on_maps else 1)

    def _most_fitted(self, method: Method) -> int:
        """Return to how many images heads are fitted where a training is measured: a twelfth of the time at most."""
        seconds = self.budget.seconds * (SHARES["try"] - SHARES["closed"]) / 12
        return MOST_FITTED if method.network.is_new else int(np.clip(seconds * self._speed(method), *FITTED))

    def _measuring_seconds(self, method: Method, fold: int = 0) -> float:
        """Return how long a measurement of a training should take: a network embeds images twice."""
        if method.trains != "network" or method.network.is_new or not self.speed:
            return 0.5
        train, validation = self.folds.fold(fold)
        return 2 * (len(validation) + min(len(train), self._most_fitted(method))) / self._speed(method)

    def _measure_trained(self, training: Adaptation, method: Method, fold: int, validation: np.ndarray) -> list[float]:
        """Measure a training where it is, with every head in closed form; return the ranks."""
        trained = replace(method, steps=training.steps)
        variants = [trained]
        if method.trains == "network" and not method.head:
            variants = after_training(trained, self._discriminants())
        found, most = [], self._most_fitted(method)
        try:
            for share, some in groupby(variants, lambda one: one.published):
                methods, embeddings = list(some), training.embedded(validation, share)
                made = [embeddings]
                if method.trains == "network":
                    parts = [one.spec(self.request.base, self.request.seed).run.head for one in methods]
                    with torch.no_grad():
                        made = [head.to(embeddings.device)(embeddings) for head in training.heads(parts, share, most)]
                for one, result in zip(methods, made, strict=True):
                    self._add(one, fold, result, validation, normalise=training.loss.on_sphere)
                    found.append(self.rank(one, [fold]))
        except DivergedError:
            found.append(float("-inf"))
        here = [one for one in self.entered.values() if (one.label, fold) in self.known]
        best = max(here, key=lambda one: self.rank(one, [fold]))
        if fold == 0 and self.rank(best, [0]) in found:
            by = self.request.by
            score = np.mean([*self.known.by_class(best.label, by, self.known.folds(best.label)).values()])
            self.news(f"{best.title}, {trained.steps} steps: {by} {100 * score:.1f} % on validation classes")
        return found

    def _discriminants(self) -> Sequence[tuple[float, float]]:
        """Return the discriminant that suits the frozen features best; all of them where none was measured."""
        measured = {discriminant(one)[0]: one for one in DISCRIMINANTS}
        found = [one for one in self.entered.values() if one.trains == "nothing" and one.head in measured]
        return [measured[max(found, key=self.rank).head]] if found else DISCRIMINANTS

    def _add(self, method: Method, fold: int, embeddings: torch.Tensor, rows: np.ndarray, *, normalise: bool) -> None:
        if not bool(torch.isfinite(embeddings).all()):
            raise DivergedError("the embeddings are not finite")
        table = self.bench_of(method).table
        view = view_of_rows(table, embeddings, rows, normalise=normalise)
        found = evaluate_in_detail(view, self.request.metrics)
        # A class of which every pair is left out says nothing.
        values = {
            metric: np.nan_to_num(of, nan=float(np.nanmean(of))).tolist() for metric, of in found.per_class.items()
        }
        classes = [int(name) for name in found.class_names]
        self.entered[method.label], self.views[method.label] = method, view
        self.known.add(method.label, fold, Measurement(method.training, method.steps, classes, values))

    def _enter_known(self, method: Method) -> None:
        """Enter what an earlier session measured of a training."""
        for steps in {one.steps for one in self.known.values() if one.training == method.training}:
            trained = replace(method, steps=steps)
            for one in after_training(trained) if method.trains == "network" else [trained]:
                if self.known.folds(one.label):
                    self.entered[one.label] = one
