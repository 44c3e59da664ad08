"""Whether the rows of the store are as they were written: a damaged row is named, the others stay readable."""

import sqlite3
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from fairground.errors import DamageWarning
from fairground.records.layout import COLUMNS, EVENT_COLUMNS, digest_of_row

ADVICE = "`fairground store check` says more, `fairground store repair` mends what can be mended."


class Row(NamedTuple):
    """A record's row: its number, and its columns by `layout.COLUMNS`."""

    number: int
    columns: tuple[Any, ...]


def checked_rows(rows: Iterable[tuple]) -> tuple[list[Row], list[Row]]:
    """Return the rows of (number, columns, digest) that match their digest, and those that do not."""
    sound: list[Row] = []
    damaged: list[Row] = []
    for row in rows:
        (sound if digest_of_row(row[:-1]) == row[-1] else damaged).append(Row(row[0], row[1:-1]))
    return sound, damaged


class StoreAudit(NamedTuple):
    """The rows of all records that are as they were written, and a sentence on everything that is not."""

    records: list[Row]
    complaints: list[str]


def audit(connection: sqlite3.Connection) -> StoreAudit:
    """Say which rows are not as they were written, and whether one has vanished or come back.

    Every row is looked at, because a damaged one may hide from a search for what it was.
    """
    connection.execute("BEGIN")
    try:
        kept = {what: (n, total) for what, n, total in connection.execute("SELECT what, n, total FROM ledger")}
        tables = {
            what: connection.execute(f"SELECT id, {', '.join(fields)}, digest FROM {what} NOT INDEXED").fetchall()
            for what, fields in (("record", COLUMNS), ("event", EVENT_COLUMNS))
        }
    finally:
        connection.execute("COMMIT")
    records, damaged = checked_rows(tables["record"])
    complaints = [damaged_record(row.columns[0], row.number) for row in damaged]
    complaints += [damaged_event(row.number) for row in checked_rows(tables["event"])[1]]
    for what, rows in tables.items():
        n, total = kept.get(what, (0, ""))
        if (len(rows), _total(row[-1] for row in rows)) != (n, total):
            complaints.append(f"{len(rows)} {what}s are there and {n} were written; some may be missing.")
    return StoreAudit(records, complaints)


def damaged_record(name: str, number: int) -> str:
    """Say that a record is damaged."""
    return f"the record of run {name} (row {number}) is damaged and left out."


def damaged_event(number: int) -> str:
    """Say that an event is damaged."""
    return f"event {number} is damaged and left out."


def warn_of_damage(path: Path, complaint: str) -> None:
    """Warn that part of an answer is left out."""
    warnings.warn(f"{path}: {complaint} {ADVICE}", DamageWarning, stacklevel=3)


def _total(digests: Iterable[str]) -> str:
    try:
        return f"{sum(int(digest, 16) for digest in digests) % (1 << 256):x}"
    except ValueError:  # a digest that is none any more
        return "damaged"
