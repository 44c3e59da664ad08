"""Build a cache of prepared images: chunk by chunk, each marked when it is safely on disk."""

import hashlib
import io
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

import numpy as np
from PIL import Image

from fairground.errors import DataError, StoreError, require
from fairground.files import shown, write_atomically
from fairground.loading.threads import for_each

Tell = Callable[[int, int], None]
#: about this many bytes of pixels are prepared in memory before they are written and marked as done
_CHUNK_BYTES = 1 << 26


class Pictures(Protocol):
    """What can be prepared: image files that know their names."""

    paths: tuple[Path, ...]
    draft: bool

    def __len__(self) -> int: ...

    def sizes(self, rows: np.ndarray, *, shorter_side: int | None = None) -> np.ndarray:
        """Return height and width (k, 2) of the images of `rows`."""

    def resized(self, row: int, shorter_side: int) -> Image.Image:
        """Return the image of a row with its shorter side resized."""

    def fingerprint(self) -> str:
        """Return a hash over the files."""


def build(folder: Path, source: Pictures, side: int, tell: Tell | None, index: Mapping[str, str | int]) -> None:
    """Prepare all images beside `folder`, taking up an interrupted build, and put the result in its place."""
    part = folder.with_suffix(".part")
    sizes = source.sizes(np.arange(len(source)), shorter_side=side)
    lengths = sizes.prod(axis=1) * 3
    begins = np.cumsum(lengths) - lengths
    done, hashes = _begin(part, sizes, file_times(source.paths), int(lengths.sum()))
    with (part / "pixels.bin").open("r+b") as file:
        for rows in _chunks(np.flatnonzero(~done), lengths):
            if tell is not None:
                tell(int(done.sum()), len(done))
            for row, (digest, pixels) in zip(rows, _prepare(source, rows, side, sizes), strict=True):
                hashes[row] = digest
                file.seek(int(begins[row]))
                file.write(pixels)
            file.flush()
            os.fsync(file.fileno())
            # The mark comes after the bytes, so that an interrupted build never believes in what is not there.
            done[rows] = True
            save(part / "hashes.npy", hashes)
            save(part / "done.npy", done)
    if tell is not None:
        tell(len(done), len(done))
    write_atomically(part / "index.json", json.dumps({**index, "n": len(done), "side": side}).encode())
    shutil.rmtree(folder, ignore_errors=True)
    part.replace(folder)


def file_times(paths: Sequence[Path]) -> np.ndarray:
    """Return when each file was last changed, in nanoseconds; -1 for one that is not there."""
    times = np.full(len(paths), -1, np.int64)
    for number, path in enumerate(paths):
        with suppress(OSError):
            times[number] = path.stat().st_mtime_ns
    return times


def file_hash(path: Path) -> np.ndarray:
    """Return a hash (16,) of all bytes of a file."""
    try:
        return np.frombuffer(hashlib.blake2b(path.read_bytes(), digest_size=16).digest(), np.uint8)
    except OSError as error:
        raise DataError(f"image {shown(path)} cannot be read: {error.strerror}") from error


def save(path: Path, array: np.ndarray) -> None:
    """Write an array as `.npy`, atomically."""
    content = io.BytesIO()
    np.save(content, array, allow_pickle=False)
    write_atomically(path, content.getvalue())


def _begin(part: Path, sizes: np.ndarray, times: np.ndarray, n_bytes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return which images are done and the hashes of their files, from an interrupted build or for a fresh start."""
    with suppress(OSError, ValueError, EOFError):
        names = ("times", "sizes", "done", "hashes")
        noted = [np.load(part / f"{name}.npy", allow_pickle=False) for name in names]
        is_same = np.array_equal(noted[0], times) and np.array_equal(noted[1], sizes)
        if is_same and (part / "pixels.bin").stat().st_size == n_bytes:
            return noted[2], noted[3]
    shutil.rmtree(part, ignore_errors=True)
    free = shutil.disk_usage(part.parent).free
    require(
        n_bytes < free,
        f"the prepared images need {n_bytes / 1e9:.1f} GB in {part.parent}, where {free / 1e9:.1f} GB are free; "
        "set FAIRGROUND_CACHE to a folder on another disk, or say data.prepared=0",
        StoreError,
    )
    done, hashes = np.zeros(len(sizes), bool), np.zeros((len(sizes), 16), np.uint8)
    part.mkdir()
    with (part / "pixels.bin").open("wb") as file:
        file.truncate(n_bytes)
    for name, array in (("times", times), ("sizes", sizes), ("done", done), ("hashes", hashes)):
        save(part / f"{name}.npy", array)
    return done, hashes


def _chunks(rows: np.ndarray, lengths: np.ndarray) -> Iterator[np.ndarray]:
    numbers = np.cumsum(lengths[rows]) // _CHUNK_BYTES
    yield from (chunk for chunk in np.split(rows, np.flatnonzero(np.diff(numbers)) + 1) if len(chunk))


def _prepare(source: Pictures, rows: np.ndarray, side: int, sizes: np.ndarray) -> list[tuple[np.ndarray, bytes]]:
    return for_each(lambda row: _one(source, row, side, sizes), rows.tolist())


def _one(source: Pictures, row: int, side: int, sizes: np.ndarray) -> tuple[np.ndarray, bytes]:
    """Return the hash of an image's file and its prepared pixels."""
    digest = file_hash(source.paths[row])
    picture = source.resized(row, side)
    require(
        (picture.height, picture.width) == tuple(sizes[row]),
        f"image {shown(source.paths[row])} changed while it was being prepared; start again",
        DataError,
    )
    return digest, picture.tobytes()
