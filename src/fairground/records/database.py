"""The SQLite file under the store: how it is opened, and its failures said in a sentence."""

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fairground.errors import StoreError, require
from fairground.files import require_regular
from fairground.records.layout import STORE_VERSION
from fairground.records.upgrade import upgrade

#: "FAIR" in ASCII: tells our files from any other SQLite file
APPLICATION_ID = 0x46414952


class ForeignStoreError(StoreError):
    """The file is a newer fairground's or another program's: nothing is wrong with it, and it must stay as it is."""


_DAMAGED = (
    "the file is damaged. `fairground store repair` saves what is readable and takes the rest from the folders of the "
    "runs."
)


def open_database(path: Path, *, patience: float) -> sqlite3.Connection:
    """Open the file, laying it out when it is new; wait up to `patience` seconds for other processes."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"cannot make the folder {path.parent} for the store: {error.strerror}") from error
    _require_plain(path)
    with told_in_a_sentence(path):
        # isolation_level None: transactions begin and end where this room says so, not where the driver guesses.
        connection = sqlite3.connect(path, timeout=patience, isolation_level=None, check_same_thread=False)
        try:
            _prepare(connection, path, patience)
        except BaseException:
            connection.close()
            raise
    return connection


def open_unwritable(path: Path) -> sqlite3.Connection:
    """Open a store on a disk that cannot be written to, for reading alone; nobody else can be writing it either."""
    _require_plain(path)
    with told_in_a_sentence(path):
        log = path.with_name(f"{path.name}-wal")
        has_log = log.exists() and log.stat().st_size > 0
        # Without a log the file is all there is; with one, SQLite must read both or say that it cannot.
        place = f"{path.absolute().as_uri()}?mode=ro" + ("" if has_log else "&immutable=1")
        connection = sqlite3.connect(place, uri=True, isolation_level=None, check_same_thread=False)
        try:
            refuse_strangers(connection, path)
            require(
                version_of(connection) == STORE_VERSION,
                f"{path} is a store of an earlier version on a disk that cannot be written to; copy it elsewhere",
                StoreError,
            )
        except BaseException:
            connection.close()
            raise
    return connection


def _require_plain(path: Path) -> None:
    """Refuse a folder, a pipe or a device in the place of the store; SQLite would wait for it or blame the disk."""
    if path.exists() and not path.is_file():
        try:
            require_regular(path, error=StoreError)
        except StoreError as error:
            advice = "`fairground store repair` moves it aside and makes a store from the folders of the runs"
            raise StoreError(f"the store is none: {error}. {advice}") from error


def is_writable(path: Path) -> bool:
    """Tell whether the store at a path, and the files SQLite keeps next to it, can be written to."""
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


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
    except (UnicodeDecodeError, OverflowError) as error:  # of a table's own description, when that is damaged
        raise StoreError(f"the store {path}: {_DAMAGED} ({error})") from error


def _prepare(connection: sqlite3.Connection, path: Path, patience: float) -> None:
    refuse_strangers(connection, path)
    _switch_to_wal(connection, patience)
    # FULL: a row that was reported written survives a power cut, not only a killed process.
    connection.execute("PRAGMA synchronous = FULL")
    if version_of(connection) < STORE_VERSION:
        with transaction(connection):
            # Asked again under the lock: another process may have laid the file out while this one waited.
            if version_of(connection) < STORE_VERSION:
                upgrade(connection, from_version=version_of(connection))
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version = {STORE_VERSION}")


def refuse_strangers(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a store of a newer fairground and another program's database."""
    # One reading transaction: between two, another process could lay the file out, and it would look like a stranger's.
    connection.execute("BEGIN")
    version = version_of(connection)
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    tables = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
    connection.execute("COMMIT")
    require(
        version <= STORE_VERSION,
        f"{path} was written by a newer fairground (store version {version}; this one reads {STORE_VERSION}). "
        "Nothing was changed; upgrade fairground to open it.",
        ForeignStoreError,
    )
    require(
        application == APPLICATION_ID or tables == 0,
        f"{path} is a database, but not a fairground store. Nothing was changed; choose another folder.",
        ForeignStoreError,
    )


def version_of(connection: sqlite3.Connection) -> int:
    """Return the version of the layout; 0 of a file that was never laid out."""
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
        sqlite3.SQLITE_NOTADB: "the file is not a database. `fairground store repair` makes one from the folders of "
        "the runs; or choose another folder.",
        sqlite3.SQLITE_CORRUPT: _DAMAGED,
        # Of a statement of ours: its tables are no longer those it was laid out with.
        sqlite3.SQLITE_ERROR: _DAMAGED,
    }
    reason = known.get(_code(error))
    return f"the store {path}: {reason or error} ({error})" if reason else f"the store {path} failed: {error}"
