"""All images of a data set with one shorter side, ready in a memory-mapped file: epochs without decoding.

Exact for whatever asks for that very shorter side, as the evaluation of both papers and all of MLRC's pipeline do: the
same pixels as decoding the files each time. An approximation for crops of the full-size original, which come from the
resized image instead, and for a smaller shorter side, which is resized a second time. A larger one is refused.
"""

import threading
from collections.abc import Callable

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from fairground.contracts.table import Images
from fairground.errors import require
from fairground.loading.prepared_build import Pictures
from fairground.loading.prepared_cache import Cache, cache_root, open_cache
from fairground.loading.resizing import cut, require_one_size, resize_shorter_side, resized_sizes
from fairground.loading.threads import for_each


class PreparedImages(Images):
    """Serves `source` from its cache, which is opened, or built, when the first image is asked for or by `prepare`."""

    is_slow = True

    def __init__(self, source: Pictures, *, side: int) -> None:
        require(16 <= side <= 4096, f"prepared must be a shorter side in [16, 4096] pixels, or 0; got {side}")
        self.source, self.side = source, side
        self._cache: Cache | None = None
        self._is_new = False
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self.source)

    @property
    def channels(self) -> int:
        """Every image is brought to RGB."""
        return 3

    def prepare(self, tell: Callable[[int, int], None] | None = None) -> None:
        """Open the cache; build it first where it is missing or its files have changed, telling (done, total)."""

        def heard(done: int, total: int) -> None:
            self._is_new = True
            if tell is not None:
                tell(done, total)

        with self._lock:
            if self._cache is None:
                self._cache = open_cache(self.source, self.side, heard)

    def cache_sentence(self) -> str:
        """Say where the prepared images lie and how large they are, where they were prepared just now."""
        if not self._is_new or self._cache is None:
            return ""
        return (
            f"prepared images are kept in {cache_root()} ({len(self._cache.flat) / 1e6:,.0f} MB); `fairground data "
            "caches` lists and removes them"
        )

    def require_side(self, shorter_side: int) -> None:
        """Refuse a shorter side above the one that was prepared."""
        require(
            shorter_side <= self.side,
            f"images are prepared with a shorter side of {self.side}, but {shorter_side} is asked for; "
            f"say data.prepared={shorter_side}, or 0 to decode the files each time",
        )

    def take(self, rows: np.ndarray) -> Tensor:
        """Return the whole images (k, 3, h, w) of `rows`; refused where they differ in size."""
        require_one_size(self.sizes(rows))
        found = np.stack([self._ready().pixels(int(row)) for row in rows])
        return torch.from_numpy(found).permute(0, 3, 1, 2)

    def sizes(self, rows: np.ndarray, *, shorter_side: int | None = None) -> np.ndarray:
        """Return height and width (k, 2) of the prepared images of `rows`."""
        if shorter_side is not None:
            self.require_side(shorter_side)
        sizes: np.ndarray = self._ready().sizes[np.asarray(rows)].astype(np.int64)
        return resized_sizes(sizes, None if shorter_side == self.side else shorter_side)

    def crops(self, rows: np.ndarray, boxes: np.ndarray, side: int, *, shorter_side: int | None = None) -> Tensor:
        """Return one box (k, 4) of each prepared image, resized to a square: uint8 (k, 3, side, side)."""
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
        """Return the fingerprint of the files: the same data, however they are read."""
        return self.source.fingerprint()

    def _ready(self) -> Cache:
        if self._cache is None:
            self.prepare()
        assert self._cache is not None
        return self._cache
