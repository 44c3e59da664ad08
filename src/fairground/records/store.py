"""The store on disk: every run's record, appended once, searched by what was asked, never overwritten.

One SQLite file in WAL mode under the root folder (`docs/records.md` argues why). Any number of processes may read and
write at once; a process killed at any byte loses at most the row it was writing.

A run has one current record (`current_record`), the one `get` and `records` answer with; every other stays in its
history.
"""

import json
import os
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any, Unpack

from fairground.errors import InputError, StoreError, require
from fairground.records.collector import without_collecting
from fairground.records.current_record import Outcome
from fairground.records.database import is_writable, open_database, open_unwritable, told_in_a_sentence, transaction
from fairground.records.filters import Event, Filters, RunSummary, ScoreRow, where
from fairground.records.folders import unstored
from fairground.records.integrity import (
    ADVICE,
    Row,
    audit,
    checked_rows,
    damaged_event,
    damaged_record,
    warn_of_damage,
)
from fairground.records.layout import COLUMNS, EVENT_COLUMNS, digest_of, digest_of_row
from fairground.records.record import RunRecord, SplitName
from fairground.records.record_copy import write_copy
from fairground.records.rows import (
    CURRENT_OF_NAME,
    SELECTED_BY,
    USUAL_METRIC,
    insert_event,
    insert_event_row,
    insert_record,
    sound_record,
)
from fairground.spec.catalogue import nearest

FILE_NAME = "records.sqlite"
_CHUNK = 500


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
                stored = [(record, insert_record(connection, record)) for record in records]
        for record, outcome in stored:
            if outcome == "current":
                write_copy(self.root, record)
        return [outcome for _, outcome in stored]

    def get(self, name: str) -> RunRecord:
        """Return the current record of the run with this name or with the only name that begins so."""
        whole = self.resolve(name)
        for row in self._read(CURRENT_OF_NAME, (whole,)):
            record = sound_record(row)
            if record is None:
                raise StoreError(f"{damaged_record(whole, row[0])} {ADVICE}")
            return record
        raise StoreError(f"the record of run {whole} is lost: its row is not there. {ADVICE}")

    def resolve(self, name: str) -> str:
        """Return the whole name of a run from its beginning, refusing what is unknown or ambiguous."""
        found = [row[0] for row in self._read(_NAMES_IN_RANGE, (name, name + "\U0010ffff"))]
        if name in found:
            return name
        if not found or name == "":
            raise InputError(f"no run '{name}' in {self.root}.{self._nearest(name)}")
        some = ", ".join(found[:4]) + (", ..." if len(found) > 4 else "")
        require(len(found) == 1, f"'{name}' could be {some}: type more of the name", InputError)
        return str(found[0])

    def history(self, name: str) -> list[RunRecord]:
        """Return every record of a run, oldest first, superseded ones too."""
        return self.known(self.resolve(name))

    def known(self, name: str) -> list[RunRecord]:
        """Return every record of the run with exactly this name; none where there is no such run."""
        return list(self._sound(self._read(_HISTORY, (name,))))

    def everything(self) -> tuple[list[RunRecord], list[str]]:
        """Return every record that is as it was written, superseded ones too, and a sentence on all that is not."""
        if not self.path.exists():
            return [], []
        with told_in_a_sentence(self.path):
            rows, complaints = audit(self._connect())
        sound = {row.number for row in rows}
        texts = [row for row in self._read(f"{_TEXT} ORDER BY id") if row[0] in sound]
        return list(self._sound(texts, complaints.append)), complaints

    def names(self, **filters: Unpack[Filters]) -> list[str]:
        """Return the names of the runs that match, in the order they were stored."""
        return [row.columns[0] for row in self._rows(filters)]

    def names_by_method(self, **filters: Unpack[Filters]) -> dict[str, list[str]]:
        """Return the names of the runs that match under their method, by one question to the database."""
        found: dict[str, list[str]] = {}
        for row in self._rows(filters):
            found.setdefault(row.columns[_METHOD], []).append(row.columns[0])
        return found

    def records(self, **filters: Unpack[Filters]) -> Iterator[RunRecord]:
        """Yield the current records that match, in the order they were stored."""
        rows = {row.number: row.columns[0] for row in self._rows(filters)}
        numbers = list(rows)
        # In pieces: a slow reader must not hold one long read open, which would keep the log of writes from shrinking.
        for start in range(0, len(numbers), _CHUNK):
            some = numbers[start : start + _CHUNK]
            marks = ",".join("?" * len(some))
            found = self._read(f"SELECT record, json, digest FROM body WHERE record IN ({marks}) ORDER BY record", some)
            for lost in set(some) - {row[0] for row in found}:
                warn_of_damage(self.path, damaged_record(rows[lost], lost))
            with without_collecting():
                read = list(self._sound((*row, rows[row[0]]) for row in found))
            yield from read

    def summaries(
        self, metric: str | None = None, split: SplitName = "test", **filters: Unpack[Filters]
    ) -> list[RunSummary]:
        """Return what a list shows of the runs that match, in the order they were stored; no record is read.

        Each run's score is that of `metric`, or of the metric it was selected by when that is left out.
        """
        rows = self._rows(filters)
        found = {row[0]: row for row in self._read(_ONE_SCORE, (metric, split))} if rows else {}
        summaries = []
        for number, columns in rows:
            _, text, digest, shown, value = found.get(number, (0, "", "", "", None))
            if digest_of_row((number, text)) == digest:
                summaries.append(RunSummary._make((*columns[: _SEED + 1], shown, value)))
            else:
                warn_of_damage(self.path, damaged_record(columns[0], number))
        return summaries

    def specs_of(self, kinds: Sequence[str]) -> dict[str, Any]:
        """Return the specs of the runs made on data sets of these kinds, by the names of the runs."""
        rows = self._read(f"{_SPEC} AND dataset IN ({', '.join('?' * len(kinds))})", tuple(kinds))
        return {name: json.loads(spec) for name, spec in rows if spec}

    def scores(self, metric: str, split: SplitName = "test", **filters: Unpack[Filters]) -> list[ScoreRow]:
        """Return one metric of every run that matches and has it, without reading whole records."""
        found = self.summaries(metric, split, **filters)
        return [ScoreRow(run.name, run.method, run.seed or 0, run.score) for run in found if run.score is not None]

    def since(self, mark: int) -> tuple[int, list[RunRecord]]:
        """Return the current records stored after `mark`, and the mark to ask with next time; begin with 0."""
        rows = self._read(_SINCE, (mark,))
        return (rows[-1][0] if rows else mark), list(self._sound(rows))

    def note_event(self, kind: str, run: str | None = None, detail: str = "") -> None:
        """Write down that somebody did something, durably before returning."""
        with told_in_a_sentence(self.path):
            connection = self._connect()
            with transaction(connection):
                insert_event(connection, kind, run, detail)

    def take_over(self, events: Iterable[Event]) -> None:
        """Write events that were noted elsewhere, as they were noted."""
        with told_in_a_sentence(self.path):
            connection = self._connect()
            with transaction(connection):
                for event in events:
                    insert_event_row(connection, (event.at, event.who, event.kind, event.run, event.detail))

    def events(self, *, kind: str | None = None, run: str | None = None) -> list[Event]:
        """Return what was noted, oldest first."""
        asked = {key: value for key, value in (("kind", kind), ("run", run)) if value is not None}
        where = " AND ".join(["true", *(f"{key} = ?" for key in asked)])
        sound, damaged = checked_rows(
            self._read(f"SELECT {_EVENT} FROM event WHERE {where} ORDER BY id", asked.values())
        )
        for row in damaged:
            warn_of_damage(self.path, damaged_event(row.number))
        return [Event(**dict(zip(EVENT_COLUMNS, row.columns, strict=True))) for row in sound]

    def close(self) -> None:
        """Close this thread's connection; the next call opens another."""
        connection = getattr(self._own, "connection", None)
        if connection is not None and self._own.process == os.getpid():
            connection.close()
        self._own.connection = None

    def _connect(self) -> sqlite3.Connection:
        """Return this thread's connection. A forked child must open its own: SQLite's locks do not survive a fork."""
        if getattr(self._own, "connection", None) is None or self._own.process != os.getpid():
            is_readable_only = self.path.exists() and not is_writable(self.path)
            self._own.connection = (
                open_unwritable(self.path) if is_readable_only else open_database(self.path, patience=self._patience)
            )
            self._own.process, self._own.is_audited = os.getpid(), False
        return self._own.connection  # type: ignore[no-any-return]

    def _read(self, query: str, values: Iterable[object] = ()) -> list[tuple]:
        if not self.path.exists():
            return []
        with told_in_a_sentence(self.path):
            return self._connect().execute(query, tuple(values)).fetchall()

    def _rows(self, filters: Filters) -> list[Row]:
        """Return the rows of the current records that match and are undamaged."""
        condition, values = where(filters)
        if not self.path.exists():
            self._warn_of_unstored(())
            return []
        with told_in_a_sentence(self.path):
            connection = self._connect()
            if not self._own.is_audited:
                return self._audited(connection, filters)
            # Without an index: what damage hides in one would be missed in silence, and a scan takes milliseconds.
            query = f"SELECT id, {', '.join(COLUMNS)}, digest FROM record NOT INDEXED WHERE {condition} ORDER BY id"
            return checked_rows(connection.execute(query, values))[0]

    def _audited(self, connection: sqlite3.Connection, filters: Filters) -> list[Row]:
        """Answer the first question by looking at every row, and say what is wrong with any."""
        found = audit(connection)
        for complaint in found.complaints:
            warn_of_damage(self.path, complaint)
        self._own.is_audited = True
        is_current = COLUMNS.index("is_current")
        rows = [row for row in found.records if row.columns[is_current] == 1]
        self._warn_of_unstored(row.columns[0] for row in rows)
        for key, value in filters.items():
            place = COLUMNS.index(key)
            rows = [row for row in rows if row.columns[place] == value]
        return sorted(rows, key=_NUMBER)

    def _sound(self, rows: Iterable[tuple], complain: Callable[[str], None] | None = None) -> Iterator[RunRecord]:
        """Yield the records of (number, text, digest, name), leaving out and naming damaged ones."""
        for number, text, digest, name in rows:
            record = RunRecord.from_json(text) if digest_of(number, text) == digest else None
            if record is not None and record.name == name:
                yield record
            else:
                (complain or partial(warn_of_damage, self.path))(damaged_record(name, number))

    def _warn_of_unstored(self, stored: Iterable[str]) -> None:
        """Say which runs have a record in their folder and no row here: rows were lost, or all of the store was."""
        lost = unstored(self.root, stored)
        # Asked again: a run may have ended since its row was looked for, and damaged rows were spoken of already.
        lost = lost and unstored(self.root, [row[0] for row in self._read("SELECT name FROM record")])
        if lost:
            some = ", ".join(lost[:3]) + (", ..." if len(lost) > 3 else "")
            warn_of_damage(self.path, f"{len(lost)} runs have a record in their folder that is not here: {some}.")

    def _nearest(self, name: str) -> str:
        if name and any(run.startswith(name) for run in unstored(self.root, ())):
            return f" Its folder has a record that the store has not. {ADVICE}"
        latest = self._read("SELECT name FROM record WHERE is_current = 1 ORDER BY id DESC LIMIT 2000")
        return nearest(name, [row[0] for row in latest]) or (" There are no runs yet." if not latest else "")


_NAMES_IN_RANGE = "SELECT name FROM record WHERE is_current = 1 AND name BETWEEN ? AND ? ORDER BY name LIMIT 6"
_TEXT = "SELECT id, json, body.digest, name FROM record LEFT JOIN body ON body.record = record.id"
_HISTORY = f"{_TEXT} WHERE name = ? ORDER BY id"
_SINCE = f"{_TEXT} WHERE is_current = 1 AND id > ? ORDER BY id"
# Asked of SQLite, which reads one number out of a text faster than we could read all.
_ONE_SCORE = f"""SELECT record, json, digest, metric,
                        CASE WHEN json_valid(json)
                             THEN json_extract(json, '$.' || json_quote(?2) || '.' || json_quote(metric)) END
                 FROM (SELECT record, json, digest, CAST(coalesce(?1, CASE WHEN json_valid(json)
                              THEN json_extract(json, '$.{SELECTED_BY}') END, '{USUAL_METRIC}') AS TEXT) AS metric
                       FROM scores)"""
_SPEC = """SELECT name, CASE WHEN json_valid(json) THEN json_extract(json, '$.spec') END
           FROM record JOIN body ON body.record = record.id WHERE is_current = 1"""
_NUMBER = itemgetter(0)
_METHOD, _SEED = COLUMNS.index("method"), COLUMNS.index("seed")
_EVENT = f"id, {', '.join(EVENT_COLUMNS)}, digest"
