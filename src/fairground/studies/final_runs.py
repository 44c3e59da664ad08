"""Selection by the declared rule, the seal it breaks, and the final runs that open the test split.

No run that looks at the test split exists before selection: what was chosen is written into the store, with who and
when, before the first final spec can be had. A protocol that selects on the test split says so in its own spec and its
records; nothing can be searched under it.

Every method has the same number of repeats, or seeds in waves until it is settled. Nothing about waves is stored but
the records of runs. Who gets seeds next follows from them alone (`comparison.seed_waves`), so that a study that was
killed goes on with the very seeds it would have had.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from fairground.comparison.seed_waves import Wave, next_wave
from fairground.errors import DataError, SealError, require
from fairground.records.record import RunRecord
from fairground.records.store import Event, Store
from fairground.spec import RunSpec, Value, canonical_json, in_unit, name_of
from fairground.spec.study_spec import SeedProcedure, StudyJob, StudySpec, jobs_of, study_hash
from fairground.studies import Request, Requests, Scheduler, Trial, with_procedures

SELECTED = "settings selected"
OPENED = "test opened"


@dataclass(frozen=True, kw_only=True)
class Selected:
    """The settings a job goes on with; `trial` and `score` are None where nothing was searched."""

    settings: Mapping[str, Value]
    trial: int | None = None
    score: float | None = None
    n_trials: int = 0


def select(trials: Sequence[Trial]) -> Selected | None:
    """Return the trial with the best mean over the folds, the earliest of equals; None when none is done."""
    done = [(trial.goodness, -trial.number, trial) for trial in trials if trial.goodness is not None]
    if not done:
        return None
    best = max(done, key=lambda row: row[:2])[2]
    return Selected(settings=dict(best.settings), trial=best.number, score=best.score, n_trials=len(trials))


class Seal:
    """The seal on the test split of a study. Only it makes final specs."""

    def __init__(self, store: Store, study: StudySpec) -> None:
        self._store, self._study, self._name = store, study, study_hash(study)
        self._noted: set[str | None] | None = None

    def selection(self) -> dict[str, Selected] | None:
        """Return what was selected in each job, or None while the test split is sealed."""
        events = self._store.events(kind=SELECTED, run=self._name)
        if not events:
            return None
        return {label: Selected(**chosen) for label, chosen in json.loads(events[0].detail).items()}

    def end_selection(self, chosen: Mapping[str, Selected]) -> None:
        """Write down what was selected in every job; a second selection that differs is refused."""
        detail = canonical_json({label: asdict(selected) for label, selected in chosen.items()})
        before = self._store.events(kind=SELECTED, run=self._name)
        if before:
            require(
                before[0].detail == detail,
                f"study {self._study.name} was selected before, by {before[0].who} at {before[0].at}, with other "
                "settings: after a look at the test split nothing can be selected again",
                SealError,
            )
            return
        self._store.note_event(SELECTED, self._name, detail)

    def final_specs(self, job: StudyJob) -> dict[tuple[int, int], RunSpec]:
        """Return the final runs of a job by seed and fold, which open the test split; refused before selection."""
        selection = self.selection()
        if selection is None:
            raise SealError(
                f"the test split of study {self._study.name} is sealed until every method's settings are selected; "
                "finish the search first (fairground study resume)"
            )
        if job.label not in selection:
            return {}
        settings = selection[job.label].settings
        return {
            (seed, fold): job.spec(seed=seed, fold=fold, settings=settings, test=True)
            for seed in job.study.repeat_seeds
            for fold in job.study.folds.used
        }

    def note_opening(self, what: str) -> None:
        """Write down, once, that the test split is opened."""
        if what not in {event.detail for event in self.openings()}:
            self._store.note_event(OPENED, self._name, what)

    def openings(self) -> list[Event]:
        """Return who opened the test split for this study, when and for what, the first time first."""
        return self._store.events(kind=OPENED, run=self._name)

    def note_run(self, record: RunRecord) -> None:
        """Write down, once, that a final run opened the test split; the runs of a search do not."""
        evaluation = record.spec["evaluation"]
        if record.state != "done" or not isinstance(evaluation, Mapping) or not evaluation["test"]:
            return
        if self._noted is None:
            self._noted = {event.run for event in self._store.events(kind=OPENED)}
        if record.name not in self._noted:
            self._noted.add(record.name)
            self._store.note_event(OPENED, record.name, f"final run of study {self._study.name} ({self._name})")


@dataclass(frozen=True, kw_only=True)
class FinalRuns:
    """The final runs of one job by seed and fold; in waves, as many as it can get."""

    job: StudyJob
    specs: Mapping[tuple[int, int], RunSpec]

    def names(self, seeds: Collection[int]) -> list[str]:
        return [name_of(spec) for (seed, _), spec in self.specs.items() if seed in seeds]

    def noted(self, record: RunRecord) -> RunRecord:
        """Return a record with how its settings and seeds were found, which one stored before may not have yet."""
        return with_procedures(record, search=self.job.search_procedure(), seed_procedure=self.job.study.seed_procedure)

    def request(self, seeds: Collection[int]) -> "Requests[list[RunRecord]]":
        specs = [spec for (seed, _), spec in self.specs.items() if seed in seeds]
        if not specs:
            return []
        search, procedure = self.job.search_procedure(), self.job.study.seed_procedure
        records = yield Request(specs=specs, search=search, seed_procedure=procedure)
        return [self.noted(records[name_of(spec)]) for spec in specs]

    def values(self, records: Mapping[str, RunRecord], metric: str) -> tuple[dict[int, dict[int, float]], set[int]]:
        """Return test scores by seed and fold of the seeds whose runs are all done, and the seeds that lost a run."""
        found: dict[int, dict[int, float]] = {}
        lost: set[int] = set()
        missing: set[int] = set()
        for (seed, fold), spec in self.specs.items():
            record = records.get(name_of(spec))
            if record is None:
                missing.add(seed)
            elif record.state != "done":
                lost.add(seed)
            else:
                found.setdefault(seed, {})[fold] = _score(record, metric)
        return {seed: by_fold for seed, by_fold in found.items() if seed not in lost | missing}, lost


def finals_of(study: StudySpec, seal: Seal) -> dict[str, FinalRuns]:
    """Return the final runs of every job, refused before selection; none where no settings could be selected."""
    return {job.label: FinalRuns(job=job, specs=seal.final_specs(job)) for job in jobs_of(study)}


def run_finals(study: StudySpec, seal: Seal, scheduler: Scheduler) -> dict[str, list[RunRecord]]:
    """Have the final runs of all jobs made and return their records, seed by seed and fold by fold."""
    finals = finals_of(study, seal)
    if study.until_settled is None:
        return scheduler.run({label: runs.request(study.repeat_seeds) for label, runs in finals.items()})
    # Every data set has waves of its own, and all of them share the workers.
    records: dict[str, RunRecord] = {}
    while needs := {
        f"{data}/{method}": seeds
        for data, wave in waves_of(finals.values(), records).items()
        for method, seeds in wave.needs.items()
    }:
        found = scheduler.run({label: finals[label].request(seeds) for label, seeds in needs.items()})
        records |= {record.name: record for some in found.values() for record in some}
    return {
        label: [records[name] for name in runs.names(study.repeat_seeds) if name in records]
        for label, runs in finals.items()
    }


def waves_of(finals: Collection[FinalRuns], records: Mapping[str, RunRecord]) -> dict[str, Wave]:
    """Return where every data set stands, by its label; `records` are those of final runs, by name."""
    found = {}
    for data in dict.fromkeys(runs.job.data.label for runs in finals):
        # A method whose search found nothing has no final runs, and none are waited for.
        some = [runs for runs in finals if runs.job.data.label == data and runs.specs]
        if not some:
            continue
        procedure = some[0].job.study.seed_procedure
        assert procedure is not None
        pairs = {runs.job.method.label: runs.values(records, procedure.metric) for runs in some}
        lost = {(label, seed) for label, (_, gone) in pairs.items() for seed in gone}
        directions = (record.higher_is_better(procedure.metric) for record in records.values())
        values = {label: by_seed for label, (by_seed, _) in pairs.items()}
        found[data] = wave_of(values, lost, procedure, is_higher=next(directions, None) is not False)
    return found


def wave_of(
    values: Mapping[str, Mapping[int, float | Mapping[int, float]]],
    lost: Collection[tuple[str, int]],
    procedure: SeedProcedure,
    *,
    is_higher: bool,
) -> Wave:
    """Return where the methods of one data set stand; `values` names every method, those without a run too."""
    margin = in_unit(procedure.metric, procedure.plan.margin)
    return next_wave(
        values, procedure.plan, seeds=procedure.seeds, lost=lost, margin=margin, higher_is_better=is_higher
    )


@dataclass(frozen=True, kw_only=True)
class WaveStatus:
    """`given` counts the seeds each method was given, `seeds` those done; `in_question` get more, or would."""

    given: Mapping[str, int]
    seeds: Mapping[str, int]
    in_question: tuple[str, ...]
    n_looks: int
    state: Literal["running", "settled", "limit"]
    limit: int

    @classmethod
    def from_wave(cls, wave: Wave, done: Mapping[str, Collection[int]]) -> "WaveStatus":
        """Return the status; `done` are the seeds of each method's finished runs."""
        return cls(
            given={method: len(seeds) for method, seeds in wave.given.items()},
            seeds={method: sum(seed in done.get(method, ()) for seed in given) for method, given in wave.given.items()},
            in_question=wave.in_question,
            n_looks=wave.n_looks,
            state=wave.state,
            limit=wave.plan.limit,
        )

    @property
    def sentence(self) -> str:
        """Who got how many seeds, and who gets more."""
        listed = ", ".join(f"{method} {n}" for method, n in self.seeds.items())
        looks = f"{self.n_looks} look{'' if self.n_looks == 1 else 's'}"
        if self.state == "settled":
            return f"settled after {looks}; seeds: {listed}"
        names = ", ".join(self.in_question)
        if self.state == "limit":
            return f"the limit of {self.limit} seeds is reached after {looks}; seeds: {listed}; still open: {names}"
        return f"{looks} so far; seeds: {listed}; more seeds follow for {names}"


def _score(record: RunRecord, metric: str) -> float:
    value = record.score(metric, "test")
    if value is None:
        have = ", ".join(score.metric for score in record.scores if score.split == "test") or "none"
        complaint = (
            f"until_settled compares by selection.metric, {metric}, of which run {record.name} has no test score"
        )
        raise DataError(f"{complaint}; it has {have}")
    return value
