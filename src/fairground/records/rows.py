"""A record or an event as rows of the store's tables."""

import getpass
import os
import platform
import re
import sqlite3
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from fairground.errors import StoreError, require
from fairground.records.current_record import Outcome, outcome_of
from fairground.records.layout import COLUMNS, digest_of, sum_of
from fairground.records.record import RunRecord
from fairground.spec.identity import canonical_json

CURRENT_OF_NAME = f"""SELECT id, {", ".join(COLUMNS)}, record.digest, json, body.digest
                      FROM record LEFT JOIN body ON body.record = record.id WHERE is_current = 1 AND name = ?"""
#: where the text of scores says which metric selected the run; it says none where no score did
SELECTED_BY = "selected_by"
USUAL_METRIC = "map@r"
#: a run's name is the name of its folder too: it must lead nowhere but into the home
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")


def insert_record(connection: sqlite3.Connection, record: RunRecord) -> Outcome:
    """Write a record inside the caller's transaction, by the rules of `current_record`."""
    require_storable(record)
    old = _current(connection, record.name)
    outcome = outcome_of(old, record) if old else "current"
    if outcome == "repeated":
        return outcome
    if outcome == "current":
        _supersede(connection, record.name)
    elif record.state == "done":
        insert_event(connection, "disagreement", record.name, "a second finished run of this spec has other digits")
    columns = record_columns(record, is_current=outcome == "current", written=_now())
    insert_record_row(connection, columns, record.to_json(), scores_text(record))
    return outcome


def record_columns(record: RunRecord, *, is_current: bool, written: str) -> tuple[object, ...]:
    """Return what a record can be searched by, in the order of `COLUMNS`."""
    parts = (("protocol",), ("data", "name"), ("loss", "name"), ("miner", "name"))
    texts = (_text(record.spec, *path) for path in parts)
    return (record.name, record.method, record.state, *texts, record.spec.get("seed"), int(is_current), written)


def require_storable(record: RunRecord) -> None:
    """Refuse a record that a stranger made up: a name that leads out of the home, or what no column can hold."""
    is_name = isinstance(record.name, str) and _NAME.fullmatch(record.name) is not None
    require(
        is_name, f"a run cannot be called {record.name!r}: its name is letters and digits, as its folder's", StoreError
    )
    columns = dict(zip(COLUMNS, record_columns(record, is_current=True, written=""), strict=True))
    seed = columns.pop("seed")
    is_seed = seed is None or (type(seed) is int and -(2**63) <= seed < 2**63)
    require(is_seed, f"record {record.name}: a seed is a whole number of at most 64 bits; got {seed!r}", StoreError)
    for key, value in columns.items():
        is_fine = value is None or key == "is_current" or is_storable_text(value)
        require(is_fine, f"record {record.name}: {key} is no text that can be stored: {value!r}", StoreError)


def is_storable_text(value: object) -> bool:
    """Tell whether a value is text that can be written: half a pair of surrogates, say, cannot."""
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def scores_text(record: RunRecord) -> str:
    """Return a record's scores by split and metric, and the metric it was selected by, as JSON."""
    scores: dict[str, dict[str, float]] = {}
    for score in record.scores:
        scores.setdefault(score.split, {}).setdefault(score.metric, score.value)
    chosen = {} if record.selection is None else {SELECTED_BY: record.selection.metric}
    return canonical_json({**scores, **chosen})


def insert_record_row(
    connection: sqlite3.Connection,
    columns: tuple[object, ...],
    body: str,
    scores: str,
) -> None:
    """Write a record's row, by `COLUMNS`, with its texts, their digests and its place in the ledger."""
    (last,) = connection.execute("SELECT coalesce(max(id), 0) FROM record").fetchone()
    number = last + 1
    digest = digest_of(number, *columns)
    marks = ", ".join("?" * (len(COLUMNS) + 2))
    connection.execute(
        f"INSERT INTO record (id, {', '.join(COLUMNS)}, digest) VALUES ({marks})", (number, *columns, digest)
    )
    for table, text in (("body", body), ("scores", scores)):
        connection.execute(f"INSERT INTO {table} VALUES (?, ?, ?)", (number, text, digest_of(number, text)))
    _enter(connection, "record", plus=digest)


def _current(connection: sqlite3.Connection, name: str) -> RunRecord | None:
    """Return the current record of a run; a damaged one is none, so that a good one takes its place."""
    row = connection.execute(CURRENT_OF_NAME, (name,)).fetchone()
    return None if row is None else sound_record(row)


def sound_record(row: tuple[Any, ...]) -> RunRecord | None:
    """Return the record in a row of `CURRENT_OF_NAME`; None where its row or its text is not as it was written."""
    *columns, row_digest, text, digest = row
    if digest_of(*columns) != row_digest or digest_of(row[0], text) != digest:
        return None
    record = RunRecord.from_json(text)
    return record if record.name == columns[1] else None


def _supersede(connection: sqlite3.Connection, name: str) -> None:
    fields = ", ".join(COLUMNS)
    query = f"SELECT id, {fields}, digest FROM record WHERE is_current = 1 AND name = ?"
    for number, *columns, digest in connection.execute(query, (name,)).fetchall():
        past = [0 if field == "is_current" else value for field, value in zip(COLUMNS, columns, strict=True)]
        # A damaged row stays one that does not match: it must not be made good by being superseded.
        new = digest_of(number, *past) if digest_of(number, *columns) == digest else digest
        connection.execute("UPDATE record SET is_current = 0, digest = ? WHERE id = ?", (new, number))
        _enter(connection, "record", plus=new, minus=digest, n=0)


def _enter(connection: sqlite3.Connection, what: str, *, plus: str, minus: str = "0", n: int = 1) -> None:
    """Bring the ledger up to date."""
    row = connection.execute("SELECT total FROM ledger WHERE what = ?", (what,)).fetchone()
    is_there = row is not None and re.fullmatch("[0-9a-f]{1,64}", row[0]) is not None
    require(
        is_there, "the store's ledger is damaged; nothing was written: `fairground store repair` mends it", StoreError
    )
    new = sum_of(row[0], plus=plus, minus=minus)
    connection.execute("UPDATE ledger SET n = n + ?, total = ? WHERE what = ?", (n, new, what))


def insert_event(connection: sqlite3.Connection, kind: str, run: str | None, detail: str) -> None:
    """Write an event inside the caller's transaction."""
    insert_event_row(connection, (_now(), _who(), kind, run, detail))


def insert_event_row(connection: sqlite3.Connection, values: tuple[object, ...]) -> None:
    """Write an event as it was noted: at, who, kind, run, detail."""
    (last,) = connection.execute("SELECT coalesce(max(id), 0) FROM event").fetchone()
    digest = digest_of(last + 1, *values)
    connection.execute("INSERT INTO event VALUES (?, ?, ?, ?, ?, ?, ?)", (last + 1, *values, digest))
    _enter(connection, "event", plus=digest)


def _text(spec: object, *path: str) -> str | None:
    found = spec
    for key in path:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found if isinstance(found, str) else None


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _who() -> str:
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a container may run under a number that has no name
        user = "unknown"
    return f"{user}@{platform.node()} process {os.getpid()}"
