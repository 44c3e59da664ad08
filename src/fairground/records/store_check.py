"""What is wrong with a home: its database, the files of its runs, and what nobody needs any more."""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from fairground.errors import FairgroundError, StoreError, require
from fairground.records.artefacts import RunFolder, is_temporary
from fairground.records.database import ForeignStoreError, told_in_a_sentence
from fairground.records.integrity import audit, checked_rows, damaged_record
from fairground.records.layout import COLUMNS, LAYOUT, digest_of
from fairground.records.store import Store
from fairground.records.stored_spec import stored_spec

Progress = Callable[[int, int], None]


@dataclass(kw_only=True)
class StoreReport:
    """What a check found. `damage` are sentences; `orphans` are folders of runs that the store knows nothing of.

    `unstored` are runs whose record is in their folder and not in the store.
    """

    n_records: int = 0
    n_events: int = 0
    n_folders: int = 0
    damage: list[str] = field(default_factory=list)
    unstored: list[str] = field(default_factory=list)
    orphans: list[str] = field(default_factory=list)
    unfinished: list[str] = field(default_factory=list)
    without_folder: list[str] = field(default_factory=list)
    temporary: list[str] = field(default_factory=list)
    bytes: dict[str, int] = field(default_factory=dict)

    @property
    def is_sound(self) -> bool:
        """Whether nothing is damaged; left-overs and orphans harm nobody."""
        return not self.damage and not self.unstored

    def plain(self) -> dict[str, Any]:
        """Return the report as JSON-ready data."""
        return {"is_sound": self.is_sound, **asdict(self)}


def check_home(root: Path, progress: Progress = lambda *_: None) -> StoreReport:
    """Check every row of the store and every file of every run; nothing is changed."""
    require(root.is_dir(), f"there is no home '{root}'")
    report = StoreReport()
    store = Store(root)
    names = _check_database(store, report)
    folders = sorted(path for path in (root / "runs").glob("*") if path.is_dir())
    report.n_folders = len(folders)
    for number, path in enumerate(folders):
        progress(number, len(folders))
        _check_folder(root, path, names, report)
    progress(len(folders), len(folders))
    present = {path.name for path in folders}
    report.without_folder = sorted(name for name, has_files in names.items() if has_files and name not in present)
    report.temporary = sorted(str(path.relative_to(root)) for path in _files(root) if is_temporary(path))
    report.bytes = _sizes(root, store.path)
    return report


def _check_database(store: Store, report: StoreReport) -> dict[str, bool]:
    """Return the runs with a record and whether such a run leaves files; a joined model leaves none."""
    names: dict[str, bool] = {}
    if not store.path.exists():
        return names
    try:
        with told_in_a_sentence(store.path):
            connection = store._connect()
            for (line,) in connection.execute("PRAGMA integrity_check"):
                if line != "ok":
                    report.damage.append(f"{store.path.name}: {line}")
            report.damage += [*_strange_tables(connection), *audit(connection).complaints]
            names = _check_records(connection, report)
            (report.n_events,) = connection.execute("SELECT count(*) FROM event NOT INDEXED").fetchone()
    except ForeignStoreError:
        raise
    except StoreError as error:
        report.damage.append(str(error))
    finally:
        store.close()
    return names


def _strange_tables(connection: sqlite3.Connection) -> list[str]:
    """Say what is not laid out as it must be: an index that is gone lets two records count, a trigger changes rows."""
    query = "SELECT type || ' ' || name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_stat%'"
    with closing(sqlite3.connect(":memory:")) as model:
        model.executescript(LAYOUT)
        wanted = dict(model.execute(query))
    found = dict(connection.execute(query))
    changed = [what for what in wanted if found.get(what) != wanted[what]]
    return [
        *(f"{what} is not there as it was laid out." for what in changed),
        *(f"{what} does not belong in a store." for what in found if what not in wanted),
    ]


def _check_records(connection: sqlite3.Connection, report: StoreReport) -> dict[str, bool]:
    query = f"SELECT id, {', '.join(COLUMNS)}, digest FROM record NOT INDEXED ORDER BY id"
    sound, damaged = checked_rows(connection.execute(query))
    report.n_records = len(sound) + len(damaged)
    of_run = {row.number: row.columns[0] for row in sound}
    for table in ("body", "scores"):
        left = set(of_run)
        for number, text, digest in connection.execute(f"SELECT record, json, digest FROM {table}"):
            if number in left and digest_of(number, text) == digest:
                left.discard(number)
        report.damage += [damaged_record(of_run[number], number) for number in sorted(left)]
    is_current, state, loss = COLUMNS.index("is_current"), COLUMNS.index("state"), COLUMNS.index("loss")
    return {
        row.columns[0]: row.columns[state] == "done" and row.columns[loss] is not None
        for row in sound
        if row.columns[is_current]
    }


def _check_folder(root: Path, path: Path, names: dict[str, bool], report: StoreReport) -> None:
    try:
        folder = RunFolder(root, path.name)
    except FairgroundError:
        report.orphans.append(path.name)
        return
    has_spec = folder.spec.exists()
    if path.name not in names:
        is_ended = folder.record.exists()
        (report.unstored if is_ended else report.unfinished if has_spec else report.orphans).append(path.name)
    try:
        if has_spec:
            stored_spec(folder)
        damaged = folder.damaged()
        report.damage += [f"runs/{path.name}/{name} no longer has its checksum." for name in damaged]
    except FairgroundError as error:
        report.damage.append(str(error))


def _files(root: Path) -> Iterator[Path]:
    for place in (root, root / "runs", root / "studies"):
        for folder, names, files in os.walk(place):
            if Path(folder) == root:
                names.clear()
            yield from (Path(folder) / name for name in files)


def _sizes(root: Path, database: Path) -> dict[str, int]:
    sizes = {"database": 0, "checkpoints": 0, "other files of runs": 0, "temporary": 0, "studies": 0}
    for path in _files(root):
        try:
            size = path.lstat().st_size
        except OSError:  # it has just been renamed or removed
            continue
        sizes[_kind(path, root, database)] += size
    return sizes


def _kind(path: Path, root: Path, database: Path) -> str:
    if is_temporary(path):
        return "temporary"
    if path.name.startswith(database.name):
        return "database"
    if path.parent.name == "checkpoints":
        return "checkpoints"
    return "studies" if root / "studies" in path.parents else "other files of runs"
