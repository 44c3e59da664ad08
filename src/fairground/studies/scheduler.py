"""Have many runs made, each once: stored ones are read, the others go to an executor.

A caller is a generator that yields a `Request` and is sent the records by name, whatever others ask and in whatever
order runs finish. Several drivers may share a run directory: one locks a run, the others wait for its record.
"""

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar, cast

from fairground import training
from fairground.records import Clock, LockedError, RunFolder, RunRecord, Store, locked, newest_checkpoint
from fairground.records.changed_code_and_data import ChangedError, Content, changes_in, content_of, require_unchanged
from fairground.spec import RunSpec, SearchProcedure, SeedProcedure, StoreError, method_of, name_of, to_plain
from fairground.studies.executors.executor import Executor, Outcome

#: trains one spec; named, not imported, so that torch is not
JOB = "fairground.training.run:run_job"
#: seconds to wait before asking again for runs that other drivers have
PAUSE = 0.2

Result = TypeVar("Result")
OnRecord = Callable[[RunRecord], None]


@dataclass(frozen=True, kw_only=True)
class Request:
    """The runs a generator wants next, and how settings and seeds were found, for their records."""

    specs: Sequence[RunSpec]
    search: SearchProcedure | None = None
    seed_procedure: SeedProcedure | None = None


Requests = Generator[Request, Mapping[str, RunRecord], Result]


class Scheduler:
    """`on_record` is called with every record, stored ones too; `again` makes again what has other content now."""

    def __init__(
        self, *, store: Store, executor: Executor, on_record: OnRecord = lambda _: None, again: bool = False
    ) -> None:
        self._store, self._executor, self._on_record, self._again = store, executor, on_record, again
        #: the content of data and split, by their specs, when they were first asked for
        self._data: dict[str, Content] = {}
        #: runs that wait for a worker, those that this driver's executor has, and the locks of the latter, by name
        self._queue: dict[str, RunSpec] = {}
        self._running: dict[str, RunSpec] = {}
        self._locks: dict[str, ExitStack] = {}

    def run_specs(self, specs: Sequence[RunSpec]) -> list[RunRecord]:
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
                for record in self._next_records(waiting):
                    self._on_record(record)
                    for client in waiting:
                        if record.name in client.missing:
                            client.records[record.name] = record
                            if not client.missing:
                                self._advance(client)
        finally:
            self._queue, self._running = {}, {}
            for name in list(self._locks):
                self._locks.pop(name).close()
        return {label: cast("Result", client.result) for label, client in clients.items()}

    def _advance(self, client: "_Client[Result]") -> None:
        """Send a generator stored records until it requests a run that is not there yet, or ends."""
        while client.next_request():
            for name in client.missing:
                record = self._stored(name, client.specs[name])
                if record is not None:
                    client.records[name] = record
                    self._on_record(record)
            for name in client.missing:
                if name not in self._running:
                    self._queue.setdefault(name, client.specs[name])
            if client.missing:
                return

    def content_of(self, spec: RunSpec) -> dict[str, str]:
        """Return what a spec points at, with data and split as they were when this scheduler first looked."""

        def of_data() -> Content:
            key = repr((spec.data, spec.split))
            if key not in self._data:
                self._data[key] = training.content_of_data(spec)
            return self._data[key]

        return content_of(spec, of_data)

    def _stored(self, name: str, spec: RunSpec) -> RunRecord | None:
        """Return the record of a run that is over; one with other content than now is refused, or does not count."""
        record = next(self._store.records(name=name), None)
        # A run that diverged would diverge again; a failed one is worth another try.
        if record is None or record.state not in ("done", "diverged"):
            return None
        now = self.content_of(spec)
        if self._again and changes_in(record.content, now):
            return None
        require_unchanged(name, record.content, now)
        return record

    def _submit(self, name: str, spec: RunSpec) -> None:
        if self._again:
            record = next(self._store.records(name=name), None)
            folder = RunFolder(self._store.root, name)
            before = newest_checkpoint(folder).get("content") if record is None else record.content
            if before is not None and (what := changes_in(before, self.content_of(spec))):
                self._store.begin_again(name, what)
        self._running[name] = spec
        self._executor.submit(name, {"spec": spec, "home": str(self._store.root.absolute())})

    def _next_records(self, waiting: "Sequence[_Client[Result]]") -> list[RunRecord]:
        """Start what may start; return what other drivers have stored meanwhile, or else the next outcome."""
        found = []
        for name, spec in list(self._queue.items()):
            # One more than can run at once, so that no worker waits; the rest is left for other drivers to take.
            if len(self._running) > self._executor.capacity:
                break
            if not self._take(name):
                continue
            del self._queue[name]
            # Asked again under the lock: another driver may have finished it meanwhile.
            record = self._stored(name, spec)
            if record is None:
                self._submit(name, spec)
            else:
                self._locks.pop(name).close()
                found.append(record)
        if not found and self._running:
            return [self._receive(next(self._executor.finished()), waiting)]
        if not found:
            time.sleep(PAUSE)
        return found

    def _take(self, name: str) -> bool:
        stack = ExitStack()
        try:
            stack.enter_context(locked(RunFolder(self._store.root, name), role="driver"))
        except LockedError:
            return False
        self._locks[name] = stack
        return True

    def _receive(self, outcome: Outcome, waiting: "Sequence[_Client[Result]]") -> RunRecord:
        """Store the record of an outcome, with how its settings and seeds were found if a waiting client knows."""
        # The disk is full, a file is damaged, or another process has the run: that tells nothing about the settings. A
        # trial that failed for such a reason would differ from the same trial on a better day.
        if outcome.failure is not None and outcome.is_store_failure:
            raise StoreError(outcome.failure)
        name = outcome.job_id
        spec = self._running.pop(name)
        requests = [client.request for client in waiting if name in client.missing]
        search = next(filter(None, (request.search for request in requests)), None)
        seeds = next(filter(None, (request.seed_procedure for request in requests)), None)
        record = with_procedures(_record_of(outcome, spec), search=search, seed_procedure=seeds)
        self._store.append(record)
        self._locks.pop(name).close()
        if record.state != "failed" and (what := changes_in(self.content_of(spec), record.content)):
            raise ChangedError(f"run {name} was made with other content than this command began with: {what}")
        return record


@dataclass
class _Client(Generic[Result]):
    """A generator with its present request: the specs by name, and the records it has of them."""

    generator: "Requests[Result]"
    request: Request = field(default_factory=lambda: Request(specs=()))
    specs: dict[str, RunSpec] = field(default_factory=dict)
    records: dict[str, RunRecord] = field(default_factory=dict)
    is_begun: bool = False
    result: Result | None = None

    @property
    def missing(self) -> list[str]:
        return [name for name in self.specs if name not in self.records]

    def next_request(self) -> bool:
        """Send the records, in the order of the request; False when the generator has returned."""
        records = {name: self.records[name] for name in self.specs}
        try:
            self.request = self.generator.send(records) if self.is_begun else next(self.generator)
        except StopIteration as end:
            self.specs, self.result = {}, end.value
            return False
        self.is_begun = True
        self.specs, self.records = {name_of(spec): spec for spec in self.request.specs}, {}
        return True


def with_procedures(
    record: RunRecord, *, search: SearchProcedure | None, seed_procedure: SeedProcedure | None
) -> RunRecord:
    """Return the record with how settings, if they were searched, and seeds were found, in fields and in notes."""
    sentences = [procedure.sentence for procedure in (search, seed_procedure) if procedure is not None]
    notes = tuple(dict.fromkeys([*record.notes, *sentences]))
    return replace(record, search=search or record.search, seed_procedure=seed_procedure, notes=notes)


def _record_of(outcome: Outcome, spec: RunSpec) -> RunRecord:
    if outcome.result is not None:
        return cast("RunRecord", outcome.result)
    return RunRecord(
        name=name_of(spec),
        method=method_of(spec),
        spec=to_plain(spec),
        state="failed",
        scores=(),
        failure=outcome.failure,
        provenance=Clock().finish(),
    )
