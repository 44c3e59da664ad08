"""A store as this version lays it out, from nothing or from an earlier one; inside a transaction of the caller."""

import json
import sqlite3

from fairground.records.layout import LAYOUT
from fairground.records.rows import insert_event_row, insert_record_row
from fairground.spec.identity import canonical_json

_EARLIER = ("record", "body", "score", "event")


def upgrade(connection: sqlite3.Connection, *, from_version: int) -> None:
    """Lay the tables out; take over the rows of version 1, which had no digests."""
    if from_version == 1:
        indices = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'index' AND sql NOT NULL").fetchall()
        for (index,) in indices:
            connection.execute(f"DROP INDEX {index}")
        for table in _EARLIER:
            connection.execute(f"ALTER TABLE {table} RENAME TO earlier_{table}")
    for statement in LAYOUT.strip().split(";\n"):
        connection.execute(statement)
    if from_version == 1:
        _take_over(connection)
        for table in reversed(_EARLIER):
            connection.execute(f"DROP TABLE earlier_{table}")


def _take_over(connection: sqlite3.Connection) -> None:
    rows = connection.execute(
        """SELECT name, method, state, protocol, dataset, loss, seed, is_current, written, json
           FROM earlier_record JOIN earlier_body ON earlier_body.record = earlier_record.id ORDER BY id"""
    )
    for name, method, state, protocol, dataset, loss, seed, is_current, written, body in rows.fetchall():
        miner, scores = _found_in(body)
        columns = (name, method, state, protocol, dataset, loss, miner, seed, is_current, written)
        insert_record_row(connection, columns, body, canonical_json(scores))
    for event in connection.execute("SELECT at, who, kind, run, detail FROM earlier_event ORDER BY id").fetchall():
        insert_event_row(connection, event)


def _found_in(body: str) -> tuple[str | None, dict[str, dict[str, float]]]:
    """Return what version 1 had no columns for; nothing where its text is damaged, which reading the record says."""
    scores: dict[str, dict[str, float]] = {}
    try:
        data = json.loads(body)
        for score in data["scores"]:
            scores.setdefault(score["split"], {}).setdefault(score["metric"], float(score["value"]))
        return (data["spec"].get("miner") or {}).get("name"), scores
    except (ValueError, KeyError, TypeError, AttributeError):
        return None, {}
