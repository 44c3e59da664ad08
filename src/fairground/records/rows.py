"""A record or an event as rows of the store's tables, and which record of a run is the current one."""

import getpass
import os
import platform
import sqlite3
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Literal

from fairground.records.record import RunRecord

#: what became of a record: made the run's current one, was there already, or is kept in the history only
Outcome = Literal["current", "repeated", "history"]
BODY_OF_NAME = "SELECT json FROM body JOIN record ON record.id = body.record WHERE is_current = 1 AND name = ?"


def insert_record(connection: sqlite3.Connection, record: RunRecord) -> Outcome:
    """Write a record inside the caller's transaction, by the rules told in `store`."""
    row = connection.execute(BODY_OF_NAME, (record.name,)).fetchone()
    outcome = _outcome(RunRecord.from_json(row[0]), record) if row else "current"
    if outcome == "repeated":
        return outcome
    if outcome == "current":
        connection.execute("UPDATE record SET is_current = 0 WHERE is_current = 1 AND name = ?", (record.name,))
    elif record.state == "done":
        insert_event(connection, "disagreement", record.name, "a second finished run of this spec has other digits")
    columns = (
        record.name,
        record.method,
        record.state,
        *(_text(record.spec, *path) for path in (("protocol",), ("data", "name"), ("loss", "name"))),
        record.spec.get("seed"),
        int(outcome == "current"),
        _now(),
    )
    new = connection.execute(
        "INSERT INTO record (name, method, state, protocol, dataset, loss, seed, is_current, written)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        columns,
    ).lastrowid
    connection.execute("INSERT INTO body VALUES (?, ?)", (new, record.to_json()))
    scores = [(score.metric, score.split, new, score.value) for score in record.scores]
    connection.executemany("INSERT OR IGNORE INTO score VALUES (?, ?, ?, ?)", scores)
    return outcome


def _outcome(old: RunRecord, new: RunRecord) -> Outcome:
    if old.state != "done":
        return "current"
    if new.state != "done":
        return "history"
    if new.digits() == old.digits():
        return "repeated"
    return "current" if _extends(new, old) else "history"


def _extends(new: RunRecord, old: RunRecord) -> bool:
    """Tell whether `new` is `old` with further scores and nothing else changed."""
    scores = [{(score.metric, score.split, score.value) for score in record.scores} for record in (old, new)]
    return scores[0] < scores[1] and replace(new, scores=old.scores).digits() == old.digits()


def insert_event(connection: sqlite3.Connection, kind: str, run: str | None, detail: str) -> None:
    """Write an event inside the caller's transaction."""
    values = (_now(), _who(), kind, run, detail)
    connection.execute("INSERT INTO event (at, who, kind, run, detail) VALUES (?, ?, ?, ?, ?)", values)


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
