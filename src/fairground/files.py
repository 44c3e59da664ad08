"""The one way files from outside are opened: regular files alone, and every failure a sentence of ours.

A pipe, a socket or a device is refused before a byte is asked of it, because reading one could wait for ever. What is
at the path is asked of the open file, so that nobody can exchange it between the question and the answer.
"""

import csv
import errno
import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader, FileIO, TextIOWrapper
from pathlib import Path
from typing import Any, NoReturn

from fairground.errors import FairgroundError, InputError, require

#: a text that people write or we do is far smaller; JSON takes some twenty times its length once it is read
MAX_TEXT_BYTES = 64 << 20
#: those of a model with 800,000 classes, or of an index with 16,000 segments
MAX_METADATA_BYTES = 16 << 20


def shown(name: Path | str) -> str:
    """Return a name from outside in quotes and in one line, so that it cannot pass for a line of ours."""
    return "'" + str(name).replace("\n", "\\n") + "'"


def open_regular(path: Path, *, error: type[FairgroundError] = InputError, what: str = "") -> BufferedReader:
    """Return a regular file opened for reading; refuse all else in a sentence that names the path, or `what` it is."""
    handle = -1
    try:
        # Without O_NONBLOCK, opening a pipe that nobody writes to waits for ever; to a regular file it means nothing.
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
        handle = os.open(path, flags)
        mode = os.fstat(handle).st_mode
        require(stat.S_ISREG(mode), _complaint(path, what, f"it is {_kind(mode)}, not a plain file"), error)
        return BufferedReader(_PlainFile(handle))
    except FairgroundError:  # before ValueError, because our refusals are ValueErrors too
        os.close(handle)
        raise
    except (OSError, ValueError) as failure:
        raise error(_complaint(path, what, _reason(failure))) from failure


@contextmanager
def reading(path: Path, *, error: type[FairgroundError] = InputError) -> Iterator[BufferedReader]:
    """Hold a regular file open for reading while the block lasts; what fails inside on the disk is a sentence too."""
    with open_regular(path, error=error) as file:
        try:
            yield file
        except OSError as failure:
            raise error(_complaint(path, "", _reason(failure))) from failure


def require_regular(path: Path, *, error: type[FairgroundError] = InputError) -> None:
    """Refuse what is not a regular file, for readers that must open a file by its name themselves."""
    open_regular(path, error=error).close()


def require_replaceable(path: Path, *, error: type[FairgroundError] = InputError) -> None:
    """Refuse to put a file where a folder, a pipe, a socket or a device is: renaming would take its place."""
    mode = path.stat().st_mode if path.exists() else stat.S_IFREG
    require(stat.S_ISREG(mode), f"cannot write {shown(path)}: it is {_kind(mode)}, not a plain file", error)


def read_bytes(path: Path, *, error: type[FairgroundError] = InputError, most: int | None = None) -> bytes:
    """Return the content of a regular file, refusing one longer than `most` bytes."""
    with reading(path, error=error) as file:
        # What the kernel calls a file may be longer than it says it is.
        data = file.read(-1 if most is None else most + 1)
    is_short = most is None or len(data) <= most
    require(is_short, f"{shown(path)} has more than the {most or 0:,} bytes that are read of such a file", error)
    return data


def read_text(
    path: Path,
    *,
    error: type[FairgroundError] = InputError,
    encoding: str = "utf-8",
    most: int = MAX_TEXT_BYTES,
) -> str:
    """Return the content of a text file."""
    try:
        return read_bytes(path, error=error, most=most).decode(encoding)
    except UnicodeDecodeError as failure:
        raise error(f"{shown(path)} is not text in UTF-8 (byte {failure.start})") from failure


def read_json(path: Path, *, error: type[FairgroundError] = InputError, most: int = MAX_TEXT_BYTES) -> dict[str, Any]:
    """Return the JSON object in a file."""
    return parse_json(read_text(path, error=error, most=most), shown(path), error=error)


@dataclass(frozen=True)
class CsvTable:
    """A CSV file as text: the names of its columns, its rows without blank ones, and the line that each ends in."""

    columns: list[str]
    rows: list[list[str]]
    lines: list[int]


def read_csv(path: Path, *, error: type[FairgroundError] = InputError) -> CsvTable:
    """Return a CSV file whose first line names its columns, each once, and whose rows have a cell for each."""
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
        if "\0" in "".join(row):
            raise error(f"{shown(path)}: row {number + 1} holds a NUL character: save the table as UTF-8")
    return CsvTable(columns, rows, lines)


def parse_json(text: str | bytes, origin: str, *, error: type[FairgroundError] = InputError) -> dict[str, Any]:
    """Return the JSON object that `text` is; `origin` says in a refusal where it came from."""
    try:
        found = json.loads(text)
    except RecursionError as failure:
        raise error(f"{origin} is nested too deeply to be read") from failure
    except ValueError as failure:
        raise error(f"{origin} is not JSON: {failure}") from failure
    if not isinstance(found, dict):
        raise error(f"{origin} must hold a JSON object; it holds {type(found).__name__}")
    return found


class _PlainFile(FileIO):
    """A file that has something to read, or its end: one that would have to be waited for is refused.

    The kernel calls some files of its own regular that are none, such as /proc/kmsg.
    """

    def readinto(self, buffer: Any) -> int:
        found: int | None = super().readinto(buffer)
        return _waited_for() if found is None else found

    def readall(self) -> bytes:
        found: bytes | None = super().readall()
        return _waited_for() if found is None else found


def _waited_for() -> NoReturn:
    raise BlockingIOError(errno.EAGAIN, "it has nothing to read yet, as a plain file never does")


def _kind(mode: int) -> str:
    kinds = {
        "a folder": stat.S_ISDIR,
        "a pipe": stat.S_ISFIFO,
        "a device": lambda mode: stat.S_ISCHR(mode) or stat.S_ISBLK(mode),
        "a socket": stat.S_ISSOCK,
    }
    return next((kind for kind, is_such in kinds.items() if is_such(mode)), "something else")


def _complaint(path: Path, what: str, reason: str) -> str:
    return f"{what} cannot be read: {reason}" if what else f"cannot read {shown(path)}: {reason}"


def _reason(failure: OSError | ValueError) -> str:
    if isinstance(failure, FileNotFoundError):
        return "it is not there: there is no file of that name"
    if isinstance(failure, OSError):
        return failure.strerror or str(failure)
    return f"this cannot be the name of a file ({failure})"
