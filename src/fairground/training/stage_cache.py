"""Outputs of frozen stages on disk, by view and row: memory-mapped, filled by many processes at once.

A folder `<key>` holds `index.json` and, for each view, `<view>.bin` (one block of numbers per row of the data set,
channels last; sparse until filled) and `<view>.done` (one byte per row: 0 missing, 1 kept, 2 the image cannot be
read). A row is marked after its numbers are safely on disk, so that a process killed at any moment leaves nothing wrong
behind. Work is divided into chunks of rows, and the process that holds a chunk's lock computes it; its death releases
the lock.

A float16 has 11 significant bits: what is kept differs from what was computed by at most 1 part in 2048, or by 3e-8
where numbers are that small.
"""

import json
import math
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from fairground.errors import InputError, StoreError, require
from fairground.files import write_atomically
from fairground.loading.prepared_cache import USED
from fairground.records.lock import LockedError, held

#: the largest relative error of a kept number, and the largest absolute one of those near zero
RELATIVE_ERROR, ABSOLUTE_ERROR = 2.0**-11, 2.0**-25
KEPT, UNREADABLE = 1, 2
#: rows that one process computes under one lock
CHUNK = 128


@dataclass
class StageCache:
    """`shape` is what the frozen stages make of one image: (c, h, w), or (d,) for features; `numbers` their type."""

    folder: Path
    n_rows: int
    shape: tuple[int, ...]
    numbers: Literal["float16", "float32"] = "float16"
    #: what the index says besides, for whoever tidies up
    about: dict[str, str | int] = field(default_factory=dict)
    _maps: dict[str, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)

    @property
    def row_bytes(self) -> int:
        """How many bytes one view of one image takes."""
        return np.dtype(self.numbers).itemsize * math.prod(self.shape)

    def missing(self, view: str, rows: np.ndarray) -> np.ndarray:
        """Return those of `rows` whose outputs are not kept yet."""
        left: np.ndarray = rows[self._mapped(view)[1][rows] == 0]
        return left

    def readable(self, view: str, rows: np.ndarray) -> np.ndarray:
        """Return those of `rows` whose outputs are kept."""
        found: np.ndarray = rows[self._mapped(view)[1][rows] == KEPT]
        return found

    @contextmanager
    def lock(self, view: str, chunk: int) -> Iterator[bool]:
        """Try to hold a chunk of a view while the block lasts; yield whether nobody else does."""
        try:
            with held(self.folder / "locks" / f"{view}-{chunk:06d}.lock", "a chunk of the cache"):
                yield True
        except LockedError:
            yield False

    def write(self, view: str, rows: np.ndarray, outputs: Tensor) -> None:
        """Keep the outputs of some rows, and only then mark them."""
        shape = tuple(outputs.shape[1:])
        require(
            shape == self.shape,
            f"the frozen stages give {shape} for training images but {self.shape} for evaluation, and a cache holds "
            "one shape; let the transform make one size of both, or say training.views=0",
        )
        kept = outputs.to(getattr(torch, self.numbers))
        require(
            bool(torch.isfinite(kept).all()),
            f"the frozen stages give numbers that {self.numbers} cannot hold; say training.views=0",
            InputError,
        )
        blocks = (kept.permute(0, 2, 3, 1) if kept.ndim == 4 else kept).contiguous().cpu().numpy()
        try:
            self._write(view, rows.tolist(), [block.tobytes() for block in blocks])
        except OSError as error:
            raise self._unusable(error) from error

    def refuse(self, view: str, row: int) -> None:
        """Mark a row whose image cannot be read."""
        with (self.folder / f"{view}.done").open("r+b") as file:
            file.seek(row)
            file.write(bytes([UNREADABLE]))

    def _write(self, view: str, rows: list[int], blocks: list[bytes]) -> None:
        with (self.folder / f"{view}.bin").open("r+b") as file:
            for row, block in zip(rows, blocks, strict=True):
                file.seek(row * self.row_bytes)
                file.write(block)
            file.flush()
            os.fsync(file.fileno())
        with (self.folder / f"{view}.done").open("r+b") as file:
            for row in rows:
                file.seek(row)
                file.write(b"\1")

    def read(self, view: str, rows: np.ndarray) -> np.ndarray:
        """Return what is kept of `rows` as (k, h, w, c), or (k, d)."""
        return np.asarray(self._mapped(view)[0][rows])

    def laid_out(self, blocks: np.ndarray, device: torch.device | None) -> Tensor:
        """Return blocks as the trunk wants them: floats (k, c, h, w), or (k, d)."""
        numbers = torch.from_numpy(blocks).to(device).float()
        return numbers.permute(0, 3, 1, 2) if numbers.ndim == 4 else numbers

    def open(self) -> None:
        """Make the folder where it is not there, and note that it was used."""
        try:
            (self.folder / "locks").mkdir(parents=True, exist_ok=True)
            if not (self.folder / "index.json").exists():
                index = {**self.about, "n": self.n_rows, "shape": list(self.shape)}
                write_atomically(self.folder / "index.json", json.dumps(index).encode())
            with suppress(OSError):
                (self.folder / USED).touch()
        except OSError as error:
            raise self._unusable(error) from error

    def require_space(self, n_missing: int) -> None:
        """Refuse before anything is computed what the disk cannot hold."""
        needed, free = n_missing * self.row_bytes, shutil.disk_usage(self.folder).free
        require(
            needed < free,
            f"the outputs of the frozen stages need {needed / 1e9:.1f} GB in {self.folder}, where {free / 1e9:.1f} GB "
            "are free; set FAIRGROUND_CACHE to a folder on another disk, lower training.views, or say training.views=0",
            StoreError,
        )

    def _mapped(self, view: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the numbers and the marks of a view, mapped; a cache that was removed meanwhile begins anew."""
        if view in self._maps and (self.folder / f"{view}.done").exists():
            return self._maps[view]
        self.open()
        files = ((f"{view}.bin", self.n_rows * self.row_bytes), (f"{view}.done", self.n_rows))
        try:
            for name, n_bytes in files:
                with (self.folder / name).open("ab") as file:
                    file.truncate(n_bytes)
            shape = (self.n_rows, *self.shape[1:], self.shape[0])
            numbers = np.memmap(self.folder / files[0][0], self.numbers, "r", shape=shape)
            marks = np.memmap(self.folder / files[1][0], np.uint8, "r", shape=(self.n_rows,))
        except OSError as error:
            raise self._unusable(error) from error
        self._maps[view] = (numbers.view(np.ndarray), marks.view(np.ndarray))
        return self._maps[view]

    def _unusable(self, error: OSError) -> StoreError:
        return StoreError(
            f"cannot keep the outputs of the frozen stages in {self.folder}: {error.strerror or error}; set "
            "FAIRGROUND_CACHE to a folder on a local disk, or say training.views=0"
        )


def saved_shape(folder: Path) -> tuple[int, ...] | None:
    """Return the shape that a cache was made with; none where there is no cache."""
    try:
        shape = json.loads((folder / "index.json").read_text(encoding="utf-8"))["shape"]
        return tuple(int(side) for side in shape)
    except (OSError, ValueError, KeyError, TypeError):
        return None
