"""A store made anew from what is readable of the old one and from the records next to the files of the runs.

The old database is moved aside and never deleted. What was damaged and has no copy in a run's folder is named.
"""

import json
import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from fairground.errors import StoreError, require
from fairground.files import read_json, reading
from fairground.records.artefacts import RunFolder, cannot_write, write_atomically
from fairground.records.database import (
    ForeignStoreError,
    open_database,
    refuse_strangers,
    transaction,
    version_of,
)
from fairground.records.folders import run_folders
from fairground.records.in_progress import is_at_work
from fairground.records.layout import digest_of
from fairground.records.record import RunRecord
from fairground.records.record_copy import copies, read_copy, write_copy
from fairground.records.rows import insert_event, insert_event_row, insert_record
from fairground.records.store import FILE_NAME
from fairground.records.stored_spec import is_own_spec
from fairground.records.upgrade import upgrade

_SIDES = ("-wal", "-shm")


@dataclass(kw_only=True)
class Repair:
    """What a repair did: records by where they came from, specs written anew, and the `lost` by name.

    `n_unnamed` is how many further records are lost; None where the old database does not say how many it had.
    """

    from_database: int = 0
    from_folders: int = 0
    events: int = 0
    specs: int = 0
    swept: int = 0
    lost: list[str] = field(default_factory=list)
    n_unnamed: int | None = None
    old: str = ""

    @property
    def is_complete(self) -> bool:
        """Whether it is certain that no record is lost."""
        return not self.lost and self.n_unnamed == 0

    def plain(self) -> dict[str, Any]:
        """Return the report as JSON-ready data."""
        return {"is_complete": self.is_complete, **asdict(self)}


@dataclass
class _Salvage:
    """What could be read of the old database; `written` is how many records it had, None where it does not say."""

    records: list[RunRecord] = field(default_factory=list)
    events: list[tuple[object, ...]] = field(default_factory=list)
    damaged: set[str] = field(default_factory=set)
    written: int | None = None


def repair_home(root: Path) -> Repair:
    """Rebuild the store of a home that nobody works in, and write damaged specs anew from their records."""
    require(root.is_dir(), f"there is no home '{root}'")
    busy = [name for name in run_folders(root) if is_at_work(root / "runs" / name / "owner.lock")]
    require(not busy, f"run {', '.join(busy[:3])} is being worked on: wait for it or stop it", StoreError)
    done = Repair()
    path = root / FILE_NAME
    with _workshop(root) as workshop:
        # A folder, a pipe or a device has nothing to save: it is moved aside as it is.
        salvage = _salvage(path, workshop / "old") if path.is_file() else _Salvage()
        fresh = workshop / "fresh"
        try:
            with closing(open_database(fresh, patience=30.0)) as connection, transaction(connection):
                _fill(connection, root, salvage, done)
                note = f"{done.from_database} records from the old file, {done.from_folders} from folders of runs"
                insert_event(connection, "repaired", None, f"{note}; lost: {', '.join(done.lost) or 'none'}")
            done.old = _exchange(path, fresh)
        except sqlite3.DatabaseError as error:
            raise StoreError(f"cannot rebuild {path}: {error}. The old file is untouched") from error
    _mend_folders(root, salvage.records, done)
    return done


@contextmanager
def _workshop(root: Path) -> Iterator[Path]:
    """Make a folder for the copy and the new file that nobody else can have put anything into."""
    try:
        folder = tempfile.mkdtemp(prefix=".repair-", suffix=".tmp", dir=root)
    except OSError as error:
        raise StoreError(cannot_write(root, error)) from error
    try:
        yield Path(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _fill(connection: sqlite3.Connection, root: Path, salvage: _Salvage, done: Repair) -> None:
    """Write what was saved, in its order, then what only the folders have."""
    for values in salvage.events:
        insert_event_row(connection, values)
    done.events = len(salvage.events)
    for record in salvage.records:
        insert_record(connection, record)
    done.from_database = len(salvage.records)
    known = {record.name for record in salvage.records}
    for folder in copies(root):
        try:
            record = read_copy(folder)
        except StoreError:
            salvage.damaged.add(folder.name)
            continue
        if insert_record(connection, record) == "current":
            done.from_folders += 1
        known.add(folder.name)
    done.lost = sorted(salvage.damaged - known)
    if salvage.written is not None:
        missing = salvage.written - done.from_database - done.from_folders - len(done.lost)
        # Folders with more records than the old database ever had: it was emptied, and had lost its count too.
        done.n_unnamed = missing if missing >= 0 else None


def _salvage(path: Path, copy: Path) -> _Salvage:
    """Return every row that still matches its digest; where a scan stumbles, rows are asked for one by one."""
    found = _Salvage()
    # Of a copy: opening a database with a log writes to it, and the old one must stay as it is.
    for side in ("", _SIDES[0]):
        place = path.with_name(path.name + side)
        if place.exists():
            with reading(place, error=StoreError) as old, copy.with_name(copy.name + side).open("xb") as new:
                shutil.copyfileobj(old, new)
    try:
        with closing(sqlite3.connect(copy, isolation_level=None)) as connection:
            _refuse_strangers(connection, path)
            if version_of(connection) == 1:
                with transaction(connection):
                    upgrade(connection, from_version=1)
            _read(connection, found)
    except (sqlite3.DatabaseError, UnicodeDecodeError):  # not even its list of tables can be read
        pass
    return found


def _refuse_strangers(connection: sqlite3.Connection, path: Path) -> None:
    try:
        refuse_strangers(connection, path)
    except ForeignStoreError as error:
        raise ForeignStoreError(f"{error} If it is yours and damaged, move it away and repair again") from error


def _read(connection: sqlite3.Connection, found: _Salvage) -> None:
    """Take what is readable: a text stands for itself, since it has its own digest and the name of its run."""
    names = dict(_rows(connection, "record", "SELECT id, name FROM record"))
    for number, text, digest in _rows(connection, "body", "SELECT record AS id, json, digest FROM body"):
        with suppress(StoreError):
            require(digest_of(number, text) == digest, "it does not match its digest", StoreError)
            found.records.append(RunRecord.from_json(text))
            names.pop(number, None)
    found.damaged = {str(name) for name in names.values()}
    for number, *values, digest in _rows(connection, "event", _EVENTS):
        if digest_of(number, *values) == digest:
            found.events.append(tuple(values))
    (found.written,) = _first(connection, "SELECT n FROM ledger WHERE what = 'record'") or (None,)


_EVENTS = "SELECT id, at, who, kind, run, detail, digest FROM event"


def _rows(connection: sqlite3.Connection, table: str, query: str) -> Iterator[tuple]:
    try:
        yield from connection.execute(f"{query} ORDER BY id").fetchall()
        return
    except (sqlite3.DatabaseError, UnicodeDecodeError):
        (last,) = _first(connection, "SELECT max(rowid) FROM " + table) or (0,)
    for number in range(1, min(int(last or 0), 10_000_000) + 1):
        row = _first(connection, f"{query} WHERE rowid = {number}")
        if row is not None:
            yield row


def _first(connection: sqlite3.Connection, query: str) -> tuple | None:
    try:
        found: tuple | None = connection.execute(query).fetchone()
    except (sqlite3.DatabaseError, UnicodeDecodeError):
        return None
    return found


def _exchange(path: Path, fresh: Path) -> str:
    """Put the new database in the place of the old one; return where the old one is now."""
    moved = path.with_name(f"{FILE_NAME}.before-repair-{time.strftime('%Y%m%d-%H%M%S')}")
    try:
        for side in ("", *_SIDES):
            if os.path.lexists(path.with_name(path.name + side)):
                path.with_name(path.name + side).rename(path.with_name(moved.name + side))
        fresh.rename(path)
    except OSError as error:
        raise StoreError(f"cannot rename {path}: {error.strerror}") from error
    return moved.name if os.path.lexists(moved) else ""


def _mend_folders(root: Path, records: list[RunRecord], done: Repair) -> None:
    """Write specs and copies of records that are damaged or missing, and sweep what killed writers left."""
    current = {record.name: record for record in records}
    for path in sorted((root / "runs").glob("*")):
        record = current.get(path.name)
        if not path.is_dir() or record is None:
            continue
        folder = RunFolder(root, path.name)
        if is_own_spec(record.spec, folder.name) and not _is_complete(folder):
            write_atomically(folder.spec, json.dumps(dict(record.spec), indent=1).encode())
            done.specs += 1
        if not folder.record.exists():
            write_copy(root, record)
        done.swept += folder.sweep()


def _is_complete(folder: RunFolder) -> bool:
    try:
        return is_own_spec(read_json(folder.spec, error=StoreError), folder.name)
    except StoreError:
        return False
