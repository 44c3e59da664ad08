"""The final runs of a study, which open the test split: repeats, or seeds in waves, which the records decide."""

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from fairground import comparison
from fairground.records.record import RunRecord
from fairground.spec import DataError, RunSpec, SeedProcedure, StudyJob, StudySpec, in_unit, jobs_of, name_of
from fairground.studies import Request, Requests, Scheduler, Seal, with_procedures


class FinalRuns(NamedTuple):
    """The final runs of one job by seed and fold; in waves, as many as it can get."""

    job: StudyJob
    specs: Mapping[tuple[int, int], RunSpec]

    def names(self, seeds: Collection[int]) -> list[str]:
        return [name_of(spec) for (seed, _), spec in self.specs.items() if seed in seeds]

    @property
    def procedures(self) -> dict[str, Any]:
        return {"search": self.job.search_procedure(), "seed_procedure": self.job.study.seed_procedure}

    def request(self, seeds: Collection[int]) -> "Requests[list[RunRecord]]":
        specs = [spec for (seed, _), spec in self.specs.items() if seed in seeds]
        if not specs:
            return []
        records = yield Request(specs=specs, **self.procedures)
        # A record that was stored before may not have the procedures yet.
        return [with_procedures(records[name_of(spec)], **self.procedures) for spec in specs]

    def values(self, records: Mapping[str, RunRecord], metric: str) -> tuple[dict[int, dict[int, float]], set[int]]:
        """Return test scores by seed and fold of the seeds whose runs are all done, and the seeds that lost a run."""
        runs = {place: records.get(name_of(spec)) for place, spec in self.specs.items()}
        missing = {seed for (seed, _), record in runs.items() if record is None}
        lost = {seed for (seed, _), record in runs.items() if record is not None and record.state != "done"}
        found: dict[int, dict[int, float]] = {}
        for (seed, fold), record in runs.items():
            if record is not None and seed not in lost | missing:
                value = record.score(metric, "test")
                if value is None:
                    have = ", ".join(score.metric for score in record.scores if score.split == "test") or "none"
                    complaint = f"until_settled compares by selection.metric, {metric}, of which run {record.name} has"
                    raise DataError(f"{complaint} no test score; it has {have}")
                found.setdefault(seed, {})[fold] = value
        return found, lost


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
    made = {label: [records.get(name) for name in runs.names(study.repeat_seeds)] for label, runs in finals.items()}
    return {label: [record for record in found if record is not None] for label, found in made.items()}


def waves_of(finals: Collection[FinalRuns], records: Mapping[str, RunRecord]) -> dict[str, "comparison.Wave"]:
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
) -> "comparison.Wave":
    """Return where the methods of one data set stand; `values` names every method, those without a run too."""
    margin = in_unit(procedure.metric, procedure.plan.margin)
    return comparison.next_wave(
        values, procedure.plan, seeds=procedure.seeds, lost=lost, margin=margin, higher_is_better=is_higher
    )
