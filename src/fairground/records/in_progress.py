"""A run that has begun and has no record yet: how far it is, by its newest checkpoint, without disturbing it.

Nothing here takes a lock or writes a file: the run may be about to take or to write it.
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairground.errors import StoreError
from fairground.files import read_json
from fairground.records.artefacts import RunFolder
from fairground.records.checkpoint_files import newest_first, read_state
from fairground.records.lock import owner_of
from fairground.records.record import EpochRow

#: how old a sign of life may be where it cannot be asked whether a process lives
_FRESH_SECONDS = 600.0


@dataclass(frozen=True, kw_only=True)
class RunInProgress:
    """`epoch` is the one being trained, 0 while the untrained model is measured; `seconds` is time spent so far."""

    name: str
    spec: Mapping[str, Any]
    epoch: int
    rows: tuple[EpochRow, ...]
    started: str
    seconds: float
    is_at_work: bool


def run_in_progress(folder: RunFolder) -> RunInProgress | None:
    """Return how far the run in this folder is; None when there is none or it cannot be read just now."""
    try:
        spec = read_json(folder.spec, error=StoreError)
        metadata = _newest_metadata(folder.checkpoints)
        return RunInProgress(
            name=folder.name,
            spec=spec,
            epoch=int(metadata.get("epoch", 0)),
            rows=tuple(EpochRow(**row) for row in metadata.get("rows", ())),
            started=str(metadata.get("started", "")),
            seconds=float(metadata.get("seconds", 0.0)),
            is_at_work=is_at_work(folder.path / "owner.lock"),
        )
    except (StoreError, ValueError, TypeError):
        return None


def is_at_work(lock: Path) -> bool:
    """Tell whether the process that last took a lock is alive; asking the lock itself could keep its owner from it."""
    owner = owner_of(lock)
    try:
        return owner is not None and _is_alive(owner, lock.stat().st_mtime)
    except OSError:
        return False


def _newest_metadata(checkpoints: Path) -> dict[str, Any]:
    """Return the plain facts of the newest checkpoint that can be read; they come and go while the run works."""
    for path in newest_first(checkpoints):
        with suppress(StoreError):
            return read_state(path)
    return {}


def _is_alive(process: int, written: float) -> bool:
    if os.name != "posix":  # elsewhere signal 0 is a real one
        import time

        return time.time() - written < _FRESH_SECONDS
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # somebody else's process, which lives
        return True
    return True
