"""From a list of methods and a time to a chosen method: measure costs, plan, race, choose, then open the test split.

Where runs happen, and who watches, is for the caller to say; what the race remembers is in its state.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any, Self

from fairground.errors import FairgroundError
from fairground.execution.executor import Executor, Watch
from fairground.recommend.race import Race
from fairground.recommend.race_plan import SLACK, Costs, RacePlan, Rung, duration_words, plan_race
from fairground.recommend.race_setup import RaceSetup
from fairground.recommend.race_state import RaceState
from fairground.recommend.recommendation import Recommendation, leaders_of, recommend
from fairground.recommend.standings import MethodStanding, standings_of
from fairground.records.record import RunRecord
from fairground.records.store import Store
from fairground.spec.identity import to_plain
from fairground.spec.load import run_from_plain
from fairground.study.scheduler import OnRecord, Scheduler
from fairground.study.select import OPENED

#: measures costs and trains alike, so that a worker is started once
JOB = "fairground.training.cost_probe:race_job"
#: starts an executor of the function named by a dotted path, watched by the race
Spawn = Callable[[str, Watch], Executor]


class TimeUpError(KeyboardInterrupt):
    """The time is over; whatever runs is interrupted, as by Ctrl-C, and keeps its checkpoint."""


@dataclass(frozen=True, kw_only=True)
class RaceResult:
    """The ranking and the recommendation; `is_sealed` while nothing has been chosen for good."""

    standings: tuple[MethodStanding, ...]
    baselines: tuple[MethodStanding, ...]
    recommendation: Recommendation
    is_sealed: bool


class RaceRun:
    """One race from its cost probe to its end, resumed wherever its state says it is; entered, it has workers."""

    def __init__(self, setup: RaceSetup, *, state: RaceState, spawn: Spawn, watch: Watch, on_record: OnRecord) -> None:
        self._setup, self._state = setup, state
        self._watch, self._on_record = watch, on_record
        self._store = Store(state.home)
        self._executor = spawn(JOB, self._on_event)
        self._workers = self._executor.capacity
        self._racing: Race | None = None
        self._reported: set[tuple[str, str, int]] = set()

    def __enter__(self) -> Self:
        self._executor.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._executor.close()

    def prepare(self) -> RacePlan:
        """Return the plan, made by a cost probe if there is none yet."""
        state = self._state
        if state.plan is None:
            state.costs = self._probe_costs()
            state.plan = plan_race(
                state.costs,
                seconds=state.left(),
                limit=state.limit,
                workers=self._workers,
                epochs=self._setup.epochs,
                n_methods=len(self._setup.study.methods),
            )
            state.write()
        return state.plan

    def plan_sentence(self) -> str:
        """Make the plan and return it in a sentence."""
        plan, workers = self.prepare(), self._workers
        assert self._state.costs is not None
        n, full = plan.rungs[0].n, self._setup.epochs * self._state.costs.n_batches
        planned = plan.epochs * plan.batches_per_epoch
        share = "" if planned >= full else f" ({100 * planned / full:.0f} % of the protocol's, as time allows)"
        seconds = plan.race_seconds(self._state.costs, workers=workers)
        steps = [f"{rung.n} go on after epoch {before.epochs}" for before, rung in _steps(plan)]
        return (
            f"{n} methods race for {duration_words(self._state.limit)}. A full run is "
            f"{plan.epochs} x {plan.batches_per_epoch} batches{share}; "
            f"{', '.join([*steps, f'the best {plan.leaders} run on {plan.seeds} seeds'])}. By a cost probe that takes "
            f"{duration_words(round(seconds))} on {workers} workers; time left goes into further settings and seeds."
        )

    def race(self) -> None:
        """Race until the plan is done and the time is used; a race that is over is left as it is."""
        state, plan = self._state, self.prepare()
        if state.is_over:
            return
        self._racing = race = self._race(plan)
        scheduler = Scheduler(
            store=self._store,
            executor=self._executor,
            on_record=self._note,
            # The methods of all runs are written down before they begin.
            on_request=state.write,
        )
        requests = race.requests(
            has=lambda name, until: scheduler.stored(name, until=until) is not None,
            allows=lambda seconds: SLACK * seconds <= self._left(),
        )
        try:
            scheduler.run({"race": requests})
        except TimeUpError:
            # Interrupts what runs; each leaves a checkpoint. What is submitted later starts afresh.
            self._executor.close()
        finally:
            self._racing = None

    def choose(self) -> RaceResult:
        """Choose by the validation split, for good, and open the test split for what was chosen and its rivals."""
        state = self._state
        if not state.is_over:
            found = self.result_so_far()
            chosen = found.recommendation.chosen
            state.opened_runs = tuple(run.name for run in self._to_open(found))
            state.chosen = chosen.label
            state.write()
            self._store.note_event(OPENED, state.name, f"after the race chose {chosen.label}")
        if set(state.opened_runs) - set(self._store.names(state="done")):
            records = [self._store.get(name) for name in state.opened_runs]
            scheduler = Scheduler(store=self._store, executor=self._executor, on_record=self._on_record)
            scheduler.run_specs([run_from_plain(record.spec) for record in records])
        return self.result_so_far()

    def result_so_far(self) -> RaceResult:
        """Return what is known now, without running anything."""
        state = self._state
        stored = set(self._store.names())
        records = [self._store.get(name) for name in state.labels if name in stored]
        untrained = {method.label for method in self._setup.baselines}
        metric, epochs = self._setup.study.selection.metric, 0 if state.plan is None else state.plan.epochs
        found = standings_of(records, labels=state.labels, metric=metric, epochs=epochs)
        standings = [standing for standing in found if standing.label not in untrained]
        baselines = [standing for standing in found if standing.label in untrained]
        return RaceResult(
            standings=tuple(standings),
            baselines=tuple(baselines),
            recommendation=recommend(standings, baselines),
            is_sealed=not state.is_over,
        )

    def _to_open(self, found: RaceResult) -> list[RunRecord]:
        """Return the runs whose test split is opened: the leaders' and those of networks that are not trained.

        Where time was up before anybody reached the end, the best run alone is trained on to it: a model that is handed
        over shall be what its spec says.
        """
        runs = [run for standing in found.baselines for run in standing.runs]
        leaders = leaders_of(found.standings) if found.standings else ()
        if leaders and not leaders[0].is_full:
            return [*runs, leaders[0].best_run(self._setup.study.selection.metric)]
        return [*(run for standing in leaders for run in standing.runs), *runs]

    def _race(self, plan: RacePlan) -> Race:
        setup, costs = self._setup, self._state.costs
        return Race(
            study=setup.study,
            further=setup.further,
            baselines=setup.baselines,
            plan=plan,
            workers=self._workers,
            opening=0.0 if costs is None else costs.start + costs.opening,
            labels=self._state.labels,
        )

    def _probe_costs(self) -> Costs:
        """Run a few batches of the first methods, as many at once as will race at once."""
        study = self._setup.study
        some = RacePlan(epochs=self._setup.epochs, batches_per_epoch=0, rungs=())
        race = replace(self._race(some), labels={})
        specs = [race.spec(method, 0) for method in study.methods[: self._workers]]
        found: list[Mapping[str, Any]] = []
        for outcome in self._executor.run([{"spec": to_plain(spec), "is_cost_probe": True} for spec in specs]):
            if outcome.result is None:
                raise FairgroundError(f"the cost probe failed: {outcome.failure}")
            found.append(outcome.result)
        means = {key: fmean(result[key] for result in found) for key in ("start", "batch", "look", "opening")}
        memory = max(int(result["memory"]) for result in found)
        return Costs(**means, n_batches=int(found[0]["n_batches"]), memory=memory)

    def _note(self, record: RunRecord) -> None:
        """Pass on news: a race requests some runs again, and they are where they were."""
        self._state.tick()
        news = (record.name, record.state, len(record.epochs))
        if news not in self._reported:
            self._reported.add(news)
            self._on_record(record)

    def _on_event(self, event: Mapping[str, Any]) -> None:
        self._state.tick()
        self._watch(event)
        if self._racing is not None and self._left() <= 0:
            raise TimeUpError

    def _left(self) -> float:
        """Return the time left for racing: some is kept for what comes after, with slack."""
        state = self._state
        assert state.plan is not None
        assert state.costs is not None
        n_to_open = 0 if self._racing is None else self._racing.n_to_open
        ending = state.plan.ending_seconds(state.costs, workers=self._workers, n_to_open=n_to_open)
        return state.left() - SLACK * ending


def _steps(plan: RacePlan) -> list[tuple[Rung, Rung]]:
    return list(zip(plan.rungs[:-1], plan.rungs[1:], strict=True))
