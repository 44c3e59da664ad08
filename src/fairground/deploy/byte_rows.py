"""Rows of bytes, such as names and small pictures, one after another in a file: read one by one, never all.

<name>.bin   the bytes of all rows
<name>.npy   where each row begins and the last ends, (n + 1,) whole numbers
"""

import hashlib
import itertools
import os
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import IO

import numpy as np

from fairground.errors import DataError, require
from fairground.files import reading
from fairground.records.arrays import map_npy


def write_byte_rows(folder: Path, name: str, rows: Iterable[bytes]) -> None:
    """Write both files; they are safely on the disk when this returns."""
    edges = [0]
    part = folder / f"{name}.partial"
    with part.open("wb") as file:
        for row in rows:
            edges.append(edges[-1] + len(row))
            file.write(row)
        _sync(file)
    part.replace(folder / f"{name}.bin")
    save_array(folder / f"{name}.npy", np.array(edges, np.int64))


def save_array(path: Path, array: np.ndarray) -> None:
    """Write an array that is safely on the disk when this returns."""
    with path.open("wb") as file:
        np.lib.format.write_array(file, np.ascontiguousarray(array), allow_pickle=False)
        _sync(file)


def _sync(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())


class ByteRows:
    """The rows of `<name>.bin`, by number; the file is mapped, so that it may be removed by others meanwhile.

    With `sha256` the bytes are held against it before the first row is given.
    """

    def __init__(self, folder: Path, name: str, *, sha256: str | None = None) -> None:
        self.sha256 = sha256
        self.path = folder / f"{name}.bin"
        self._edges = map_npy(folder / f"{name}.npy")
        is_list = self._edges.ndim == 1 and self._edges.dtype.kind in "iu" and len(self._edges) >= 1
        require(is_list, f"{folder / name}.npy is damaged: it must list whole numbers", DataError)
        with reading(self.path, error=DataError) as file:
            is_empty = file.seek(0, os.SEEK_END) == 0
            # Nothing can be mapped of nothing.
            self._mapped: np.ndarray = np.empty(0, np.uint8) if is_empty else np.memmap(file, np.uint8, "r")

    @cached_property
    def _bytes(self) -> np.ndarray:
        is_sound = self.sha256 is None or hashlib.sha256(self._mapped.data).hexdigest() == self.sha256
        require(is_sound, f"{self.path} is damaged: it is not as it was written", DataError)
        return self._mapped

    def __len__(self) -> int:
        return len(self._edges) - 1

    def __getitem__(self, row: int) -> bytes:
        require(0 <= row < len(self), f"{self.path} has no row {row}", DataError)
        begin, end = int(self._edges[row]), int(self._edges[row + 1])
        is_there = 0 <= begin <= end <= len(self._bytes)
        require(is_there, f"{self.path} is damaged: row {row} is not there", DataError)
        return self._bytes[begin:end].tobytes()

    def every(self) -> list[bytes]:
        """Return all rows."""
        content = self._bytes.tobytes()
        edges = self._edges.tolist()
        is_sound = edges[0] >= 0 and edges[-1] <= len(content) and bool((np.diff(self._edges) >= 0).all())
        require(is_sound, f"{self.path} is damaged: its rows are not where {self.path.stem}.npy says", DataError)
        return [content[begin:end] for begin, end in itertools.pairwise(edges)]
