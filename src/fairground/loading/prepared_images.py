"""Images decoded and resized once (`data.prepared`), kept on disk, and given out as a data set.

A folder `<key>` has the pixels of all images (see `CachedRows`) and, once all are there, `index.json` with their sizes.
"""

import hashlib
import json
import threading
from collections.abc import Callable
from contextlib import nullcontext

import numpy as np
import PIL

from fairground.errors import DamageWarning, DataError, require
from fairground.files import held, shown, write_with_digest
from fairground.loading import Box, CachedRows, ImageFiles, Photographs, cache_writing, for_each, resized_sizes
from fairground.loading.caches import INDEX, cache_root, read_index, touch

Tell = Callable[[int, int], None]
#: about this many bytes of pixels are prepared in memory before they are written
_CHUNK_BYTES = 1 << 26
#: goes up whenever preparing would give other pixels, so that old caches are not taken for new ones
_VERSION = 2
_REMEDY = "say data.prepared=0"


class PreparedImages(Photographs):
    """Serves `source` from its cache, which is opened, or built, when the first image is asked for or by `prepare`."""

    def __init__(self, source: ImageFiles, *, side: int) -> None:
        self.source, self.side = source, side
        self._rows: CachedRows | None = None
        self._sizes = np.empty((0, 2), np.int64)
        self._is_new = False
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self.source)

    def prepare(self, tell: Tell | None = None) -> None:
        """Open the cache and prepare what is missing in it, telling (done, total)."""
        with self._lock:
            if self._rows is None:
                self._rows = self._opened(tell or (lambda _done, _of: None))

    def cache_sentence(self) -> str:
        """Say where the prepared images are and how large, if they were prepared just now."""
        if not self._is_new or self._rows is None:
            return ""
        size = f"{len(self._rows.data) / 1e6:,.0f} MB"
        return f"prepared images are kept in {cache_root()} ({size}); `fairground data caches` lists them"

    def _opened(self, tell: Tell) -> CachedRows:
        fingerprint = self.source.fingerprint()
        key = json.dumps([_VERSION, PIL.__version__, fingerprint, self.side, self.source.draft])
        folder = cache_root() / hashlib.sha256(key.encode()).hexdigest()[:32]
        index = read_index(folder)
        with cache_writing(folder, _REMEDY):
            folder.mkdir(parents=True, exist_ok=True)
            # A process that comes while another prepares the images waits here.
            with nullcontext() if index else held(folder.with_suffix(".lock"), "the cache", patience=-1):
                known = index.get("sizes") or self.source.sizes(np.arange(len(self)), shorter_side=self.side)
                self._sizes = np.array(known, np.int64)
                rows = CachedRows(folder, "pixels", self._sizes.prod(axis=1) * 3, _REMEDY)
                empty = rows.empty()
                if len(empty) and index:
                    DamageWarning.warn(f"{len(empty)} images are missing in {folder}: prepared again")
                if len(empty):
                    self._fill(rows, empty, tell)
                if not index:
                    source = str(self.source.root.absolute())
                    about = {"source": source, "n": len(self), "side": self.side, "sizes": self._sizes.tolist()}
                    write_with_digest(folder / INDEX, about)
        touch(folder)
        return rows

    def _fill(self, rows: CachedRows, left: np.ndarray, tell: Tell) -> None:
        self._is_new = True
        rows.require_space(int(rows.lengths[left].sum()))
        done = len(self) - len(left)
        numbers = np.cumsum(rows.lengths[left]) // _CHUNK_BYTES
        for chunk in np.split(left, np.flatnonzero(np.diff(numbers)) + 1):
            tell(done, len(self))
            rows.write(chunk.tolist(), for_each(self._pixels_of, chunk.tolist()))
            done += len(chunk)
        tell(done, len(self))

    def _pixels_of(self, row: int) -> bytes:
        picture = self.source.resized(row, self.side)
        refusal = f"image {shown(self.source.paths[row])} changed while it was being prepared; start again"
        require((picture.height, picture.width) == tuple(self._sizes[row]), refusal, DataError)
        return picture.tobytes()

    def pixels(self, row: int) -> np.ndarray:
        """Return the pixels (h, w, 3) of an image, prepared again where they are damaged."""
        self.prepare()
        assert self._rows is not None
        if len(self._rows.missing(np.array([row]))):
            self._rows.write([row], [self._pixels_of(row)])
        return self._rows.read(row).reshape(*self._sizes[row], 3)

    def require_side(self, shorter_side: int) -> None:
        told = f"images are prepared with a shorter side of {self.side}, but {shorter_side} is asked for"
        advice = f"say data.prepared={shorter_side}, or 0 to decode the files each time"
        require(shorter_side <= self.side, f"{told}; {advice}")

    def sizes(self, rows: np.ndarray, *, shorter_side: int | None = None) -> np.ndarray:
        if shorter_side is not None:
            self.require_side(shorter_side)
        self.prepare()
        return resized_sizes(self._sizes[np.asarray(rows)], None if shorter_side == self.side else shorter_side)

    def piece(self, row: int, box: np.ndarray, side: int, shorter_side: int | None) -> tuple[np.ndarray, Box]:
        self.require_side(shorter_side or 0)
        return super().piece(row, box, side, None if shorter_side == self.side else shorter_side)

    def fingerprint(self) -> str:
        return self.source.fingerprint()
