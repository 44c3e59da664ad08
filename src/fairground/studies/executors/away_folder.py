"""A folder for a worker that does not share its driver's disk; those of workers that were killed are swept away."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from fairground.errors import StoreError
from fairground.records.lock import held

_PREFIX, _LOCK = "fairground-away-", "owner.lock"


@contextmanager
def away_folder() -> Iterator[Path]:
    """Give a folder that is there while the block lasts, after removing those whose owners are dead."""
    _sweep()
    with tempfile.TemporaryDirectory(prefix=_PREFIX) as name, _owned(Path(name)):
        yield Path(name)


def _sweep() -> None:
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError, StoreError):  # it is in use, or somebody else sweeps it
            # The lock of an owner has words in it from the moment it is held: one without may be about to be.
            if _is_ours(folder) and (folder / _LOCK).stat().st_size > 0:
                with _owned(folder):
                    shutil.rmtree(folder, ignore_errors=True)


def _owned(folder: Path) -> AbstractContextManager[None]:
    return held(folder / _LOCK, f"the folder {folder}")


def _is_ours(folder: Path) -> bool:
    """Tell whether we made a folder: anybody may put links and folders next to ours."""
    return not folder.is_symlink() and folder.stat().st_uid == getattr(os, "getuid", lambda: 0)()
