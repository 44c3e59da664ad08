"""Rows of bytes on disk, each with a checksum: what the caches of images and of frozen stages are made of.

`<name>.bin` has the rows end to end, `<name>.sums` a checksum per row, which covers its place too. Only a row whose
checksum matches counts: after a kill at any moment, the rest is computed again. Many processes may fill one file.
"""

import shutil
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fairground.errors import DamageWarning, StoreError, require

#: in place of the checksum of a row that is not there, and of one whose image cannot be read
_MISSING, _UNREADABLE = 0, int.from_bytes(b"no image", "little")
_ELSEWHERE = "set FAIRGROUND_CACHE to a folder on another disk, or"


@dataclass
class CachedRows:
    """Rows of these `lengths` in bytes; `remedy` is how to do without the cache, for errors."""

    folder: Path
    name: str
    lengths: np.ndarray
    remedy: str

    def __post_init__(self) -> None:
        n_bytes = int(self.lengths.sum())
        self.begins = np.cumsum(self.lengths) - self.lengths
        self._is_checked = np.zeros(len(self.lengths), bool)
        with cache_writing(self.folder, self.remedy):
            self.folder.mkdir(parents=True, exist_ok=True)
            data, sums = self.folder / f"{self.name}.bin", self.folder / f"{self.name}.sums"
            if not data.exists() or data.stat().st_size != n_bytes:
                with data.open("ab") as file:
                    file.truncate(n_bytes)
            if not sums.exists() or sums.stat().st_size < 8 * len(self.lengths):
                with sums.open("ab") as file:
                    if file.tell():
                        DamageWarning.warn(f"{sums} is cut off: what is missing is computed again")
                    # Written, not sparse: a hole that is read on a full disk kills the process.
                    file.write(bytes(8 * len(self.lengths) - file.tell()))
            # An empty file cannot be mapped.
            self.data = np.memmap(data, np.uint8, "r").view(np.ndarray) if n_bytes else np.empty(0, np.uint8)
            self._sums = np.memmap(sums, np.uint64, "r", shape=(len(self.lengths),)).view(np.ndarray)

    def is_gone(self) -> bool:
        return not (self.folder / f"{self.name}.sums").exists()

    def missing(self, rows: np.ndarray) -> np.ndarray:
        """Return those of `rows` that are not there, or damaged, which is said; each is checked once per process."""
        there = self.readable(rows)
        there = there[~self._is_checked[there]]
        for row in there:
            self._is_checked[row] = self._sums[row] == self._checksum(row, self.read(row).data)
        if n_damaged := int((~self._is_checked[there]).sum()):
            told = f"{n_damaged} rows of {self.folder / self.name}.bin do not match their checksums"
            DamageWarning.warn(f"{told}: they are computed again")
        return np.asarray(rows[(self._sums[rows] != _UNREADABLE) & ~self._is_checked[rows]])

    def empty(self) -> np.ndarray:
        """Return the rows that were never written, without a look at the others."""
        return np.flatnonzero(self._sums == _MISSING)

    def readable(self, rows: np.ndarray) -> np.ndarray:
        return np.asarray(rows[(self._sums[rows] != _UNREADABLE) & (self._sums[rows] != _MISSING)])

    def read(self, row: int) -> np.ndarray:
        begin = self.begins[row]
        return self.data[begin : begin + self.lengths[row]]

    def write(self, rows: Iterable[int], blocks: Iterable[bytes]) -> None:
        with cache_writing(self.folder, self.remedy):
            sums = {}
            with (self.folder / f"{self.name}.bin").open("r+b") as file:
                for row, block in zip(rows, blocks, strict=True):
                    assert len(block) == self.lengths[row], f"row {row} has {len(block)} bytes"
                    file.seek(int(self.begins[row]))
                    file.write(block)
                    sums[row] = self._checksum(row, block)
            self._mark(sums)

    def refuse(self, row: int) -> None:
        with cache_writing(self.folder, self.remedy):
            self._mark({row: _UNREADABLE})

    def require_space(self, n_bytes: int) -> None:
        """Refuse what the disk cannot hold before anything is computed."""
        free = shutil.disk_usage(self.folder).free
        told = f"the cache needs {n_bytes / 1e6:,.1f} MB in {self.folder}, where {free / 1e6:,.1f} MB are free"
        require(n_bytes < free, f"{told}; {_ELSEWHERE} {self.remedy}", StoreError)

    def _mark(self, sums: dict[int, int]) -> None:
        with (self.folder / f"{self.name}.sums").open("r+b") as file:
            for row, checksum in sums.items():
                file.seek(8 * int(row))
                file.write(np.uint64(checksum).tobytes())

    def _checksum(self, row: int, block: bytes | memoryview) -> int:
        return zlib.crc32(block, zlib.crc32(f"{self.name}/{row}".encode())) + 1


@contextmanager
def cache_writing(folder: Path, remedy: str) -> Iterator[None]:
    """Make of errors of the disk a sentence that says what to do."""
    try:
        yield
    except OSError as error:
        told = f"cannot write the cache {folder}: {error.strerror or error}"
        raise StoreError(f"{told}; {_ELSEWHERE} {remedy}") from error
