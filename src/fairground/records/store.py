"""The records under a run directory: written as files, never overwritten, searched through the index.

The index is a cache in SQLite that may be deleted at any time: every question first compares it with the files.
"""

import getpass
import json
import os
import platform
import shlex
import shutil
import sqlite3
import threading
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from fairground.files import append_line, parse_with_digest, read_bytes, read_text, write_with_digest, writing
from fairground.records import Outcome, RunFolder, RunRecord, State, folder_names, grouped, locked, outcome_of, resolved
from fairground.spec import DamageWarning, StoreError, data_name, method_name, require

EVENTS = "events.jsonl"
#: the event of a run or a study that starts from the beginning
AGAIN = "begun again"
_USUAL_METRIC = "map@r"
_CHUNK = 500
FILE_NAME = "index.sqlite"
#: `changed` is the time of change of the record's file: the order of records, and whether a row is up to date; `json`
#: is the whole file. If the columns of `listed` change, so must its name: an index of another layout may be there
_TABLES = """
    BEGIN IMMEDIATE;
    CREATE TABLE IF NOT EXISTS listed (
        name TEXT PRIMARY KEY, changed INTEGER NOT NULL, method TEXT NOT NULL, state TEXT NOT NULL, protocol TEXT,
        dataset TEXT, loss TEXT, seed INTEGER, title TEXT, data TEXT, metric TEXT, score REAL);
    CREATE TABLE IF NOT EXISTS body (name TEXT PRIMARY KEY, json BLOB NOT NULL);
    COMMIT;
"""


class Event(NamedTuple):
    """Who did what (`kind`), when, and to which run or study (`run`)."""

    at: str
    who: str
    kind: str
    run: str | None
    detail: str


class RunSummary(NamedTuple):
    """What a list shows of a run; `score` is its test score by the `metric` that selected it, or None."""

    name: str
    state: State
    title: str
    data: str
    seed: int | None
    metric: str
    score: float | None


class _Index:
    """Answers SQL about the records under `root`; `patience` is how many seconds to wait for another process."""

    def __init__(self, root: Path, *, patience: float) -> None:
        self._root, self._path, self._patience = root, root / FILE_NAME, patience
        self._memory: sqlite3.Connection | None = None
        self._one_at_a_time = threading.Lock()

    def rows(self, query: str, values: Sequence[object], *, names: Collection[str] | None = None) -> list[tuple]:
        """Bring the rows of all runs, or those of `names`, up to date and answer a query."""
        if not (self._root / "runs").is_dir():
            return []
        with self._one_at_a_time:
            if self._memory is None:
                try:
                    return self._rows_of_file(query, values, names)
                except (sqlite3.Error, OSError) as error:
                    DamageWarning.warn(f"{self._path} cannot be used ({error}); reading every record")
                    self._memory = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
            return self._rows_of(self._memory, query, values, names)

    def _rows_of_file(self, *asked: Any, is_new: bool = False) -> list[tuple]:
        try:
            # One connection per question: SQLite's locks do not survive a fork.
            with closing(sqlite3.connect(self._path, timeout=self._patience, isolation_level=None)) as db:
                db.execute("PRAGMA synchronous = NORMAL")
                return self._rows_of(db, *asked)
        except sqlite3.DatabaseError as error:
            if is_new or isinstance(error, sqlite3.OperationalError):  # locked, read-only, full
                raise
            self._path.unlink(missing_ok=True)  # damaged, or not a database
            return self._rows_of_file(*asked, is_new=True)

    def _rows_of(
        self, db: sqlite3.Connection, query: str, values: Sequence[object], names: Collection[str] | None
    ) -> list[tuple]:
        if db.execute("SELECT 1 FROM sqlite_master WHERE name = 'listed'").fetchone() is None:
            db.executescript(_TABLES)
        self._refresh(db, names)
        return db.execute(query, values).fetchall()

    def _refresh(self, db: sqlite3.Connection, names: Collection[str] | None) -> None:
        found = changes(self._root, names)
        condition = "true" if names is None else f"name IN ({', '.join('?' * len(names))})"
        known = dict(db.execute(f"SELECT name, changed FROM listed WHERE {condition}", tuple(names or ())))
        stale = sorted((changed, name) for name, changed in found.items() if known.get(name) != changed)
        outdated = [*(known.keys() - found.keys()), *(name for _, name in stale)]
        if not outdated:
            return
        db.execute("BEGIN IMMEDIATE")
        try:
            db.executemany("DELETE FROM listed WHERE name = ?", [(name,) for name in outdated])
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
            DamageWarning.warn(f"{error}; the record is left out")
            return
        spec, metric = record.spec, _USUAL_METRIC if record.selection is None else record.selection.metric
        values = [name, changed, record.method, record.state, spec.get("protocol"), record.setting("data")]
        values += [record.setting("loss"), spec.get("seed"), method_name(spec), data_name(spec.get("data"))]
        values += [metric, record.score(metric)]
        db.execute(f"INSERT INTO listed VALUES ({', '.join('?' * len(values))})", values)
        db.execute("INSERT INTO body VALUES (?, ?)", (name, data))


class Store:
    """The records under `root`, of which reading creates none; `patience` is how many seconds to wait for the index."""

    def __init__(self, root: Path | str, *, patience: float = 10.0) -> None:
        self.root = Path(root)
        self._index = _Index(self.root, patience=patience)

    def append(self, record: RunRecord) -> Outcome:
        """Store a record; it is on the disk when this returns."""
        folder = RunFolder(self.root, record.name)
        old = self._current(folder)
        outcome = outcome_of(old, record) if old else "current"
        if outcome == "current":
            if old is not None:
                _write(folder.history / f"{time.time_ns()}.json", old)
            _write(folder.record, record)
        elif outcome == "history":
            _write(folder.history / f"{time.time_ns()}.json", record)
            if record.state == "done":
                self.note_event("disagreement", record.name, "a second finished run of this spec has other results")
        return outcome

    def append_all(self, records: Iterable[RunRecord]) -> list[Outcome]:
        return [self.append(record) for record in records]

    def get(self, name: str) -> RunRecord:
        """Return the current record of the run with this name, or with the only name that begins so."""
        return RunRecord.read(RunFolder(self.root, self.resolve(name)).record)

    def named(self, names: Iterable[str]) -> list[RunRecord]:
        """Return each run once: those named, and every repeat of a method named by its hash."""
        found = [run for name in names for run in list(self.records(method=name)) or [self.get(name)]]
        return list({run.name: run for run in found}.values())

    def resolve(self, name: str) -> str:
        if changes(self.root, [name]):
            return name
        known = changes(self.root)
        begun = [run for run in folder_names(self.root) if name and run.startswith(name) and run not in known]
        if len(begun) == 1 and (self.root / "runs" / begun[0] / "spec.json").exists():
            resume = f"`fairground resume {begun[0]} --home {shlex.quote(str(self.root))}` continues it"
            require(any(run.startswith(name) for run in known), f"run {begun[0]} is not finished: {resume}")
        return resolved(name, sorted(known), self.root)

    def history(self, name: str) -> list[RunRecord]:
        """Return every record of a run, the current one last."""
        folder = RunFolder(self.root, self.resolve(name))
        return [RunRecord.read(path) for path in (*sorted(folder.history.glob("*.json")), folder.record)]

    def begin_again(self, name: str, why: str) -> None:
        """Let a run start from the beginning: its record goes to its history, and all else that it left is removed."""
        folder = RunFolder(self.root, name)
        with locked(folder), writing(folder.path):
            if folder.record.exists():
                folder.history.mkdir(exist_ok=True)
                folder.record.replace(folder.history / f"{time.time_ns()}.json")
                self.note_event(AGAIN, name, why)
            for path in folder.path.iterdir():
                if path.is_dir() and path != folder.history:
                    shutil.rmtree(path)
                elif path.is_file() and path.suffix != ".lock":
                    path.unlink()

    def remove(self, name: str) -> str:
        """Delete a run, finished or not, with its history, and return its name; refused while a process works on it."""
        folder = RunFolder(self.root, resolved(name, sorted(folder_names(self.root)), self.root))
        with locked(folder), locked(folder, role="driver"), writing(folder.path):
            # Without these two files, what a kill leaves behind does not count as a run.
            folder.record.unlink(missing_ok=True)
            folder.spec.unlink(missing_ok=True)
            shutil.rmtree(folder.path)
        self.note_event("removed", folder.name)
        return folder.name

    def names(self, **filters: str | int) -> list[str]:
        """Return the names of the runs whose columns in the index match, in the order they were stored."""
        return [name for (name,) in self._rows("name", filters)]

    def names_by_method(self, **filters: str | int) -> dict[str, list[str]]:
        return grouped(self._rows("method, name", filters))

    def records(self, **filters: str | int) -> Iterator[RunRecord]:
        """Yield the current records that match, in the order they were stored."""
        names = self.names(**filters)
        for start in range(0, len(names), _CHUNK):  # not all texts in memory at once
            some = names[start : start + _CHUNK]
            query = f"SELECT name, json FROM body WHERE name IN ({', '.join('?' * len(some))})"
            texts = dict(self._index.rows(query, some, names=()))
            for name in some:
                if name in texts:
                    yield RunRecord.from_plain(json.loads(texts[name])["body"])

    def summaries(self, **filters: str | int) -> list[RunSummary]:
        """Return what a list shows of the runs that match, in the order they were stored, without reading records."""
        return [RunSummary._make(row) for row in self._rows(", ".join(RunSummary._fields), filters)]

    def note_event(self, kind: str, run: str | None = None, detail: str = "") -> None:
        """Append an event; it is on the disk when this returns."""
        try:
            user = getpass.getuser()
        except (KeyError, OSError):  # a container may run under a number that has no name
            user = "unknown"
        at, who = datetime.now(UTC).isoformat(timespec="seconds"), f"{user}@{platform.node()} process {os.getpid()}"
        append_line(self.root / EVENTS, {"at": at, "who": who, "kind": kind, "run": run, "detail": detail})

    def events(self, *, kind: str | None = None, run: str | None = None) -> list[Event]:
        path = self.root / EVENTS
        found = []
        for line in read_text(path, error=StoreError).splitlines() if path.exists() else ():
            try:
                event = Event(**json.loads(line))
            except (ValueError, TypeError):
                DamageWarning.warn(f"{path}: a line is damaged and left out: {line[:80]}")
                continue
            if kind in (None, event.kind) and run in (None, event.run):
                found.append(event)
        return found

    def _current(self, folder: RunFolder) -> RunRecord | None:
        """Return the current record of a run; a damaged one counts as none, so that a good one takes its place."""
        try:
            return RunRecord.read(folder.record) if folder.record.exists() else None
        except StoreError as error:
            DamageWarning.warn(f"{error}; it is replaced")
            return None

    def _rows(self, columns: str, filters: Mapping[str, str | int]) -> list[tuple]:
        condition = " AND ".join(["true", *(f"{key} = ?" for key in filters)])
        query = f"SELECT {columns} FROM listed WHERE {condition} ORDER BY changed, name"
        names = [str(filters["name"])] if "name" in filters else None
        return self._index.rows(query, tuple(filters.values()), names=names)


def _write(path: Path, record: RunRecord) -> None:
    write_with_digest(path, record.to_plain())
    # Records are in the order of their times, and the clock of a file system ticks every few milliseconds only.
    now = time.time_ns()
    os.utime(path, ns=(now, now))


def changes(root: Path, names: Collection[str] | None = None) -> dict[str, int]:
    """Return the times of change of the records of all runs, or of `names`, by name."""
    found = {}
    for name in folder_names(root) if names is None else names:
        with suppress(OSError):
            found[name] = os.stat(f"{root}/runs/{name}/record.json").st_mtime_ns  # noqa: PTH116 - a Path is slower
    return found
