"""The race itself: methods leave it rung by rung, the leaders run again on further seeds, time left goes on to both.

Every decision is a function of the records alone, so that a race that was stopped finds its way back to where it was;
time decides only whether one more step is begun. Nothing here opens the test split.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from math import inf
from statistics import fmean

from fairground.recommend.race_plan import RacePlan, Rung, rungs_of
from fairground.records.record import RunRecord
from fairground.spec.identity import name_of
from fairground.spec.jobs import StudyJob
from fairground.spec.metric_words import goodness
from fairground.spec.run import RunSpec
from fairground.spec.study import BudgetSpec, MethodSpec, StudySpec
from fairground.study.scheduler import Request, Requests

#: seeds of races with different numbers never meet
SEEDS_APART = 1000
#: a method is not run on more seeds than this however much time is left
MOST_SEEDS = 10
#: how many of the leading objectives have their further settings tried
OBJECTIVES = 3

#: tells whether a run has come so far already, and whether there is time for so many seconds of all workers
Has = Callable[[str, int], bool]
Allows = Callable[[float], bool]


@dataclass
class Race:
    """`study` says the data, the protocol and the field; `further` are other settings of the same objectives.

    `labels` grows as the race goes on: the method's label of every run it may need, by the run's name.
    """

    study: StudySpec
    further: tuple[MethodSpec, ...]
    baselines: tuple[MethodSpec, ...]
    plan: RacePlan
    workers: int
    #: seconds of one worker to open the test split for one run
    opening: float = 0.0
    labels: dict[str, str] = field(default_factory=dict)
    #: the records of methods at full length
    _records: dict[str, RunRecord] = field(default_factory=dict)

    @property
    def metric(self) -> str:
        """What is raced for, on the validation split."""
        return self.study.selection.metric

    @property
    def n_to_open(self) -> int:
        """How many runs have come so far that their test split will be opened."""
        return len(self._records)

    def requests(self, *, has: Has, allows: Allows) -> "Requests[None]":
        """Request the runs of the race, from wherever it is, to its end."""
        yield Request(specs=[self.baseline(method) for method in self.baselines], until=0)
        ranked = yield from self._rungs(self.study.methods[: self.plan.rungs[0].n], self.plan.rungs)
        leaders = [method for method, _ in ranked[: self.plan.leaders]]
        yield from self._seeds(leaders, range(self.plan.seeds))
        finalists = [method for method, _ in ranked]
        yield from self._further(finalists, has=has, allows=allows)
        yield from self._more_seeds(has=has, allows=allows)

    def spec(self, method: MethodSpec, seed: int) -> RunSpec:
        """Return a method's run on the race's seed number `seed`, at full length."""
        budget = BudgetSpec(epochs=self.plan.epochs, batches_per_epoch=self.plan.batches_per_epoch)
        return self._wanted(replace(self.study, budget=budget), method, seed)

    def baseline(self, method: MethodSpec) -> RunSpec:
        """Return the run of a network that is not trained; one with another head has no settings of the usual one."""
        names_head = any(word.startswith("head=") for word in method.words)
        kept = tuple(word for word in self.study.overrides if not (names_head and word.startswith("head")))
        return self._wanted(replace(self.study, overrides=kept, budget=BudgetSpec()), method, 0)

    def _wanted(self, study: StudySpec, method: MethodSpec, seed: int) -> RunSpec:
        job = StudyJob(study=study, data=study.data[0], method=method)
        spec = job.spec(seed=SEEDS_APART * study.seed + seed, test=True)
        self.labels[name_of(spec)] = method.label
        return spec

    def _rungs(
        self, methods: Sequence[MethodSpec], rungs: Sequence[Rung]
    ) -> "Requests[list[tuple[MethodSpec, float]]]":
        """Return the methods that reached the last rung with their scores there, best first."""
        alive = list(methods)
        ranked: list[tuple[MethodSpec, float]] = []
        for rung, after in zip_longest(rungs, rungs[1:]):
            specs = {method.label: self.spec(method, 0) for method in alive}
            records = yield Request(specs=list(specs.values()), until=rung.epochs)
            scores = {
                method.label: self._validation_scores(records[name_of(specs[method.label])], rung.epochs)
                for method in alive
            }
            ranked = sorted(
                ((method, max(scores[method.label])) for method in alive if scores[method.label]),
                key=lambda entry: -entry[1],
            )
            if after is not None:
                labels = promoted({method.label: scores[method.label] for method, _ in ranked}, after.n)
                alive = [method for method, _ in ranked if method.label in labels]
        return ranked

    def _validation_scores(self, record: RunRecord, epochs: int) -> list[float]:
        """Return the validation scores up to an epoch, turned so that more is better.

        A run that once went further is judged as all others.
        """
        if record.state not in ("done", "pruned"):
            return []
        rows = [row for row in record.epochs if 0 < row.epoch <= epochs and row.validation]
        is_higher = record.higher_is_better(self.metric)
        return [goodness(row.validation[self.metric], is_higher) for row in rows]

    def _seeds(self, methods: Sequence[MethodSpec], seeds: Sequence[int]) -> "Requests[Mapping[str, RunRecord]]":
        # Seed by seed, so that what is known early is known of all.
        specs = [self.spec(method, seed) for seed in seeds for method in methods]
        records = yield Request(specs=specs, until=self.plan.epochs)
        self._records |= records
        return records

    def _further(self, finalists: Sequence[MethodSpec], *, has: Has, allows: Allows) -> "Requests[None]":
        """Race the other settings of the leading objectives; whoever beats the best leader on the first seed joins."""
        objectives = list(dict.fromkeys(objective_of(method) for method in finalists))[:OBJECTIVES]
        others = [method for method in self.further if objective_of(method) in objectives]
        if not others or not finalists:
            return
        rungs = rungs_of(self.plan.epochs, len(others))
        cost = self._run_seconds() * sum(rung.n * rung.epochs for rung in rungs) / self.plan.epochs / self.workers
        first = [name_of(self.spec(method, 0)) for method in others]
        if not (all(has(name, rungs[0].epochs) for name in first) or allows(cost)):
            return
        ranked = yield from self._rungs(others, rungs)
        best = max(self._first_scores(finalists), default=-inf)
        joining = [method for method, score in ranked if score > best]
        seeds = range(self.plan.seeds)
        needed = len(joining) * (len(seeds) * self.opening + (len(seeds) - 1) * self._run_seconds()) / self.workers
        if joining and (self._are_there(joining, seeds, has) or allows(needed)):
            yield from self._seeds(joining, seeds)

    def _more_seeds(self, *, has: Has, allows: Allows) -> "Requests[None]":
        """Give every method that has several seeds one more, again and again, while there is time."""
        for seed in range(self.plan.seeds, MOST_SEEDS):
            methods = self._with_seeds()
            needed = -(-len(methods) // self.workers) * (self._run_seconds() + self.opening)
            if not methods or not (self._are_there(methods, [seed], has) or allows(needed)):
                return
            yield from self._seeds(methods, [seed])

    def _with_seeds(self) -> list[MethodSpec]:
        known = {method.label: method for method in (*self.study.methods, *self.further)}
        labels = [self.labels[name] for name in self._records if self._records[name].state in ("done", "pruned")]
        return [known[label] for label in dict.fromkeys(labels) if labels.count(label) > 1]

    def _first_scores(self, methods: Sequence[MethodSpec]) -> list[float]:
        found = (self._records.get(name_of(self.spec(method, 0))) for method in methods)
        scores = [self._validation_scores(record, self.plan.epochs) for record in found if record is not None]
        return [max(scores) for scores in scores if scores]

    def _are_there(self, methods: Sequence[MethodSpec], seeds: Sequence[int], has: Has) -> bool:
        names = [name_of(self.spec(method, seed)) for method in methods for seed in seeds]
        return all(has(name, self.plan.epochs) for name in names)

    def _run_seconds(self) -> float:
        """Return what a run of full length took so far."""
        durations = [run.provenance.wall_seconds for run in self._records.values() if run.state in ("done", "pruned")]
        return fmean(durations) if durations else 0.0


def promoted(scores: Mapping[str, Sequence[float]], n: int) -> set[str]:
    """Return who of the ranked goes on: half of `n` places to the best scores, half to the steepest climbs of the rest.

    More is better in `scores`. A climb is from the last look but one to the last. By scores alone whoever starts slowly
    would leave first.
    """
    best = list(scores)[: (n + 1) // 2]
    rest = [label for label in scores if label not in best]
    climbs = {label: scores[label][-1] - (scores[label][-2] if len(scores[label]) > 1 else 0.0) for label in rest}
    return {*best, *sorted(rest, key=lambda label: -climbs[label])[: n - len(best)]}


def objective_of(method: MethodSpec) -> tuple[str, ...]:
    """Return the loss and the miner a method names: methods that share them differ in settings alone."""
    return tuple(word for word in method.words if word.partition("=")[0] in ("loss", "miner"))
