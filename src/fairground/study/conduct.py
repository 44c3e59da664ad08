"""Conduct many runs: those already done are taken from the store, the rest go to an executor, each at most once."""

from collections.abc import Iterator, Mapping, Sequence

from fairground.execution.executor import Executor, Outcome
from fairground.records.provenance import begin
from fairground.records.record import RunRecord
from fairground.records.store import Store
from fairground.spec.identity import canonical_json, method_of, name_of, to_plain
from fairground.spec.run import RunSpec

#: what an executor is told to do with each spec; named, never imported, so that this wing stays free of torch
JOB = "fairground.training.run:run_job"


def conduct(specs: Sequence[RunSpec], *, store: Store, executor: Executor) -> Iterator[RunRecord]:
    """Yield one record for every distinct spec: stored ones first, then the others as they finish and are stored."""
    wanted = {name_of(spec): spec for spec in specs}
    done = set(store.names(state="done"))
    for name in wanted:
        if name in done:
            yield store.get(name)
    waiting = [spec for name, spec in wanted.items() if name not in done]
    jobs = [{"spec": to_plain(spec), "home": str(store.root.absolute())} for spec in waiting]
    for outcome in executor.run(jobs):
        record = record_of(outcome, wanted)
        store.append(record)
        yield record


def record_of(outcome: Outcome, wanted: Mapping[str, RunSpec]) -> RunRecord:
    """Return the record an outcome brought, or one that says how its run failed; `wanted` are the specs by name."""
    if outcome.result is not None:
        return RunRecord.from_json(canonical_json(outcome.result))
    spec = next(spec for spec in wanted.values() if to_plain(spec) == outcome.argument["spec"])
    return RunRecord(
        name=name_of(spec),
        method=method_of(spec),
        spec=to_plain(spec),
        state="failed",
        epochs=(),
        best_epoch=None,
        scores=(),
        notes=(),
        failure=outcome.failure,
        provenance=begin().finish(data_fingerprint="", split_fingerprint="", threads=0),
    )
