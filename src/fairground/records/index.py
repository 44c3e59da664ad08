"""The index of a run directory: one SQLite file that answers questions about thousands of records.

It is a cache over `runs/*/record.json` and may be deleted at any time. Every question first compares the times of
change of the files with the index, in one pass over the directory. An index that is missing, old or unreadable is
rebuilt; if it cannot be written, the index is kept in memory.
"""

import os
import sqlite3
import threading
import warnings
from collections.abc import Collection, Iterable, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from fairground.errors import DamageWarning, StoreError, require
from fairground.files import parse_with_digest, read_bytes, read_with_digest
from fairground.records.record import RunRecord
from fairground.records.run_folder import folder_names
from fairground.spec.identity import canonical_json

FILE_NAME = "index.sqlite"
_VERSION = 1
#: `changed` is the time of change of the record's file: the order of records, and whether a row is up to date
_TABLES = (
    """CREATE TABLE record (
        name TEXT PRIMARY KEY, changed INTEGER NOT NULL,
        method TEXT NOT NULL, state TEXT NOT NULL, protocol TEXT, dataset TEXT, loss TEXT, miner TEXT, seed INTEGER,
        scores TEXT NOT NULL)""",
    # The file's whole content, apart from the columns that are searched.
    "CREATE TABLE body (name TEXT PRIMARY KEY, json BLOB NOT NULL)",
)


class Index:
    """Answers SQL about the records under `root`; `patience` is how many seconds to wait for another process."""

    def __init__(self, root: Path, *, patience: float) -> None:
        self._root = root
        self._path = root / FILE_NAME
        self._patience = patience
        self._memory: sqlite3.Connection | None = None
        self._one_at_a_time = threading.Lock()

    def rows(self, query: str, values: Iterable[object] = (), *, names: Collection[str] | None = None) -> list[tuple]:
        """Bring the rows of all runs, or those of `names`, up to date and answer a query."""
        if not (self._root / "runs").is_dir():
            return []
        with self._one_at_a_time:
            if self._memory is None:
                try:
                    return self._from_file(query, tuple(values), names)
                except (sqlite3.Error, OSError) as error:
                    warnings.warn(
                        f"{self._path} cannot be used ({error}); reading every record", DamageWarning, stacklevel=4
                    )
                    self._memory = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
                    _lay_out(self._memory)
            return self._answer(self._memory, query, tuple(values), names)

    def _from_file(self, query: str, values: tuple[object, ...], names: Collection[str] | None) -> list[tuple]:
        try:
            # One connection per question: SQLite's locks do not survive a fork.
            with closing(self._opened()) as db:
                return self._answer(db, query, values, names)
        except sqlite3.OperationalError:  # locked, read-only, full
            raise
        except sqlite3.DatabaseError:  # damaged, of an older layout, not a database
            self._path.unlink(missing_ok=True)
            with closing(self._opened()) as db:
                return self._answer(db, query, values, names)

    def _opened(self) -> sqlite3.Connection:
        db = sqlite3.connect(self._path, timeout=self._patience, isolation_level=None)
        try:
            db.execute("PRAGMA synchronous = NORMAL")
            _lay_out(db)
        except BaseException:
            db.close()
            raise
        return db

    def _answer(
        self, db: sqlite3.Connection, query: str, values: tuple[object, ...], names: Collection[str] | None
    ) -> list[tuple]:
        self._refresh(db, names)
        return db.execute(query, values).fetchall()

    def _refresh(self, db: sqlite3.Connection, names: Collection[str] | None) -> None:
        found = changes(self._root, names)
        condition = "true" if names is None else f"name IN ({', '.join('?' * len(names))})"
        known = dict(db.execute(f"SELECT name, changed FROM record WHERE {condition}", tuple(names or ())))
        stale = sorted((changed, name) for name, changed in found.items() if known.get(name) != changed)
        outdated = [*(known.keys() - found.keys()), *(name for _, name in stale)]
        if not outdated:
            return
        db.execute("BEGIN IMMEDIATE")
        try:
            db.executemany("DELETE FROM record WHERE name = ?", [(name,) for name in outdated])
            db.executemany("DELETE FROM body WHERE name = ?", [(name,) for name in outdated])
            for changed, name in stale:
                self._put(db, name, changed)
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise

    def _put(self, db: sqlite3.Connection, name: str, changed: int) -> None:
        path = self._root / "runs" / name / "record.json"
        try:
            data = read_bytes(path, error=StoreError)
            record = RunRecord.from_plain(parse_with_digest(data, path))
            require(record.name == name, f"{path} is the record of another run, {record.name}", StoreError)
        except StoreError as error:
            warnings.warn(f"{error}; the record is left out", DamageWarning, stacklevel=2)
            return
        parts = (
            _text(record.spec, *keys) for keys in (("protocol",), ("data", "name"), ("loss", "name"), ("miner", "name"))
        )
        values = (name, changed, record.method, record.state, *parts, record.spec.get("seed"), _scores(record))
        db.execute(f"INSERT INTO record VALUES ({', '.join('?' * len(values))})", values)
        db.execute("INSERT INTO body VALUES (?, ?)", (name, data))


def changes(root: Path, names: Collection[str] | None = None) -> dict[str, int]:
    """Return the times of change of the records of all runs, or of `names`, by name."""
    found = {}
    for name in folder_names(root) if names is None else names:
        with suppress(OSError):
            found[name] = os.stat(f"{root}/runs/{name}/record.json").st_mtime_ns  # noqa: PTH116 - a Path is slower
    return found


def read_record(path: Path) -> RunRecord:
    """Return the record in a file; refuse one that is not as it was written."""
    return RunRecord.from_plain(read_with_digest(path))


def _lay_out(db: sqlite3.Connection) -> None:
    """Create the tables of a new index; refuse those of an older layout as damaged."""
    if _version(db) == 0:
        db.execute("BEGIN IMMEDIATE")
        # Asked again under the lock: another process may have done it meanwhile.
        for statement in (*_TABLES, f"PRAGMA user_version = {_VERSION}") if _version(db) == 0 else ():
            db.execute(statement)
        db.execute("COMMIT")
    if _version(db) != _VERSION:
        raise sqlite3.DatabaseError("an index of another layout")


def _version(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def _text(spec: Mapping[str, Any], *path: str) -> str | None:
    found: object = spec
    for key in path:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found if isinstance(found, str) else None


def _scores(record: RunRecord) -> str:
    """Return a record's scores by split and metric, and the metric it was selected by, as JSON."""
    scores: dict[str, Any] = {"selected_by": record.selection and record.selection.metric}
    for score in record.scores:
        scores.setdefault(score.split, {}).setdefault(score.metric, score.value)
    return canonical_json(scores)
