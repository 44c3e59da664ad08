"""Have many runs made, each once: stored ones are read, the others go to an executor.

Whoever wants runs is a generator. It yields a `Request`, is sent the records by name, and goes on until it returns. Any
number of generators share one executor. What one is sent depends neither on another nor on the order in which runs
finish, so that any number of workers gives the same results.

Several drivers may share a home. A run is locked by the driver that has it made; the others wait for its record.
"""

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Generic, TypeVar, cast

from fairground.errors import StoreError
from fairground.files import LockedError
from fairground.records.provenance import Clock
from fairground.records.record import RunRecord
from fairground.records.run_folder import RunFolder, locked
from fairground.records.store import Store
from fairground.spec.identity import method_of, name_of, to_plain
from fairground.spec.run import RunSpec
from fairground.spec.study import SearchProcedure, SeedProcedure
from fairground.studies.executors.executor import Executor, Outcome

#: trains one spec; named, never imported, so that this wing stays free of torch
JOB = "fairground.training.run:run_job"
#: seconds to wait before asking again for runs that other drivers have
PAUSE = 0.2

Result = TypeVar("Result")
OnRecord = Callable[[RunRecord], None]


@dataclass(frozen=True, kw_only=True)
class Request:
    """The runs a generator wants next, and how settings and seeds were found, for their records to say.

    With `until` they need to be trained to the end of that epoch only, the test split still sealed; a run that has come
    so far, or further, is not touched again.
    """

    specs: Sequence[RunSpec]
    search: SearchProcedure | None = None
    seed_procedure: SeedProcedure | None = None
    until: int | None = None


Requests = Generator[Request, Mapping[str, RunRecord], Result]


class Scheduler:
    """`on_request` is called before the runs of a request begin, `on_record` with every record, stored ones too."""

    def __init__(
        self,
        *,
        store: Store,
        executor: Executor,
        on_record: OnRecord = lambda _: None,
        on_request: Callable[[], None] = lambda: None,
    ) -> None:
        self._store, self._executor = store, executor
        self._on_record, self._on_request = on_record, on_request
        self._locks = _DriverLocks(store.root)
        #: jobs nobody has started yet, and those this driver's executor has, by the run's name
        self._queue: dict[str, _Job] = {}
        self._running: dict[str, _Job] = {}

    def run_specs(self, specs: Sequence[RunSpec]) -> list[RunRecord]:
        """Return the record of every distinct spec, in the order of the specs."""

        def request_once() -> "Requests[list[RunRecord]]":
            return list((yield Request(specs=specs)).values())

        return self.run({"": request_once()})[""]

    def run(self, generators: "Mapping[str, Requests[Result]]") -> dict[str, Result]:
        """Send every generator the records it requests and return what each returns."""
        clients = {label: _Client(generator) for label, generator in generators.items()}
        try:
            for client in clients.values():
                self._advance(client)
            while waiting := [client for client in clients.values() if client.missing]:
                for job, record in self._next_records(waiting):
                    self._deliver(job, record, waiting)
        finally:
            self._queue, self._running = {}, {}
            self._locks.release_all()
        return {label: client.returned() for label, client in clients.items()}

    def stored(self, name: str, *, until: int | None = None) -> RunRecord | None:
        """Return the record of a run that is over, or paused no earlier than at the end of epoch `until`."""
        record = next(self._store.records(name=name), None)
        if record is None:
            return None
        # A run that diverged would diverge again; a failed one is worth another try.
        is_over = record.state in ("done", "diverged")
        is_paused_there = record.state == "pruned" and until is not None and _last_epoch(record) >= until
        return record if is_over or is_paused_there else None

    def _advance(self, client: "_Client[Result]") -> None:
        """Send a generator stored records until it requests a run that is not there yet, or ends."""
        while client.next_request():
            self._on_request()
            until = client.request.until
            for name in client.missing:
                record = self.stored(name, until=until)
                if record is not None:
                    client.records[name] = record
                    self._on_record(record)
            for name in client.missing:
                self._enqueue(name, _Job(client.specs[name], until))
            if client.missing:
                return

    def _enqueue(self, name: str, job: "_Job") -> None:
        # A job on its way may end too early for this one; then it is queued again when that record comes.
        if name not in self._queue and name not in self._running:
            self._queue[name] = job

    def _next_records(self, waiting: "Sequence[_Client[Result]]") -> "list[tuple[_Job, RunRecord]]":
        """Start what may start; return what other drivers have stored meanwhile, or else the next outcome."""
        found = []
        for name, job in list(self._queue.items()):
            # One more than can run at once, so that no worker waits; the rest is left for other drivers to take.
            if len(self._running) > self._executor.capacity:
                break
            if not self._locks.take(name):
                continue
            del self._queue[name]
            # Asked again under the lock: another driver may have finished it meanwhile.
            record = self.stored(name, until=job.until)
            if record is None:
                self._submit(name, job)
            else:
                self._locks.release(name)
                found.append((job, record))
        if not found and self._running:
            return [self._receive(next(self._executor.finished()), waiting)]
        if not found:
            time.sleep(PAUSE)
        return found

    def _submit(self, name: str, job: "_Job") -> None:
        self._running[name] = job
        home = str(self._store.root.absolute())
        self._executor.submit(name, {"spec": job.spec, "home": home, "until": job.until})

    def _receive(self, outcome: Outcome, waiting: "Sequence[_Client[Result]]") -> "tuple[_Job, RunRecord]":
        """Store the record of an outcome, with how its settings and seeds were found where somebody waiting says it."""
        # The disk is full, a file is damaged, or another process has the run: no word about the settings. A trial that
        # failed for such a reason would differ from the same trial on a better day.
        if outcome.failure is not None and outcome.is_store_failure:
            raise StoreError(outcome.failure)
        name = outcome.job_id
        job = self._running.pop(name)
        requests = [client.request for client in waiting if name in client.missing]
        search = next(filter(None, (request.search for request in requests)), None)
        seeds = next(filter(None, (request.seed_procedure for request in requests)), None)
        record = with_procedures(_record_of(outcome, job.spec), search=search, seed_procedure=seeds)
        self._store.append(record)
        self._locks.release(name)
        return job, record

    def _deliver(self, job: "_Job", record: RunRecord, waiting: "Sequence[_Client[Result]]") -> None:
        self._on_record(record)
        for client in waiting:
            if record.name not in client.missing:
                continue
            if not job.is_enough(client.request.until):
                self._enqueue(record.name, _Job(job.spec, client.request.until))
                continue
            client.records[record.name] = record
            if not client.missing:
                self._advance(client)


@dataclass(frozen=True)
class _Job:
    """A run to make, to its end or to the end of epoch `until`."""

    spec: RunSpec
    until: int | None

    def is_enough(self, until: int | None) -> bool:
        """Tell whether a caller who wants the run up to `until` is served by this job."""
        return self.until is None or (until is not None and until <= self.until)


@dataclass
class _Client(Generic[Result]):
    """A generator with its present request: the specs by name, and the records it has of them."""

    generator: "Requests[Result]"
    request: Request = field(default_factory=lambda: Request(specs=()))
    specs: dict[str, RunSpec] = field(default_factory=dict)
    records: dict[str, RunRecord] = field(default_factory=dict)
    _is_begun: bool = False
    _result: Result | None = None

    @property
    def missing(self) -> list[str]:
        """The names of the runs it waits for."""
        return [name for name in self.specs if name not in self.records]

    def next_request(self) -> bool:
        """Send the records, in the order of the request; False when the generator has returned."""
        records = {name: self.records[name] for name in self.specs}
        try:
            self.request = self.generator.send(records) if self._is_begun else next(self.generator)
        except StopIteration as end:
            self.specs, self._result = {}, end.value
            return False
        self._is_begun = True
        self.specs, self.records = {name_of(spec): spec for spec in self.request.specs}, {}
        return True

    def returned(self) -> Result:
        """Return what the generator returned."""
        return cast("Result", self._result)


class _DriverLocks:
    """The runs this driver has made; unlocked when released, and by its death."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._held: dict[str, ExitStack] = {}

    def take(self, name: str) -> bool:
        """Lock a run unless another driver has it."""
        stack = ExitStack()
        try:
            stack.enter_context(locked(RunFolder(self._home, name), role="driver"))
        except LockedError:
            return False
        self._held[name] = stack
        return True

    def release(self, name: str) -> None:
        """Let other drivers have the run."""
        self._held.pop(name).close()

    def release_all(self) -> None:
        """Let other drivers have all runs."""
        for name in list(self._held):
            self.release(name)


def with_procedures(
    record: RunRecord, *, search: SearchProcedure | None, seed_procedure: SeedProcedure | None
) -> RunRecord:
    """Return the record with how settings and seeds were found, in its fields and, for people, in notes.

    A study that searches nothing keeps the search a record has; the number of seeds is the study's own affair.
    """
    said = [procedure.sentence for procedure in (search, seed_procedure) if procedure is not None]
    notes = tuple(dict.fromkeys([*record.notes, *said]))
    return replace(record, search=search or record.search, seed_procedure=seed_procedure, notes=notes)


def _last_epoch(record: RunRecord) -> int:
    return max((row.epoch for row in record.epochs), default=-1)


def _record_of(outcome: Outcome, spec: RunSpec) -> RunRecord:
    """Return the record an outcome brought, or one that says how its run failed."""
    if outcome.result is not None:
        record: RunRecord = outcome.result
        return record
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
        provenance=Clock().finish(),
    )
