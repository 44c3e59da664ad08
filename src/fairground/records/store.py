"""The records under a run directory: written as files, never overwritten, searched through the index.

A run has one current record, `runs/<name>/record.json`; `outcome_of` decides which. Every other is in its history.
Events, such as the opening of a test split, are lines of `events.jsonl`.
"""

import getpass
import json
import os
import platform
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, TypedDict, Unpack

from fairground.errors import DamageWarning, StoreError, require
from fairground.files import cannot_write, read_text, write_with_digest
from fairground.records.index import Index, changes, read_record
from fairground.records.record import Outcome, RunRecord, SplitName, State, outcome_of
from fairground.records.run_folder import RunFolder, resolved
from fairground.spec.catalogue import nearest

EVENTS = "events.jsonl"
_USUAL_METRIC = "map@r"
_CHUNK = 500


class Filters(TypedDict, total=False):
    """What records can be searched by; `method` is the hash of a spec without its seed."""

    name: str
    state: State
    method: str
    protocol: str
    dataset: str
    loss: str
    seed: int


@dataclass(frozen=True, kw_only=True)
class Event:
    """Who did what (`kind`), when, and to which run or study (`run`)."""

    at: str
    who: str
    kind: str
    run: str | None
    detail: str


class RunSummary(NamedTuple):
    """What a list shows of a run; `score` is the value of `metric`, or None."""

    name: str
    method: str
    state: State
    protocol: str | None
    dataset: str | None
    loss: str | None
    miner: str | None
    seed: int | None
    metric: str
    score: float | None


class Store:
    """The records under `root`; reading a folder without records finds nothing and creates nothing.

    `patience` is how many seconds to wait for a process that holds the index. Threads may share a store.
    """

    def __init__(self, root: Path | str, *, patience: float = 10.0) -> None:
        self.root = Path(root)
        self._index = Index(self.root, patience=patience)

    def append(self, record: RunRecord) -> Outcome:
        """Store a record; it is on the disk when this returns."""
        folder = RunFolder(self.root, record.name)
        old = self._current(folder)
        outcome = outcome_of(old, record) if old else "current"
        if outcome == "current":
            if old is not None:
                _write(_new_in_history(folder), old)
            _write(folder.record, record)
        elif outcome == "history":
            _write(_new_in_history(folder), record)
            if record.state == "done":
                self.note_event("disagreement", record.name, "a second finished run of this spec has other results")
        return outcome

    def append_all(self, records: Iterable[RunRecord]) -> list[Outcome]:
        return [self.append(record) for record in records]

    def get(self, name: str) -> RunRecord:
        """Return the current record of the run with this name, or with the only name that begins so."""
        return read_record(RunFolder(self.root, self.resolve(name)).record)

    def resolve(self, name: str) -> str:
        """Return the whole name of a run from its beginning; refuse an unknown or ambiguous one."""
        return name if changes(self.root, [name]) else resolved(name, sorted(changes(self.root)), self.root)

    def history(self, name: str) -> list[RunRecord]:
        """Return every record of a run, the current one last."""
        folder = RunFolder(self.root, self.resolve(name))
        return [read_record(path) for path in (*sorted(folder.history.glob("*.json")), folder.record)]

    def names(self, **filters: Unpack[Filters]) -> list[str]:
        """Return the names of the runs that match, in the order they were stored."""
        return [name for (name,) in self._rows("name", filters)]

    def names_by_method(self, **filters: Unpack[Filters]) -> dict[str, list[str]]:
        """Return the names of the runs that match, by method."""
        found: dict[str, list[str]] = {}
        for name, method in self._rows("name, method", filters):
            found.setdefault(method, []).append(name)
        return found

    def records(self, **filters: Unpack[Filters]) -> Iterator[RunRecord]:
        """Yield the current records that match, in the order they were stored."""
        names = self.names(**filters)
        for start in range(0, len(names), _CHUNK):  # not all texts in memory at once
            some = names[start : start + _CHUNK]
            query = f"SELECT name, json FROM body WHERE name IN ({', '.join('?' * len(some))})"
            texts = dict(self._index.rows(query, some, names=()))
            for name in some:
                if name in texts:
                    yield RunRecord.from_plain(json.loads(texts[name])["body"])

    def summaries(
        self, metric: str | None = None, split: SplitName = "test", **filters: Unpack[Filters]
    ) -> list[RunSummary]:
        """Return what a list shows of the runs that match, in the order they were stored, without reading records.

        The score is that of `metric`, by default of the metric that selected each run.
        """
        columns = "name, method, state, protocol, dataset, loss, miner, seed, scores"
        found = []
        for *values, text in self._rows(columns, filters):
            scores = json.loads(text)
            shown = metric or scores["selected_by"] or _USUAL_METRIC
            found.append(RunSummary._make((*values, shown, scores.get(split, {}).get(shown))))
        return found

    def specs_of(self, kinds: Sequence[str]) -> dict[str, Any]:
        """Return the specs of the runs on data sets of these kinds, by the names of the runs."""
        rows = self._index.rows(
            f"""SELECT name, json_extract(json, '$.body.spec') FROM record JOIN body USING (name)
                WHERE dataset IN ({", ".join("?" * len(kinds))}) ORDER BY changed, name""",
            kinds,
        )
        return {name: json.loads(spec) for name, spec in rows}

    def note_event(self, kind: str, run: str | None = None, detail: str = "") -> None:
        """Append an event; it is on the disk when this returns."""
        at = datetime.now(UTC).isoformat(timespec="seconds")
        event = Event(at=at, who=_who(), kind=kind, run=run, detail=detail)
        path = self.root / EVENTS
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            with path.open("ab+") as file:
                # After a line that a full disk cut short, a new line.
                is_torn = file.tell() > 0 and file.seek(-1, os.SEEK_END) >= 0 and file.read() != b"\n"
                file.write(("\n" * is_torn + json.dumps(asdict(event)) + "\n").encode())
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise StoreError(cannot_write(path, error)) from error

    def events(self, *, kind: str | None = None, run: str | None = None) -> list[Event]:
        """Return the events that match, oldest first."""
        path = self.root / EVENTS
        found = []
        for line in read_text(path, error=StoreError).splitlines() if path.exists() else ():
            try:
                event = Event(**json.loads(line))
            except (ValueError, TypeError):
                warnings.warn(f"{path}: a line is damaged and left out: {line[:80]}", DamageWarning, stacklevel=2)
                continue
            if kind in (None, event.kind) and run in (None, event.run):
                found.append(event)
        return found

    def _current(self, folder: RunFolder) -> RunRecord | None:
        """Return the current record of a run; a damaged one counts as none, so that a good one takes its place."""
        try:
            return read_record(folder.record) if folder.record.exists() else None
        except StoreError as error:
            warnings.warn(f"{error}; it is replaced", DamageWarning, stacklevel=3)
            return None

    def _rows(self, columns: str, filters: Filters) -> list[tuple]:
        known = Filters.__annotations__
        for key in filters:
            hint = f"{nearest(key, known)} Use {', '.join(known)}."
            require(key in known, f"records cannot be searched by '{key}'.{hint}")
        condition = " AND ".join(["true", *(f"{key} = ?" for key in filters)])
        query = f"SELECT {columns} FROM record WHERE {condition} ORDER BY changed, name"
        names = [filters["name"]] if "name" in filters else None
        return self._index.rows(query, filters.values(), names=names)


def _write(path: Path, record: RunRecord) -> None:
    write_with_digest(path, record.to_plain())
    # Records are in the order of their times, and the clock of a file system ticks every few milliseconds only.
    now = time.time_ns()
    os.utime(path, ns=(now, now))


def _new_in_history(folder: RunFolder) -> Path:
    return folder.history / f"{time.time_ns()}.json"


def _who() -> str:
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a container may run under a number that has no name
        user = "unknown"
    return f"{user}@{platform.node()} process {os.getpid()}"
