"""One process at a time works on a run: a lock that its owner's death releases, however it died.

A lock, not a lease: no clock is asked, so one that is wrong or set back changes nothing.
"""

import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from typing import IO, Literal

from fairground.errors import StoreError
from fairground.files import read_text
from fairground.records.artefacts import RunFolder, cannot_write

#: more digits no system gives a process
_OWNER = re.compile(r"process ([1-9][0-9]{0,8})\s*(\n|$)")


class LockedError(StoreError):
    """Somebody else has it."""


@contextmanager
def locked(folder: RunFolder, *, role: Literal["owner", "driver"] = "owner", patience: float = 0.0) -> Iterator[None]:
    """Hold the run while the block lasts; refuse when another process, or another part of this one, holds it.

    The `owner` trains it; the `driver` sees to it that somebody does. `patience` is how many seconds to wait for the
    other to leave: a worker whose driver was killed needs a moment to notice.
    """
    folder.make()
    with held(folder.path / f"{role}.lock", f"run {folder.name}", patience=patience):
        yield


@contextmanager
def held(path: Path, what: str, *, patience: float = 0.0) -> Iterator[None]:
    """Hold the lock file `path` while the block lasts; a refusal says that `what` is being worked on."""
    # The file stays: removing it would let two processes lock two files of the same name.
    with _opened(path) as file:
        try:
            _lock_within(file, patience)
        except OSError as error:
            owner = owner_of(path)
            named = f" (process {owner})" if owner else ""
            raise LockedError(f"{what} is being worked on by another process{named}: wait for it or stop it") from error
        try:
            # Over the old line, and cut only then: whoever reads meanwhile finds a whole first line.
            file.seek(0)
            file.truncate(file.write(f"process {os.getpid()}\n".encode()))
        except OSError as error:
            raise StoreError(cannot_write(path, error)) from error
        yield


def owner_of(path: Path) -> int | None:
    """Return the process that last took a lock, by its file; None where that says none."""
    try:
        found = _OWNER.match(read_text(path, error=StoreError))
    except StoreError:
        return None
    return int(found[1]) if found else None


@contextmanager
def waited_for(path: Path) -> Iterator[None]:
    """Hold the lock of a file while the block lasts, once whoever holds it has let go."""
    # The file stays, as above.
    with _opened(path) as file:
        while True:
            try:
                _lock(file)
                break
            except (BlockingIOError, PermissionError):
                time.sleep(0.1)
        yield


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    """Open a lock file, unbuffered: what a full disk did not take must not be tried again when it is closed."""
    try:
        file = FileIO(path, "r+", opener=lambda name, flags: os.open(name, flags | os.O_CREAT, 0o666))
    except OSError as error:
        raise StoreError(cannot_write(path, error)) from error
    with file:
        yield file


def _lock_within(file: IO[bytes], patience: float) -> None:
    deadline = time.monotonic() + patience
    while True:
        try:
            return _lock(file)
        except OSError:
            if time.monotonic() >= deadline:
                raise
            time.sleep(0.05)


if sys.platform == "win32":
    import msvcrt

    def _lock(file: IO[bytes]) -> None:
        file.seek(1 << 30)  # beyond the text, which others read
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(file: IO[bytes]) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
