"""Several walks side by side on one executor: each asks for runs, waits for all of them, and goes on.

A walk is a generator that yields what it wants (`Request`) and is sent the records by name. What one walk hears never
depends on another nor on the order in which runs finish, so that any number of workers gives the same walk.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from fairground.errors import StoreError
from fairground.execution.executor import Executor, Outcome
from fairground.records.record import RunRecord
from fairground.records.store import Store
from fairground.spec.identity import name_of, to_plain
from fairground.spec.run import RunSpec
from fairground.study.run_specs import record_of

Result = TypeVar("Result")
Heard = Callable[[RunRecord], None]


@dataclass(frozen=True, kw_only=True)
class Request:
    """The runs a walk wants next, and what their records shall say beside what the runs say themselves.

    With `until` they need to be trained to the end of that epoch only, the test split still sealed; a run that has come
    so far is not touched again.
    """

    specs: Sequence[RunSpec]
    notes: tuple[str, ...] = ()
    until: int | None = None


Walk = Generator[Request, Mapping[str, RunRecord], Result]


@dataclass
class _Waiting:
    """What a walk waits for: the names still missing, and the records it has."""

    ask: Request
    missing: set[str]
    found: dict[str, RunRecord] = field(default_factory=dict)


class Scheduler:
    """Leads walks to their ends. `heard` is told every record, those that were stored already too."""

    def __init__(self, *, store: Store, executor: Executor, heard: Heard = lambda _: None) -> None:
        self._store, self._executor, self._heard = store, executor, heard
        # A run that diverged would diverge again; a failed one is worth another try.
        self._settled = {*store.names(state="done"), *store.names(state="diverged")}
        self._paused = set(store.names(state="pruned"))
        self._under_way: dict[str, RunSpec] = {}
        self._waiting: dict[str, _Waiting] = {}

    def lead(self, walks: Mapping[str, "Walk[Result]"]) -> dict[str, Result]:
        """Return what each walk returns."""
        results: dict[str, Result] = {}
        for label, walk in walks.items():
            self._advance(label, walk, None, results)
        for outcome in self._executor.finished():
            record = self._take(outcome)
            for label in [label for label, waiting in self._waiting.items() if record.name in waiting.missing]:
                waiting = self._waiting[label]
                waiting.missing.discard(record.name)
                waiting.found[record.name] = record
                if not waiting.missing:
                    del self._waiting[label]
                    self._advance(label, walks[label], waiting.found, results)
        return results

    def _advance(
        self,
        label: str,
        walk: "Walk[Result]",
        records: Mapping[str, RunRecord] | None,
        results: dict[str, Result],
    ) -> None:
        """Send records until the walk wants a run that is not there yet, or ends."""
        while True:
            try:
                ask = next(walk) if records is None else walk.send(records)
            except StopIteration as end:
                results[label] = end.value
                return
            wanted = {name_of(spec): spec for spec in ask.specs}
            stored = {name: self._stored(name) for name in wanted if self.has(name, until=ask.until)}
            missing = {name: spec for name, spec in wanted.items() if name not in stored}
            if missing:
                self._waiting[label] = _Waiting(ask=ask, missing=set(missing), found=stored)
                for name, spec in missing.items():
                    self._submit(name, spec, ask.until)
                return
            records = stored

    def has(self, name: str, *, until: int | None = None) -> bool:
        """Tell whether a run is over, or paused no earlier than at the end of epoch `until`."""
        if until is None or name in self._settled or name not in self._paused:
            return name in self._settled
        return any(row.epoch >= until for row in self._store.get(name).epochs)

    def _stored(self, name: str) -> RunRecord:
        record = self._store.get(name)
        self._heard(record)
        return record

    def _submit(self, name: str, spec: RunSpec, until: int | None) -> None:
        if name not in self._under_way:
            self._under_way[name] = spec
            argument = {"spec": to_plain(spec), "home": str(self._store.root.absolute())}
            self._executor.submit(argument if until is None else {**argument, "until": until})

    def _take(self, outcome: Outcome) -> RunRecord:
        # No word about the settings: the disk is full, a file is damaged, or another process has the run. A trial that
        # failed for such a reason would differ from the same trial on a better day.
        if outcome.failure is not None and "fairground.errors.StoreError" in outcome.details:
            raise StoreError(outcome.failure)
        record = record_of(outcome, self._under_way)
        notes = [note for w in self._waiting.values() if record.name in w.missing for note in w.ask.notes]
        record = with_notes(record, notes)
        self._store.append(record)
        self._under_way.pop(record.name)
        if record.state == "pruned":
            self._paused.add(record.name)
        elif record.state != "failed":
            self._settled.add(record.name)
        self._heard(record)
        return record


def with_notes(record: RunRecord, notes: Sequence[str]) -> RunRecord:
    """Return the record with further notes, each said once."""
    return replace(record, notes=tuple(dict.fromkeys([*record.notes, *notes])))
