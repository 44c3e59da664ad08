"""The cache of images decoded and resized once (`data.prepared`): building it, validity, and its rows as a data set."""

import hashlib
import io
import json
import os
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from PIL import Image

from fairground.contracts.dataset import Images
from fairground.errors import DataError, StoreError, require
from fairground.files import held, shown, write_atomically
from fairground.loading import USED, cache_root, cut, for_each, require_one_size, resize_shorter_side, resized_sizes

if TYPE_CHECKING:
    from fairground.loading.image_dataset import ImageFiles

Tell = Callable[[int, int], None]
#: about this many bytes of pixels are prepared in memory before they are written and marked as done
_CHUNK_BYTES = 1 << 26


def build(folder: Path, source: "ImageFiles", side: int, tell: Tell | None, index: Mapping[str, object]) -> None:
    """Prepare all images beside `folder`, continuing an interrupted build, and put the result in its place."""
    part = folder.with_suffix(".part")
    sizes = source.sizes(np.arange(len(source)), shorter_side=side)
    lengths = sizes.prod(axis=1) * 3
    begins = np.cumsum(lengths) - lengths
    done = _begin(part, sizes, int(lengths.sum()))
    with (part / "pixels.bin").open("r+b") as file:
        for rows in _chunks(np.flatnonzero(~done), lengths):
            if tell is not None:
                tell(int(done.sum()), len(done))
            found = for_each(lambda row: source.resized(row, side), rows.tolist())
            for row, picture in zip(rows, found, strict=True):
                refusal = f"image {shown(source.paths[row])} changed while it was being prepared; start again"
                require((picture.height, picture.width) == tuple(sizes[row]), refusal, DataError)
                file.seek(int(begins[row]))
                file.write(picture.tobytes())
            file.flush()
            os.fsync(file.fileno())
            # The mark comes after the bytes, so that an interrupted build never believes in what is not there.
            done[rows] = True
            _save(part / "done.npy", done)
    if tell is not None:
        tell(len(done), len(done))
    write_atomically(part / "index.json", json.dumps({**index, "n": len(done), "side": side}).encode())
    shutil.rmtree(folder, ignore_errors=True)
    part.replace(folder)


def _save(path: Path, array: np.ndarray) -> None:
    content = io.BytesIO()
    np.save(content, array, allow_pickle=False)
    write_atomically(path, content.getvalue())


def _begin(part: Path, sizes: np.ndarray, n_bytes: int) -> np.ndarray:
    """Return which images are done, from an interrupted build or for a fresh start."""
    with suppress(OSError, ValueError, EOFError):
        noted, done = (np.load(part / f"{name}.npy", allow_pickle=False) for name in ("sizes", "done"))
        if np.array_equal(noted, sizes) and (part / "pixels.bin").stat().st_size == n_bytes:
            return np.asarray(done)
    shutil.rmtree(part, ignore_errors=True)
    free = shutil.disk_usage(part.parent).free
    require(
        n_bytes < free,
        f"the prepared images need {n_bytes / 1e9:.1f} GB in {part.parent}, where {free / 1e9:.1f} GB are free; "
        "set FAIRGROUND_CACHE to a folder on another disk, or say data.prepared=0",
        StoreError,
    )
    done = np.zeros(len(sizes), bool)
    part.mkdir()
    with (part / "pixels.bin").open("wb") as file:
        file.truncate(n_bytes)
    _save(part / "sizes.npy", sizes)
    _save(part / "done.npy", done)
    return done


def _chunks(rows: np.ndarray, lengths: np.ndarray) -> Iterator[np.ndarray]:
    numbers = np.cumsum(lengths[rows]) // _CHUNK_BYTES
    yield from (chunk for chunk in np.split(rows, np.flatnonzero(np.diff(numbers)) + 1) if len(chunk))


#: goes up whenever preparing would give other pixels, so that old caches are not taken for new ones
_VERSION = 1


@dataclass(frozen=True, kw_only=True)
class Cache:
    """The mapped pixels of all images and where each begins."""

    flat: np.ndarray
    begins: np.ndarray
    sizes: np.ndarray

    def pixels(self, row: int) -> np.ndarray:
        """Return the pixels (h, w, 3) of an image, read from disk only as they are touched."""
        height, width = self.sizes[row]
        begin = self.begins[row]
        return self.flat[begin : begin + height * width * 3].reshape(height, width, 3)


def open_cache(source: "ImageFiles", side: int, tell: Tell | None = None) -> Cache:
    """Return the cache of a source, building it where it is missing, damaged or out of date."""
    fingerprint = source.fingerprint()
    # With their times of change: the fingerprint does not see the middle of a file.
    times = [path.stat().st_mtime_ns for path in source.paths]
    key = json.dumps([_VERSION, fingerprint, side, source.draft, times])
    folder = cache_root() / hashlib.sha256(key.encode()).hexdigest()[:32]
    found = _read(folder, len(source))
    if found is not None:
        return found
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with held(folder.with_suffix(".lock"), "the cache", patience=-1):
            # Another process may have built it while this one waited.
            found = _read(folder, len(source))
            if found is None:
                noted = {"version": _VERSION, "fingerprint": fingerprint, "source": str(source.root.absolute())}
                build(folder, source, side, tell, noted)
                found = _read(folder, len(source))
    except OSError as error:
        raise StoreError(
            f"cannot prepare images in {folder.parent}: {error.strerror or error}; "
            "set FAIRGROUND_CACHE to a folder on a local disk, or say data.prepared=0"
        ) from error
    assert found is not None
    return found


def _read(folder: Path, n: int) -> Cache | None:
    """Return the cache in a folder if it is complete."""
    try:
        index = json.loads((folder / "index.json").read_text(encoding="utf-8"))
        sizes = np.load(folder / "sizes.npy", allow_pickle=False)
        lengths = sizes.astype(np.int64).prod(axis=1) * 3
        flat = np.memmap(folder / "pixels.bin", np.uint8, "r")
        if not (index["n"] == n == len(sizes) and len(flat) == int(lengths.sum())):
            return None
    except (OSError, ValueError, KeyError, TypeError, IndexError):
        return None
    # A cache that cannot be written to is as good as any.
    with suppress(OSError):
        (folder / USED).touch()
    return Cache(flat=flat.view(np.ndarray), begins=np.cumsum(lengths) - lengths, sizes=sizes)


class PreparedImages(Images):
    """Serves `source` from its cache, which is opened, or built, when the first image is asked for or by `prepare`."""

    is_slow = True

    def __init__(self, source: "ImageFiles", *, side: int) -> None:
        self.source, self.side = source, side
        self._cache: Cache | None = None
        self._is_new = False
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self.source)

    @property
    def channels(self) -> int:
        return 3

    def prepare(self, tell: Tell | None = None) -> None:
        """Open the cache; build it first where it is missing or its files have changed, telling (done, total)."""

        def heard(done: int, total: int) -> None:
            self._is_new = True
            if tell is not None:
                tell(done, total)

        with self._lock:
            if self._cache is None:
                self._cache = open_cache(self.source, self.side, heard)

    def cache_sentence(self) -> str:
        """Say where the prepared images are and how large, if they were prepared just now."""
        if not self._is_new or self._cache is None:
            return ""
        return (
            f"prepared images are kept in {cache_root()} ({len(self._cache.flat) / 1e6:,.0f} MB); `fairground data "
            "caches` lists and removes them"
        )

    def require_side(self, shorter_side: int) -> None:
        require(
            shorter_side <= self.side,
            f"images are prepared with a shorter side of {self.side}, but {shorter_side} is asked for; "
            f"say data.prepared={shorter_side}, or 0 to decode the files each time",
        )

    def take(self, rows: np.ndarray) -> torch.Tensor:
        """Return the whole images (k, 3, h, w) of `rows`; refused where they differ in size."""
        require_one_size(self.sizes(rows))
        found = np.stack([self._ready().pixels(int(row)) for row in rows])
        return torch.from_numpy(found).permute(0, 3, 1, 2)

    def sizes(self, rows: np.ndarray, *, shorter_side: int | None = None) -> np.ndarray:
        if shorter_side is not None:
            self.require_side(shorter_side)
        sizes: np.ndarray = self._ready().sizes[np.asarray(rows)].astype(np.int64)
        return resized_sizes(sizes, None if shorter_side == self.side else shorter_side)

    def crops(self, rows: np.ndarray, boxes: np.ndarray, side: int, *, shorter_side: int | None = None) -> torch.Tensor:
        if shorter_side is not None:
            self.require_side(shorter_side)
        cache = self._ready()
        pixels = np.empty((len(rows), side, side, 3), np.uint8)
        is_as_prepared = shorter_side in {None, self.side}

        def one(number: int) -> None:
            found = cache.pixels(int(rows[number]))
            if not is_as_prepared:
                found = np.asarray(resize_shorter_side(Image.fromarray(found), shorter_side))
            cut(found, boxes[number], pixels[number])

        for_each(one, range(len(rows)))
        return torch.from_numpy(pixels).permute(0, 3, 1, 2)

    def fingerprint(self) -> str:
        return self.source.fingerprint()

    def _ready(self) -> Cache:
        self.prepare()
        assert self._cache is not None
        return self._cache
