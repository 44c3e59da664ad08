"""Rows of numbers computed once and kept on disk: filled in any order, taken up wherever it was left.

A folder `<key>` holds `values.npy` (n, ...) and `state.npy` (n,): 0 to do, 1 done, 2 cannot be read.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from fairground.errors import StoreError
from fairground.loading.prepared_cache import cache_root

TO_DO, DONE, UNREADABLE = 0, 1, 2


class ArrayCache:
    """`n` rows of `shape`; `key` says what they are made from, and another key is another folder."""

    def __init__(self, key: list[Any], *, n: int, shape: tuple[int, ...], dtype: str = "float32") -> None:
        words = json.dumps([1, key, n, shape, dtype], default=str)
        self.folder = cache_root().parent / "features" / hashlib.sha256(words.encode()).hexdigest()[:32]
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self.state = _mapped(self.folder / "state.npy", (n,), "uint8")
            self.values = _mapped(self.folder / "values.npy", (n, *shape), dtype)
        except OSError as error:
            raise StoreError(
                f"cannot keep features in {self.folder}: {error.strerror or error}; set FAIRGROUND_CACHE to a folder "
                "on a local disk with room"
            ) from error

    def missing(self, rows: np.ndarray) -> np.ndarray:
        """Return those of the rows that are still to do, in their order."""
        found: np.ndarray = rows[self.state[rows] == TO_DO]
        return found

    def readable(self, rows: np.ndarray) -> np.ndarray:
        """Return those of the rows that are there."""
        found: np.ndarray = rows[self.state[rows] == DONE]
        return found

    def write(self, rows: np.ndarray, values: np.ndarray) -> None:
        """Keep some rows; they are marked only after they are written."""
        self.values[rows] = values
        self.state[rows] = DONE

    def refuse(self, row: int) -> None:
        """Note that a row cannot be read."""
        self.state[row] = UNREADABLE

    def flush(self) -> None:
        """Bring what was written to the disk."""
        self.values.flush()
        self.state.flush()

    @property
    def n_bytes(self) -> int:
        """What the rows that are there take."""
        per_row = int(np.prod(self.values.shape[1:])) * self.values.itemsize
        return int((self.state == DONE).sum()) * per_row


def _mapped(path: Path, shape: tuple[int, ...], dtype: str) -> np.memmap:
    """Return a file's array, made anew where it is missing, damaged or of another shape."""
    if path.is_file():
        try:
            found = np.lib.format.open_memmap(path, mode="r+")
            if found.shape == shape and found.dtype == np.dtype(dtype):
                return found
        except (OSError, ValueError):
            pass
        # Whatever the other file marks as done is gone with this one.
        (path.parent / "state.npy").unlink(missing_ok=True)
    return np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=shape)
