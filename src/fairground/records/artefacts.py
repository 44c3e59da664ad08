"""Where the files of a run live, how they are written so that no kill leaves half a file, and their checksums.

<root>/runs/<name>/
    spec.json         what was asked
    inputs.json       what the network takes
    checkpoints/      what resume needs
    gallery.npz       queries with their nearest neighbours, as pictures
    embeddings.npz    embeddings and labels of an evaluated split
    queries.npz       what each of its queries, and each of its classes, scored
    analyses.npz      curves of the training split: spectra, densities of distances
    manifest.json     checksum of every file that is finished
    record.json       the run's current record, sealed: what the store is rebuilt from
"""

import errno
import hashlib
import json
import os
import re
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairground.errors import StoreError, require
from fairground.files import read_json, reading, require_replaceable

_TEMPORARY = ".tmp"


@dataclass(frozen=True)
class RunFolder:
    """The folder of one run. Looking at it makes nothing; `make` does."""

    root: Path
    name: str

    def __post_init__(self) -> None:
        # A name comes from the command line or a file: it must not be able to point anywhere else.
        require(
            re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}", self.name) is not None,
            f"a run's name has letters, digits, '-' and '_' only, 100 at most; got {self.name[:120]!r}",
        )

    @property
    def path(self) -> Path:
        """Where everything of this run is."""
        return Path(self.root) / "runs" / self.name

    @property
    def spec(self) -> Path:
        """The spec as canonical JSON."""
        return self.path / "spec.json"

    @property
    def checkpoints(self) -> Path:
        """The folder of checkpoints."""
        return self.path / "checkpoints"

    @property
    def threads(self) -> Path:
        """The number of threads the run began with, until a checkpoint says it."""
        return self.path / "threads.json"

    @property
    def gallery(self) -> Path:
        """Queries and their neighbours as pictures."""
        return self.path / "gallery.npz"

    @property
    def embeddings(self) -> Path:
        """Embeddings and labels."""
        return self.path / "embeddings.npz"

    @property
    def analyses(self) -> Path:
        """Curves that analyses found in the training split."""
        return self.path / "analyses.npz"

    @property
    def queries(self) -> Path:
        """What each query of an evaluated split scored."""
        return self.path / "queries.npz"

    @property
    def manifest(self) -> Path:
        """Checksums of the finished files."""
        return self.path / "manifest.json"

    @property
    def record(self) -> Path:
        """The run's current record as the store has it."""
        return self.path / "record.json"

    def make(self) -> "RunFolder":
        """Make the folders, refusing in a sentence where that is impossible."""
        try:
            self.checkpoints.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(cannot_write(self.checkpoints, error)) from error
        return self

    def sweep(self) -> int:
        """Remove what killed writers left behind and return how many; only for whoever holds the run's lock."""
        return sum(sweep(place) for place in (self.path, self.checkpoints))

    def sign(self) -> None:
        """Write the checksum of every file of the run that is finished; checkpoints come and go and are left out."""
        sums = {file.name: checksum(file) for file in self._finished()}
        write_atomically(self.manifest, json.dumps(sums, indent=1, sort_keys=True).encode())

    def signed(self) -> dict[str, Any]:
        """Return the files a finished run has left, by name with their checksums."""
        if not self.manifest.exists():
            return {}
        try:
            sums = read_json(self.manifest, error=StoreError)
            require(isinstance(sums, dict), f"it holds no table of files but {type(sums).__name__}", StoreError)
        except StoreError as error:
            raise StoreError(f"{self.manifest} is damaged: {error}") from error
        return {Path(name).name: expected for name, expected in sums.items()}

    def damaged(self) -> list[str]:
        """Return the names of signed files that are missing or no longer have their checksum."""
        return [name for name, expected in self.signed().items() if not _matches(self.path / name, expected)]

    def _finished(self) -> list[Path]:
        files = (file for file in self.path.iterdir() if file.is_file())
        left_out = (self.manifest, self.record)
        return sorted(file for file in files if file not in left_out and file.suffix not in (_TEMPORARY, ".lock"))


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file so that a reader, or a kill at any moment, sees the old content or the new and nothing between."""
    # In the same folder: a rename is only atomic within one file system.
    temporary = path.parent / f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}{_TEMPORARY}"
    try:
        require_replaceable(path, error=StoreError)
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with temporary.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        settle(path.parent)
    except OSError as error:
        raise StoreError(cannot_write(path, error)) from error


def sweep(folder: Path) -> int:
    """Remove what killed writers left behind, of any age, and return how many; only for whoever holds the lock."""
    leftovers = [file for file in folder.glob(f".*{_TEMPORARY}") if not file.is_dir()]
    for file in leftovers:
        file.unlink(missing_ok=True)
    return len(leftovers)


def is_temporary(path: Path) -> bool:
    """Tell whether a file is one that a writer has not finished, or never will."""
    return path.name.startswith(".") and path.name.endswith(_TEMPORARY)


def checksum(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with reading(path, error=StoreError) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _matches(path: Path, wanted: str) -> bool:
    return path.is_file() and checksum(path) == wanted


def settle(folder: Path) -> None:
    """Make the rename itself durable: it lives in the folder, not in the file."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def cannot_write(path: Path, error: OSError) -> str:
    """Say why a file cannot be written, and that nothing is lost."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return (
            f"cannot write {path}: the disk is full. What was there before is untouched; free some space, then resume."
        )
    return f"cannot write {path}: {error.strerror or error}. What was there before is untouched."
