"""Conduct many runs: those already done are taken from the store, the rest go to an executor, each at most once."""

import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from fairground.execution.executor import Executor, Outcome
from fairground.records.artefacts import RunFolder
from fairground.records.lock import LockedError, locked
from fairground.records.provenance import begin
from fairground.records.record import RunRecord
from fairground.records.store import Store
from fairground.spec.identity import canonical_json, method_of, name_of, to_plain
from fairground.spec.run import RunSpec

#: what an executor is told to do with each spec; named, never imported, so that this wing stays free of torch
JOB = "fairground.training.run:run_job"


#: how many seconds to leave a run to another driver before looking again
PAUSE = 0.2


def run_specs(specs: Sequence[RunSpec], *, store: Store, executor: Executor) -> Iterator[RunRecord]:
    """Yield one record for every distinct spec: stored ones first, then the others as they finish and are stored.

    Several drivers may conduct the same runs in one home: each takes those that nobody has, and hears of the others.
    """
    wanted = {name_of(spec): spec for spec in specs}
    waiting = deque(wanted)
    settled = _settled(store)
    with _Claims(store.root) as claims:
        while waiting or claims.names:
            for name in _next_names(waiting, claims, executor.capacity, settled):
                # Asked again under the claim: another driver may have finished it meanwhile.
                if name in settled or name in (settled := _settled(store)):
                    claims.release(name)
                    yield store.get(name)
                else:
                    executor.submit({"spec": to_plain(wanted[name]), "home": str(store.root.absolute())})
            if not claims.names:
                # Whatever is left, other drivers have.
                time.sleep(PAUSE if waiting else 0)
                continue
            record = record_of(next(executor.finished()), wanted)
            store.append(record)
            claims.release(record.name)
            yield record


def _settled(store: Store) -> set[str]:
    """Return the runs that need not run again: one that diverged would diverge again."""
    return {*store.names(state="done"), *store.names(state="diverged")}


def _next_names(waiting: deque[str], claims: "_Claims", capacity: int, settled: set[str]) -> Iterator[str]:
    """Yield runs that are settled or now ours: one more than can run at once, so that no worker waits for the next."""
    for _ in range(len(waiting)):
        name = waiting.popleft()
        if name in settled or (len(claims.names) <= capacity and claims.take(name)):
            yield name
        else:
            waiting.append(name)


class _Claims:
    """The runs this driver sees to; released when given back, and by its death."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self.names: dict[str, ExitStack] = {}

    def take(self, name: str) -> bool:
        stack = ExitStack()
        try:
            stack.enter_context(locked(RunFolder(self._home, name), role="driver"))
        except LockedError:
            return False
        self.names[name] = stack
        return True

    def release(self, name: str) -> None:
        if name in self.names:
            self.names.pop(name).close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for name in list(self.names):
            self.release(name)


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
