"""From a field and a time to a chosen method: pilot, plan, race, choose, and only then open the test split.

Where runs happen, and who watches, is the caller's; what the race remembers is in its book.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Self

from fairground.errors import FairgroundError
from fairground.execution.executor import Executor, Watch
from fairground.recommend.race import Race
from fairground.recommend.race_plan import SLACK, Costs, RacePlan, Rung, plan_race, told
from fairground.recommend.race_setup import RaceSetup
from fairground.recommend.race_state import RaceState
from fairground.recommend.recommendation import Recommendation, leaders_of, recommend
from fairground.recommend.standings import MethodStanding, standings_of
from fairground.records.record import RunRecord
from fairground.records.store import Store
from fairground.spec.identity import to_plain
from fairground.spec.load import run_from_plain
from fairground.study.scheduler import Heard, Request, Scheduler, Walk
from fairground.study.select import OPENED

#: carries out pilots and runs alike, so that a worker is started once
JOB = "fairground.training.cost_probe:race_job"
#: gives an executor for a job named by dotted path, watched by the race
Hire = Callable[[str, Watch], Executor]


class TimeUpError(KeyboardInterrupt):
    """The time is over; whatever runs is interrupted, as by Ctrl-C, and keeps its checkpoint."""


@dataclass(frozen=True, kw_only=True)
class Found:
    """Where everything stands, and what follows; `is_sealed` while nothing has been chosen for good."""

    standings: tuple[MethodStanding, ...]
    baselines: tuple[MethodStanding, ...]
    recommendation: Recommendation
    is_sealed: bool


class RaceRun:
    """One race from its pilot to its end, taken up wherever its book says it is; entered, it has workers."""

    def __init__(self, contest: RaceSetup, *, book: RaceState, hire: Hire, watch: Watch, heard: Heard) -> None:
        self._contest, self._book = contest, book
        self._watch, self._heard = watch, heard
        self._store = Store(book.home)
        self._executor = hire(JOB, self._hear)
        self._workers = self._executor.capacity
        self._racing: Race | None = None
        self._told: set[tuple[str, str, int]] = set()

    def __enter__(self) -> Self:
        self._executor.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._executor.close()

    def prepare(self) -> RacePlan:
        """Return the plan, made by a pilot if there is none yet."""
        book = self._book
        if book.plan is None:
            book.costs = self._pilot()
            book.plan = plan_race(
                book.costs,
                seconds=book.left(),
                asked=book.limit,
                workers=self._workers,
                epochs=self._contest.epochs,
                n_methods=len(self._contest.study.methods),
            )
            book.write()
        return book.plan

    def prepare_told(self) -> str:
        """Make the plan and return it in a sentence."""
        plan, workers = self.prepare(), self._workers
        assert self._book.costs is not None
        n, full = plan.rungs[0].n, self._contest.epochs * self._book.costs.n_batches
        whole = plan.epochs * plan.batches_per_epoch
        share = "" if whole >= full else f" ({100 * whole / full:.0f} % of the protocol's, as time allows)"
        seconds = plan.race_seconds(self._book.costs, workers=workers)
        steps = [f"{rung.n} go on after epoch {before.epochs}" for before, rung in _steps(plan)]
        return (
            f"{n} methods race for {told(self._book.limit)}. A whole run is {plan.epochs} x {plan.batches_per_epoch} "
            f"batches{share}; {', '.join([*steps, f'the best {plan.leaders} run on {plan.seeds} seeds'])}. By a pilot "
            f"that takes {told(round(seconds))} on {workers} workers; time left goes into further settings and seeds."
        )

    def race(self) -> None:
        """Race until the plan is done and the time is used; a race that is over is left as it is."""
        book, plan = self._book, self.prepare()
        if book.is_over:
            return
        self._racing = race = self._race(plan)
        together = Scheduler(store=self._store, executor=self._executor, heard=self._note)
        walk = race.walk(
            has=lambda name, until: together.has(name, until=until),
            allows=lambda seconds: SLACK * seconds <= self._left(),
        )
        try:
            together.lead({"race": self._noting(race, walk)})
        except TimeUpError:
            # Interrupts what runs; each leaves a checkpoint. What is submitted later starts afresh.
            self._executor.close()
        finally:
            self._racing = None

    def choose(self) -> Found:
        """Choose by the validation split, for good, and open the test split for what was chosen and its rivals."""
        book = self._book
        if not book.is_over:
            found = self.known()
            chosen = found.recommendation.chosen
            book.opened_runs = tuple(run.name for run in self._to_open(found))
            book.chosen = chosen.label
            book.write()
            self._store.note_event(OPENED, book.name, f"after the race chose {chosen.label}")
        if set(book.opened_runs) - set(self._store.names(state="done")):
            Scheduler(store=self._store, executor=self._executor, heard=self._heard).lead({"open": self._openings()})
        return self.known()

    def known(self) -> Found:
        """Return what is known now, without running anything."""
        book = self._book
        stored = set(self._store.names())
        records = [self._store.get(name) for name in book.labels if name in stored]
        untrained = {method.label for method in self._contest.baselines}
        metric, epochs = self._contest.study.selection.metric, 0 if book.plan is None else book.plan.epochs
        found = standings_of(records, labels=book.labels, metric=metric, epochs=epochs)
        standings = [standing for standing in found if standing.label not in untrained]
        baselines = [standing for standing in found if standing.label in untrained]
        return Found(
            standings=tuple(standings),
            baselines=tuple(baselines),
            recommendation=recommend(standings, baselines),
            is_sealed=not book.is_over,
        )

    def _to_open(self, found: Found) -> list[RunRecord]:
        """Return the runs whose test split is opened: the leaders' and those of networks that are not trained.

        Where time was up before anybody reached the end, the best run alone is trained on to it: a model that is handed
        over shall be what its spec says.
        """
        runs = [run for standing in found.baselines for run in standing.runs]
        leaders = leaders_of(found.standings) if found.standings else ()
        if leaders and not leaders[0].is_full:
            return [*runs, leaders[0].best_run(self._contest.study.selection.metric)]
        return [*(run for standing in leaders for run in standing.runs), *runs]

    def _race(self, plan: RacePlan) -> Race:
        contest, costs = self._contest, self._book.costs
        return Race(
            study=contest.study,
            further=contest.further,
            baselines=contest.baselines,
            plan=plan,
            workers=self._workers,
            opening=0.0 if costs is None else costs.start + costs.opening,
        )

    def _pilot(self) -> Costs:
        """Run a few batches of the first methods, as many at once as will race at once."""
        study = self._contest.study
        some = RacePlan(epochs=self._contest.epochs, batches_per_epoch=0, rungs=())
        race = self._race(some)
        specs = [race.spec(method, 0) for method in study.methods[: self._workers]]
        found: list[Mapping[str, Any]] = []
        for outcome in self._executor.run([{"spec": to_plain(spec), "pilot": True} for spec in specs]):
            if outcome.result is None:
                raise FairgroundError(f"the pilot failed: {outcome.failure}")
            found.append(outcome.result)
        means = {key: fmean(result[key] for result in found) for key in ("start", "batch", "look", "opening")}
        memory = max(int(result["memory"]) for result in found)
        return Costs(**means, n_batches=int(found[0]["n_batches"]), memory=memory)

    def _openings(self) -> "Walk[None]":
        records = [self._store.get(name) for name in self._book.opened_runs]
        yield Request(specs=[run_from_plain(record.spec) for record in records])

    def _noting(self, race: Race, walk: "Walk[None]") -> "Walk[None]":
        """Walk, with the methods of all runs written down before they begin."""
        ask = next(walk, None)
        while ask is not None:
            self._book.labels |= {name: label for name, (label, _) in race.asked.items()}
            self._book.write()
            records = yield ask
            try:
                ask = walk.send(records)
            except StopIteration:
                ask = None

    def _note(self, record: RunRecord) -> None:
        """Pass on news: a walk asks for some runs again, and they are where they were."""
        self._book.tick()
        news = (record.name, record.state, len(record.epochs))
        if news not in self._told:
            self._told.add(news)
            self._heard(record)

    def _hear(self, event: Mapping[str, Any]) -> None:
        self._book.tick()
        self._watch(event)
        if self._racing is not None and self._left() <= 0:
            raise TimeUpError

    def _left(self) -> float:
        """Return the time left for racing: some is kept for what comes after, with slack."""
        book = self._book
        assert book.plan is not None
        assert book.costs is not None
        n_to_open = 0 if self._racing is None else self._racing.n_to_open
        ending = book.plan.ending_seconds(book.costs, workers=self._workers, n_to_open=n_to_open)
        return book.left() - SLACK * ending


def _steps(plan: RacePlan) -> list[tuple[Rung, Rung]]:
    return list(zip(plan.rungs[:-1], plan.rungs[1:], strict=True))
