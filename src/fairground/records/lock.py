"""One process at a time works on a run: a file lock that the system releases when its owner dies."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from fairground.errors import StoreError
from fairground.files import cannot_write

if TYPE_CHECKING:
    from fairground.records.run_folder import RunFolder


class LockedError(StoreError):
    """Another process holds the lock."""


@contextmanager
def locked(folder: "RunFolder", *, role: Literal["owner", "driver"] = "owner", patience: float = 0.2) -> Iterator[None]:
    """Hold the run; refuse if another process holds it after `patience` seconds.

    The `owner` trains the run; the `driver` starts workers that do. A worker whose driver was killed needs a moment to
    notice, and `is_at_work` may hold the lock for an instant.
    """
    folder.make()
    with held(folder.path / f"{role}.lock", f"run {folder.name}", patience=patience):
        yield


@contextmanager
def held(path: Path, what: str, *, patience: float = 0.0) -> Iterator[None]:
    """Hold the lock file `path`; wait `patience` seconds for it, a negative number for ever."""
    import filelock  # slow to import

    lock = filelock.FileLock(path, thread_local=False)
    try:
        lock.acquire(timeout=patience)
    except filelock.Timeout as error:
        raise LockedError(f"{what} is being worked on by another process: wait for it or stop it") from error
    except OSError as error:
        raise StoreError(cannot_write(path, error)) from error
    try:
        yield
    finally:
        lock.release()


def is_at_work(path: Path) -> bool:
    """Tell whether a process holds the lock file `path`."""
    if not path.is_file():
        return False
    try:
        with held(path, ""):
            return False
    except LockedError:
        return True
    except StoreError:  # the file belongs to another user
        return False
