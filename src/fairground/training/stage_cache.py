"""Outputs of frozen stages on disk, by view and row: memory-mapped, filled by many processes at once.

A folder `<key>` has `index.json` and, for each view, `<view>.bin` (the numbers of each row of the data set, channels
last; sparse until filled) and `<view>.sums` (a checksum per row; 0 missing, 1 the image cannot be read). A row counts
once its checksum matches, so a process killed at any moment leaves nothing wrong behind, and a damaged row is computed
again. Work is divided into chunks of rows; the process that has a chunk's lock computes it.

A float16 has 11 significant bits: what is kept differs from what was computed by at most 1 part in 2048, or by 3e-8
where numbers are that small.
"""

import json
import math
import shutil
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from fairground.errors import StoreError, require
from fairground.files import write_atomically
from fairground.loading.resized_images import USED
from fairground.records.lock import LockedError, held

#: the largest relative error of a kept number, and the largest absolute one of those near zero
RELATIVE_ERROR, ABSOLUTE_ERROR = 2.0**-11, 2.0**-25
MISSING, UNREADABLE = 0, 1
#: rows that one process computes under one lock
CHUNK = 128


class _View(NamedTuple):
    numbers: np.ndarray
    sums: np.ndarray
    is_checked: np.ndarray


@dataclass
class StageCache:
    """`shape` is what the frozen stages make of one image: (c, h, w), or (d,) for features; `numbers` their type."""

    folder: Path
    n_rows: int
    shape: tuple[int, ...]
    numbers: Literal["float16", "float32"] = "float16"
    #: what the index says besides, for lists of caches
    about: dict[str, str | int] = field(default_factory=dict)
    _views: dict[str, _View] = field(default_factory=dict)

    @property
    def row_bytes(self) -> int:
        return np.dtype(self.numbers).itemsize * math.prod(self.shape)

    def missing(self, view: str, rows: np.ndarray) -> np.ndarray:
        """Return those of `rows` whose outputs are not kept, or damaged; each is checked once per process."""
        found = self._open(view)
        for row in rows[(found.sums[rows] > UNREADABLE) & ~found.is_checked[rows]]:
            found.is_checked[row] = found.sums[row] == _checksum(found.numbers[row].tobytes())
        left: np.ndarray = rows[(found.sums[rows] != UNREADABLE) & ~found.is_checked[rows]]
        return left

    def readable(self, view: str, rows: np.ndarray) -> np.ndarray:
        """Return those of `rows` whose outputs are kept."""
        found: np.ndarray = rows[self._open(view).sums[rows] > UNREADABLE]
        return found

    def read(self, view: str, rows: np.ndarray) -> np.ndarray:
        """Return what is kept of `rows` as (k, h, w, c), or (k, d)."""
        return np.asarray(self._open(view).numbers[rows])

    def laid_out(self, blocks: np.ndarray, device: torch.device | None) -> Tensor:
        """Return blocks as the trunk wants them: floats (k, c, h, w), or (k, d)."""
        numbers = torch.from_numpy(blocks).to(device).float()
        return numbers.permute(0, 3, 1, 2) if numbers.ndim == 4 else numbers

    def write(self, view: str, rows: np.ndarray, outputs: Tensor) -> None:
        """Keep the outputs of some rows."""
        shape = tuple(outputs.shape[1:])
        require(
            shape == self.shape,
            f"the frozen stages give {shape} for training images but {self.shape} for evaluation, and a cache has one "
            "shape; let the transform make one size of both, or say training.views=0",
        )
        kept = outputs.to(getattr(torch, self.numbers))
        require(
            bool(torch.isfinite(kept).all()),
            f"the frozen stages give numbers that {self.numbers} cannot represent; say training.views=0",
        )
        blocks = (kept.permute(0, 2, 3, 1) if kept.ndim == 4 else kept).contiguous().cpu().numpy()
        data = [block.tobytes() for block in blocks]
        self._write(f"{view}.bin", rows, data)
        self._write(f"{view}.sums", rows, [np.uint64(_checksum(block)).tobytes() for block in data])

    def refuse(self, view: str, row: int) -> None:
        """Mark a row whose image cannot be read."""
        self._write(f"{view}.sums", np.array([row]), [np.uint64(UNREADABLE).tobytes()])

    @contextmanager
    def lock(self, view: str, chunk: int) -> Iterator[bool]:
        """Try to lock a chunk of a view; yield whether this process has the lock."""
        try:
            with held(self.folder / "locks" / f"{view}-{chunk:06d}.lock", "a chunk of the cache"):
                yield True
        except LockedError:
            yield False

    def open(self) -> None:
        """Make the folder where it is missing, and note that it was used."""
        with self._writing():
            (self.folder / "locks").mkdir(parents=True, exist_ok=True)
            if not (self.folder / "index.json").exists():
                index = {**self.about, "n": self.n_rows, "shape": list(self.shape)}
                write_atomically(self.folder / "index.json", json.dumps(index).encode())
            with suppress(OSError):
                (self.folder / USED).touch()

    def require_space(self, n_missing: int) -> None:
        """Refuse what the disk cannot hold before anything is computed."""
        needed, free = n_missing * self.row_bytes, shutil.disk_usage(self.folder).free
        require(
            needed < free,
            f"the outputs of the frozen stages need {needed / 1e9:.1f} GB in {self.folder}, where {free / 1e9:.1f} GB "
            "are free; set FAIRGROUND_CACHE to a folder on another disk, lower training.views, or say training.views=0",
            StoreError,
        )

    def _open(self, view: str) -> _View:
        """Return the mapped files of a view; those of a cache that was removed meanwhile are made again."""
        files = {f"{view}.bin": self.n_rows * self.row_bytes, f"{view}.sums": 8 * self.n_rows}
        if view not in self._views or not (self.folder / f"{view}.sums").exists():
            self.open()
            with self._writing():
                for name, n_bytes in files.items():
                    with (self.folder / name).open("ab") as file:
                        file.truncate(n_bytes)
                shape = (self.n_rows, *self.shape[1:], self.shape[0])
                numbers = np.memmap(self.folder / f"{view}.bin", self.numbers, "r", shape=shape)
                sums = np.memmap(self.folder / f"{view}.sums", np.uint64, "r", shape=(self.n_rows,))
            is_checked = np.zeros(self.n_rows, bool)
            self._views[view] = _View(numbers.view(np.ndarray), sums.view(np.ndarray), is_checked)
        return self._views[view]

    def _write(self, name: str, rows: np.ndarray, blocks: list[bytes]) -> None:
        with self._writing(), (self.folder / name).open("r+b") as file:
            for row, block in zip(rows.tolist(), blocks, strict=True):
                file.seek(row * len(block))
                file.write(block)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StoreError(
                f"cannot keep the outputs of the frozen stages in {self.folder}: {error.strerror or error}; set "
                "FAIRGROUND_CACHE to a folder on a local disk, or say training.views=0"
            ) from error


def saved_shape(folder: Path) -> tuple[int, ...] | None:
    """Return the shape that a cache was made with; None where there is no cache."""
    try:
        shape = json.loads((folder / "index.json").read_text(encoding="utf-8"))["shape"]
        return tuple(int(side) for side in shape)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _checksum(block: bytes) -> int:
    return zlib.crc32(block) + 2
