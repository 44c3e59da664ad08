"""Read and write files: every failure is one sentence that names the file, and a write is all or nothing."""

import csv
import errno
import hashlib
import json
import os
import secrets
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, nullcontext
from io import BufferedReader, TextIOWrapper
from pathlib import Path
from typing import IO, Any, NamedTuple

from fairground.errors import FairgroundError, InputError, StoreError, require

_TEMPORARY = ".tmp"
_DIGEST = '{"sha256":"%s","body":'


def shown(name: Path | str) -> str:
    return "'" + str(name).replace("\n", "\\n") + "'"


def open_file(path: Path, *, error: type[FairgroundError] = InputError, what: str = "") -> BufferedReader:
    """Open a file for reading; a failure names the path, or `what` it is."""
    try:
        return Path(path).open("rb")
    except (OSError, ValueError) as failure:
        raise error(_cannot_read(path, failure, what)) from failure


@contextmanager
def reading(path: Path, *, error: type[FairgroundError] = InputError) -> Iterator[BufferedReader]:
    """Open a file for reading; errors of the disk inside the block are sentences too."""
    with open_file(path, error=error) as file:
        try:
            yield file
        except OSError as failure:
            raise error(_cannot_read(path, failure)) from failure


def require_file(path: Path, *, error: type[FairgroundError] = InputError) -> None:
    """Refuse a path that cannot be opened as a file, for readers that open it by name themselves."""
    open_file(path, error=error).close()


def read_bytes(path: Path, *, error: type[FairgroundError] = InputError) -> bytes:
    with reading(path, error=error) as file:
        return file.read()


def read_text(path: Path, *, error: type[FairgroundError] = InputError, encoding: str = "utf-8") -> str:
    try:
        return read_bytes(path, error=error).decode(encoding)
    except UnicodeDecodeError as failure:
        raise error(f"{shown(path)} is not text in UTF-8 (byte {failure.start})") from failure


def read_json(path: Path, *, error: type[FairgroundError] = InputError) -> dict[str, Any]:
    return parse_json(read_text(path, error=error), shown(path), error=error)


def parse_json(text: str | bytes, origin: str, *, error: type[FairgroundError] = InputError) -> dict[str, Any]:
    """Return the JSON object in `text`; errors say that it came from `origin`."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as failure:
        raise error(f"{origin} is not JSON: {failure}") from failure
    if not isinstance(found, dict):
        raise error(f"{origin} must hold a JSON object; it holds {type(found).__name__}")
    return found


def cache_folder(name: str) -> Path:
    """Return where things are kept that can be made again: below $FAIRGROUND_CACHE, or below ~/.cache/fairground."""
    base = os.environ.get("FAIRGROUND_CACHE")
    return (Path(base).expanduser() if base else Path.home() / ".cache" / "fairground") / name


def file_digests(paths: Iterable[Path]) -> dict[Path, str]:
    """Return the SHA-256 of the whole content of files; one whose size, times and inode are known is not read again.

    A file that changed less than two seconds ago is not remembered: it could change again within a tick of its clock.
    """
    found: dict[Path, str] = {}
    old, now, wanted = [], time.time_ns(), list(dict.fromkeys(paths))
    for path in wanted:
        stat = path.stat()
        if max(stat.st_mtime_ns, stat.st_ctime_ns) < now - 2_000_000_000:
            mark = f"{stat.st_size} {stat.st_mtime_ns} {stat.st_ctime_ns} {stat.st_ino}"
            old.append((path, os.fsencode(path.absolute()), mark))

    def look(db: sqlite3.Connection) -> None:
        for path, *known in old:
            if row := db.execute("SELECT sha256 FROM known WHERE name = ? AND mark = ?", known).fetchone():
                found[path] = row[0]

    def remember(db: sqlite3.Connection) -> None:
        rows = ((*known, found[path]) for path, *known in old)
        db.executemany("INSERT OR REPLACE INTO known VALUES (?, ?, ?)", rows)

    _use_memory(look)
    if unknown := [path for path in wanted if path not in found]:
        with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
            found |= zip(unknown, pool.map(_digest, unknown), strict=True)
        _use_memory(remember)
    return found


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _use_memory(use: Callable[[sqlite3.Connection], None]) -> None:
    """Let the memory of digests be used; without it files are read again, and nothing else is lost."""
    path = cache_folder("digests.sqlite")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(path, timeout=10)) as db, db:
            db.execute("CREATE TABLE IF NOT EXISTS known (name BLOB PRIMARY KEY, mark TEXT, sha256 TEXT) WITHOUT ROWID")
            use(db)
    except (sqlite3.OperationalError, OSError):  # locked, read-only, full
        pass
    except sqlite3.DatabaseError:  # damaged
        path.unlink(missing_ok=True)


class CsvTable(NamedTuple):
    """A CSV file as text: its column names, its rows without blank ones, and the line in which each row ends."""

    columns: list[str]
    rows: list[list[str]]
    lines: list[int]


def read_csv(path: Path, *, error: type[FairgroundError] = InputError) -> CsvTable:
    """Return a CSV file whose first line names its columns and whose rows have one cell per column."""
    rows, lines = [], []
    try:
        with reading(path, error=error) as binary, TextIOWrapper(binary, encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            columns = [name.strip() for name in next(reader, [])]
            for row in filter(None, reader):
                rows.append(row)
                lines.append(reader.line_num)
    except (UnicodeDecodeError, csv.Error) as failure:
        raise error(f"{shown(path)} is not a readable CSV file in UTF-8: {failure}") from failure
    require(len(columns) > 0, f"{shown(path)} is empty; its first line must name the columns", error)
    is_each_once = len(set(columns)) == len(columns)
    require(is_each_once, f"{shown(path)} names a column twice: {', '.join(map(shown, columns))}", error)
    for number, row in enumerate(rows):
        if len(row) != len(columns):
            raise error(f"{shown(path)}: row {number + 1} has {len(row)} cells for {len(columns)} columns")
    return CsvTable(columns, rows, lines)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn errors of the disk inside the block into a sentence that names the path."""
    try:
        yield
    except OSError as failure:
        raise StoreError(cannot_write(path, failure)) from failure


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file so that a reader, or a kill at any moment, finds the old content or the new one."""
    # In the same folder: a rename is atomic only within one file system.
    temporary = path.parent / f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}{_TEMPORARY}"
    with writing(path):
        is_replaceable = path.is_file() or not path.exists()
        require(is_replaceable, f"cannot write {shown(path)}: it is a folder or a device, not a file", StoreError)
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with temporary.open("xb") as file:
                write_to_disk(file, data)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
        if os.name == "posix":  # a rename is stored in the folder, not in the file
            handle = os.open(path.parent, os.O_RDONLY)
            os.fsync(handle)
            os.close(handle)


def append_line(path: Path, entry: Mapping[str, Any]) -> None:
    """Append a JSON object as one line, on a new line even where a full disk cut the last one short."""
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab+") as file:
            is_torn = file.tell() > 0 and file.seek(-1, os.SEEK_END) >= 0 and file.read() != b"\n"
            write_to_disk(file, ("\n" * is_torn + json.dumps(entry, allow_nan=False) + "\n").encode())


def write_to_disk(file: IO[bytes], data: bytes) -> None:
    file.write(data)
    file.flush()
    os.fsync(file.fileno())


def put_away(folder: Path, *names: str) -> None:
    """Move those of these files and folders that are there to `history/<time>` in their folder."""
    history = folder / "history" / str(time.time_ns())
    history.mkdir(parents=True)
    for name in names:
        if (folder / name).exists():
            (folder / name).replace(history / name)


def sweep(folder: Path) -> None:
    """Remove the temporary files of killed writers; only the holder of the lock may."""
    for file in folder.glob(f".*{_TEMPORARY}"):
        file.unlink(missing_ok=True)


def write_with_digest(path: Path, body: Mapping[str, Any]) -> None:
    """Write a JSON object with its digest, `{"sha256": DIGEST, "body": OBJECT}`, atomically."""
    data = json.dumps(dict(body), allow_nan=False, separators=(",", ":")).encode()
    write_atomically(path, (_DIGEST % hashlib.sha256(data).hexdigest()).encode() + data + b"}")


def read_with_digest(path: Path) -> dict[str, Any]:
    """Return the object that `write_with_digest` wrote; refuse a file that does not match its digest."""
    return parse_with_digest(read_bytes(path, error=StoreError), path)


def parse_with_digest(data: bytes, path: Path) -> dict[str, Any]:
    body = data[len(_DIGEST % ("0" * 64)) : -1]
    is_whole = data == (_DIGEST % hashlib.sha256(body).hexdigest()).encode() + body + b"}"
    require(is_whole, f"{shown(path)} does not match its checksum", StoreError)
    return parse_json(body, shown(path), error=StoreError)


def cannot_write(path: Path, failure: OSError) -> str:
    if failure.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"cannot write {shown(path)}: the disk is full. Free some space, then resume."
    return f"cannot write {shown(path)}: {failure.strerror or failure}"


def _cannot_read(path: Path, failure: OSError | ValueError, what: str = "") -> str:
    if isinstance(failure, FileNotFoundError):
        return f"{what} cannot be read: no such file" if what else f"no such file: {shown(path)}"
    reason = getattr(failure, "strerror", None) or failure
    return f"{what} cannot be read: {reason}" if what else f"cannot read {shown(path)}: {reason}"


class LockedError(StoreError):
    """Another process holds the lock."""


@contextmanager
def held(path: Path, what: str, *, patience: float = 0.0) -> Iterator[None]:
    """Hold the lock file `path`; wait `patience` seconds for it, a negative number for ever."""
    import filelock  # slow to import

    lock = filelock.FileLock(path, thread_local=False)
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire(timeout=patience)
        except filelock.Timeout as error:
            raise LockedError(f"{what} is being worked on by another process: wait for it or stop it") from error
    try:
        yield
    finally:
        lock.release()


def is_at_work(path: Path) -> bool:
    try:
        with held(path, "") if path.is_file() else nullcontext():
            return False
    except StoreError as error:  # or the file belongs to another user
        return isinstance(error, LockedError)
