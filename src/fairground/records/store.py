"""The store on disk: every run's record, appended once, searched by what was asked, never overwritten.

One SQLite file in WAL mode under the root folder (`docs/records.md` argues why). Any number of processes may read and
write at once; a process killed at any byte loses at most the row it was writing.

A run has one current record, the one `get` and `records` answer with; every other stays in its history:
    - a finished run (done) supersedes an earlier failed, diverged or pruned one, and never the other way round;
    - among unfinished records the latest is current;
    - a second done with the same digits is the same news and is not stored again;
    - a second done with the same digits and further scores (the test split opened later) supersedes the first;
    - a second done with other digits is kept in the history and noted as an event of kind `disagreement`.
"""

import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypedDict, Unpack

from fairground.catalogue import nearest
from fairground.errors import InputError, require
from fairground.records.database import open_database, told_in_a_sentence, transaction
from fairground.records.record import RunRecord, SplitName, State
from fairground.records.rows import BODY_OF_NAME, Outcome, insert_event, insert_record

FILE_NAME = "records.sqlite"
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
    """Somebody did something: `kind` says what, `run` to which run, `who` and `at` by whom and when."""

    at: str
    who: str
    kind: str
    run: str | None
    detail: str


class ScoreRow(NamedTuple):
    """One score of one run, read without its whole record."""

    name: str
    method: str
    seed: int
    value: float


class Store:
    """The records under `root`; reading a folder without a store finds nothing and makes nothing.

    `patience` is how many seconds to wait for another process before giving up. Safe to share between threads.
    """

    def __init__(self, root: Path | str, *, patience: float = 30.0) -> None:
        self.root = Path(root)
        self.path = self.root / FILE_NAME
        self._patience = patience
        self._own = threading.local()

    def append(self, record: RunRecord) -> Outcome:
        """Store a record durably before returning."""
        return self.append_all([record])[0]

    def append_all(self, records: Iterable[RunRecord]) -> list[Outcome]:
        """Store many records in one transaction: all of them or, after a failure, none."""
        with told_in_a_sentence(self.path):
            connection = self._connect()
            with transaction(connection):
                return [insert_record(connection, record) for record in records]

    def get(self, name: str) -> RunRecord:
        """Return the current record of the run with this name or with the only name that begins so."""
        (body,) = self._read(BODY_OF_NAME, (self.resolve(name),))[0]
        return RunRecord.from_json(body)

    def resolve(self, name: str) -> str:
        """Return the whole name of a run from its beginning, refusing what is unknown or ambiguous."""
        found = [row[0] for row in self._read(_NAMES_IN_RANGE, (name, name + "\U0010ffff"))]
        if name in found:
            return name
        require(len(found) > 0 and name != "", f"no run '{name}' in {self.root}.{self._nearest(name)}", InputError)
        some = ", ".join(found[:4]) + (", ..." if len(found) > 4 else "")
        require(len(found) == 1, f"'{name}' could be {some}: type more of the name", InputError)
        return str(found[0])

    def history(self, name: str) -> list[RunRecord]:
        """Return every record of a run, oldest first, superseded ones too."""
        return [RunRecord.from_json(body) for (body,) in self._read(_HISTORY, (self.resolve(name),))]

    def names(self, **filters: Unpack[Filters]) -> list[str]:
        """Return the names of the runs that match, in the order they were stored."""
        where, values = _where(filters)
        return [row[0] for row in self._read(f"SELECT name FROM record WHERE {where} ORDER BY id", values)]

    def records(self, **filters: Unpack[Filters]) -> Iterator[RunRecord]:
        """Yield the current records that match, in the order they were stored."""
        where, values = _where(filters)
        ids = [row[0] for row in self._read(f"SELECT id FROM record WHERE {where} ORDER BY id", values)]
        # In pieces: a slow reader must not hold one long read open, which would keep the log of writes from shrinking.
        for start in range(0, len(ids), _CHUNK):
            some = ids[start : start + _CHUNK]
            marks = ",".join("?" * len(some))
            for (body,) in self._read(f"SELECT json FROM body WHERE record IN ({marks}) ORDER BY record", some):
                yield RunRecord.from_json(body)

    def since(self, mark: int) -> tuple[int, list[RunRecord]]:
        """Return the current records stored after `mark`, and the mark to ask with next time; begin with 0."""
        rows = self._read(_SINCE, (mark,))
        return (rows[-1][0] if rows else mark), [RunRecord.from_json(body) for _, body in rows]

    def scores(self, metric: str, split: SplitName = "test", **filters: Unpack[Filters]) -> list[ScoreRow]:
        """Return one metric of every run that matches, without reading whole records."""
        where, values = _where(filters)
        query = f"""SELECT name, method, seed, value FROM score JOIN record ON record.id = score.record
                    WHERE metric = ? AND split = ? AND {where} ORDER BY score.record"""
        return list(map(ScoreRow._make, self._read(query, [metric, split, *values])))

    def note_event(self, kind: str, run: str | None = None, detail: str = "") -> None:
        """Write down that somebody did something, durably before returning."""
        with told_in_a_sentence(self.path):
            connection = self._connect()
            with transaction(connection):
                insert_event(connection, kind, run, detail)

    def events(self, *, kind: str | None = None, run: str | None = None) -> list[Event]:
        """Return what was noted, oldest first."""
        asked = {key: value for key, value in (("kind", kind), ("run", run)) if value is not None}
        where = " AND ".join(["true", *(f"{key} = ?" for key in asked)])
        rows = self._read(f"SELECT at, who, kind, run, detail FROM event WHERE {where} ORDER BY id", asked.values())
        return [Event(at=at, who=who, kind=kind, run=run, detail=detail) for at, who, kind, run, detail in rows]

    def close(self) -> None:
        """Close this thread's connection; the next call opens another."""
        connection = getattr(self._own, "connection", None)
        if connection is not None and self._own.process == os.getpid():
            connection.close()
        self._own.connection = None

    def _connect(self) -> sqlite3.Connection:
        """Return this thread's connection. A forked child must open its own: SQLite's locks do not survive a fork."""
        if getattr(self._own, "connection", None) is None or self._own.process != os.getpid():
            self._own.connection = open_database(self.path, patience=self._patience)
            self._own.process = os.getpid()
        return self._own.connection  # type: ignore[no-any-return]

    def _read(self, query: str, values: Iterable[object] = ()) -> list[tuple]:
        if not self.path.exists():
            return []
        with told_in_a_sentence(self.path):
            return self._connect().execute(query, tuple(values)).fetchall()

    def _nearest(self, name: str) -> str:
        latest = self._read("SELECT name FROM record WHERE is_current = 1 ORDER BY id DESC LIMIT 2000")
        return nearest(name, [row[0] for row in latest]) or (" There are no runs yet." if not latest else "")


_NAMES_IN_RANGE = "SELECT name FROM record WHERE is_current = 1 AND name BETWEEN ? AND ? ORDER BY name LIMIT 6"
_HISTORY = "SELECT json FROM body JOIN record ON record.id = body.record WHERE name = ? ORDER BY id"
_SINCE = "SELECT id, json FROM record JOIN body ON body.record = record.id WHERE is_current = 1 AND id > ? ORDER BY id"


def _where(filters: Filters) -> tuple[str, list[object]]:
    known = Filters.__annotations__
    for key in filters:
        require(key in known, f"records cannot be searched by '{key}'.{nearest(key, known)} Use {', '.join(known)}.")
    conditions = ["is_current = 1", *(f"{key} = ?" for key in filters)]
    return " AND ".join(conditions), list(filters.values())
