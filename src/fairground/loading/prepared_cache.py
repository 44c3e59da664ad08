"""The prepared images on disk: built beside their place, resumed when interrupted, renamed when complete.

A folder `<key>` holds `pixels.bin` (all images one after another, rows of RGB), `sizes.npy`, `times.npy`, `hashes.npy`
(of the whole source files), `index.json` and `used`. The key is a hash of the source's fingerprint and of how it was
prepared. When a file's time of change differs from the one noted, the whole file is hashed: copied files are taken,
changed ones cause a new build. One process builds while others wait, and a killed build is taken up where it stopped.
"""

import hashlib
import json
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from fairground.errors import DataError, StoreError, require
from fairground.loading.prepared_build import Pictures, Tell, build, file_hash, file_times, save
from fairground.loading.threads import for_each
from fairground.records.lock import held

#: prepared images, and outputs of the stages of a trunk that do not train
CacheKind = Literal["prepared", "stages"]
#: goes up whenever preparing would give other pixels, so that old caches are not taken for new ones
_VERSION = 1
#: an empty file whose time of change is when the cache was last opened
USED = "used"


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


def cache_root(kind: CacheKind = "prepared") -> Path:
    """Return where caches of a kind live: below $FAIRGROUND_CACHE, or below ~/.cache/fairground."""
    said = os.environ.get("FAIRGROUND_CACHE")
    base = Path(said).expanduser() if said else Path.home() / ".cache" / "fairground"
    return base / kind


def open_cache(source: Pictures, side: int, tell: Tell | None = None) -> Cache:
    """Return the cache of a source, building it where it is missing, damaged or out of date."""
    fingerprint = source.fingerprint()
    words = json.dumps([_VERSION, fingerprint, side, source.draft])
    folder = cache_root() / hashlib.sha256(words.encode()).hexdigest()[:32]
    found = _read(folder, source)
    if found is not None:
        return found
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with held(folder.with_suffix(".lock"), "the cache", patience=-1):
            # Another process may have built it while this one waited.
            found = _read(folder, source)
            if found is None:
                noted: dict[str, str | int] = {
                    "version": _VERSION,
                    "fingerprint": fingerprint,
                    "source": _place(source),
                }
                build(folder, source, side, tell, noted)
                found = _read(folder, source)
    except OSError as error:
        raise StoreError(
            f"cannot prepare images in {folder.parent}: {error.strerror or error}; "
            "set FAIRGROUND_CACHE to a folder on a local disk, or say data.prepared=0"
        ) from error
    require(found is not None, f"images changed while they were being prepared in {folder}; start again", DataError)
    assert found is not None
    return found


def _read(folder: Path, source: Pictures) -> Cache | None:
    """Return the cache in a folder if it is complete and its source unchanged."""
    try:
        index = json.loads((folder / "index.json").read_text(encoding="utf-8"))
        sizes = np.load(folder / "sizes.npy", allow_pickle=False)
        lengths = sizes.astype(np.int64).prod(axis=1) * 3
        flat = np.memmap(folder / "pixels.bin", np.uint8, "r")
        is_complete = index["n"] == len(source) == len(sizes) and len(flat) == int(lengths.sum())
        if not is_complete or not _is_current(folder, source):
            return None
    except (OSError, ValueError, KeyError, TypeError, IndexError):
        return None
    # A cache that cannot be written to is as good as any.
    with suppress(OSError):
        (folder / USED).touch()
    return Cache(flat=flat.view(np.ndarray), begins=np.cumsum(lengths) - lengths, sizes=sizes)


def _place(source: Pictures) -> str:
    """Return the folder that all images lie below, for whoever tidies up; empty where they share none."""
    with suppress(ValueError):
        return os.path.commonpath([path.parent.absolute() for path in source.paths])
    return ""


def _is_current(folder: Path, source: Pictures) -> bool:
    """Tell whether the files are those that were prepared; where only times differ, ask their bytes."""
    noted = np.load(folder / "times.npy", allow_pickle=False)
    times = file_times(source.paths)
    if len(noted) != len(times):
        return False
    touched = np.flatnonzero(noted != times)
    if len(touched) == 0:
        return True
    hashes = np.load(folder / "hashes.npy", allow_pickle=False)
    now = for_each(lambda row: file_hash(source.paths[row]), touched.tolist())
    if not np.array_equal(np.stack(now), hashes[touched]):
        return False
    # Noted for the next time, where the folder may be written to.
    with suppress(OSError):
        save(folder / "times.npy", times)
    return True
