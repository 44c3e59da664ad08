"""The SQLite file under the store: its layout, how it is opened, and its failures said in a sentence."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fairground.errors import StoreError, require

STORE_VERSION = 1
#: "FAIR" in ASCII: tells our files from any other SQLite file
APPLICATION_ID = 0x46414952

# The JSON texts live apart from the columns that are searched: a scan over 100,000 runs then reads a few megabytes.
_LAYOUT = """
CREATE TABLE record (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, method TEXT NOT NULL, state TEXT NOT NULL,
    protocol TEXT, dataset TEXT, loss TEXT, seed INTEGER,
    is_current INTEGER NOT NULL, written TEXT NOT NULL
) STRICT;
CREATE TABLE body (record INTEGER PRIMARY KEY REFERENCES record (id), json TEXT NOT NULL) STRICT;
CREATE TABLE score (
    metric TEXT NOT NULL, split TEXT NOT NULL, record INTEGER NOT NULL REFERENCES record (id), value REAL NOT NULL,
    PRIMARY KEY (metric, split, record)
) STRICT, WITHOUT ROWID;
CREATE TABLE event (
    id INTEGER PRIMARY KEY, at TEXT NOT NULL, who TEXT NOT NULL, kind TEXT NOT NULL, run TEXT, detail TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX one_current_record_a_run ON record (name) WHERE is_current = 1;
CREATE INDEX record_by_name ON record (name);
CREATE INDEX record_by_state ON record (state) WHERE is_current = 1;
CREATE INDEX record_by_method ON record (method) WHERE is_current = 1;
CREATE INDEX record_by_protocol ON record (protocol) WHERE is_current = 1;
CREATE INDEX record_by_dataset ON record (dataset) WHERE is_current = 1;
CREATE INDEX record_by_loss ON record (loss) WHERE is_current = 1;
CREATE INDEX record_by_seed ON record (seed) WHERE is_current = 1;
CREATE INDEX event_by_kind ON event (kind);
CREATE INDEX event_by_run ON event (run);
"""


def open_database(path: Path, *, patience: float) -> sqlite3.Connection:
    """Open the file, laying it out when it is new; wait up to `patience` seconds for other processes."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"cannot make the folder {path.parent} for the store: {error.strerror}") from error
    with told_in_a_sentence(path):
        # isolation_level None: transactions begin and end where this room says so, not where the driver guesses.
        connection = sqlite3.connect(path, timeout=patience, isolation_level=None, check_same_thread=False)
        try:
            _prepare(connection, path, patience)
        except BaseException:
            connection.close()
            raise
    return connection


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Take the write lock first, so that what is read inside stays true until the commit."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


@contextmanager
def told_in_a_sentence(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into a StoreError that says what to do."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise StoreError(_sentence(path, error)) from error


def _prepare(connection: sqlite3.Connection, path: Path, patience: float) -> None:
    _refuse_strangers(connection, path)
    _switch_to_wal(connection, patience)
    # FULL: a row that was reported written survives a power cut, not only a killed process.
    connection.execute("PRAGMA synchronous = FULL")
    if _version(connection) < STORE_VERSION:
        with transaction(connection):
            # Asked again under the lock: another process may have laid the file out while this one waited.
            if _version(connection) == 0:
                for statement in _LAYOUT.strip().split(";\n"):
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version = {STORE_VERSION}")


def _refuse_strangers(connection: sqlite3.Connection, path: Path) -> None:
    # One reading transaction: between two, another process could lay the file out, and it would look like a stranger's.
    connection.execute("BEGIN")
    version = _version(connection)
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    tables = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
    connection.execute("COMMIT")
    require(
        version <= STORE_VERSION,
        f"{path} was written by a newer fairground (store version {version}; this one reads {STORE_VERSION}). "
        "Nothing was changed; upgrade fairground to open it.",
        StoreError,
    )
    require(
        application == APPLICATION_ID or tables == 0,
        f"{path} is a database, but not a fairground store. Nothing was changed; choose another folder.",
        StoreError,
    )


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _switch_to_wal(connection: sqlite3.Connection, patience: float) -> None:
    """Retry by hand: SQLite does not wait for its own timeout when two processes change the mode of a new file."""
    deadline = time.monotonic() + patience
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if _code(error) != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return


def _code(error: sqlite3.Error) -> int:
    # The low byte is the kind of failure; the rest tells variants apart that need the same answer.
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def _sentence(path: Path, error: sqlite3.Error) -> str:
    known = {
        sqlite3.SQLITE_FULL: "the disk is full. What was stored before is safe; free some space and run again.",
        sqlite3.SQLITE_BUSY: "another process holds it locked. Nothing was lost; try again when it has finished.",
        sqlite3.SQLITE_LOCKED: "another connection holds it locked. Nothing was lost; try again.",
        sqlite3.SQLITE_READONLY: "it is read-only. What was stored before is safe; choose a folder you may write to.",
        sqlite3.SQLITE_PERM: "you may not write to it. Choose another folder.",
        sqlite3.SQLITE_CANTOPEN: "the file cannot be opened. Check that you may write to the folder.",
        sqlite3.SQLITE_IOERR: "reading or writing the disk failed. What was stored before is safe; check the disk.",
        sqlite3.SQLITE_NOTADB: "the file is not a database. Move it away or choose another folder.",
        sqlite3.SQLITE_CORRUPT: "the file is damaged. Move it away; the folders of the runs beside it are untouched.",
    }
    reason = known.get(_code(error))
    return f"the store {path}: {reason or error} ({error})" if reason else f"the store {path} failed: {error}"
