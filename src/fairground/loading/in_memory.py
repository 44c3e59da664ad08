"""All images of a small data set in main memory."""

import hashlib

import numpy as np
import torch
from torch import Tensor

from fairground.contracts.table import Images
from fairground.errors import DataError, require
from fairground.loading.resizing import crop_batch, resized_size


class ImagesInMemory(Images):
    """All images of a small data set as one uint8 array (n, c, h, w); a batch is a single gather."""

    def __init__(self, pixels: np.ndarray) -> None:
        require(pixels.ndim == 4, f"images in memory are (n, channels, height, width); got {pixels.shape}", DataError)
        require(pixels.dtype == np.uint8, f"images in memory are uint8; got {pixels.dtype}", DataError)
        # torch refuses to share memory that numpy marks read-only, as arrays read from some files are.
        self._pixels = torch.from_numpy(np.require(pixels, requirements=["C", "W"]))

    def __len__(self) -> int:
        return len(self._pixels)

    def take(self, rows: np.ndarray | Tensor) -> Tensor:
        """Return the images of `rows`, in that order, as a new tensor (k, c, h, w)."""
        return self._pixels.index_select(0, torch.as_tensor(rows, dtype=torch.int64))

    @property
    def channels(self) -> int:
        """The number of channels of every image."""
        return self._pixels.shape[1]

    def sizes(self, rows: np.ndarray, *, shorter_side: int | None = None) -> np.ndarray:
        """Return height and width (k, 2), the same for every image."""
        size = (self._pixels.shape[2], self._pixels.shape[3])
        return np.tile(np.array(resized_size(size, shorter_side)), (len(rows), 1))

    def crops(self, rows: np.ndarray, boxes: np.ndarray, side: int, *, shorter_side: int | None = None) -> Tensor:
        """Return one box of each image, resized to a square: uint8 (k, c, side, side)."""
        return crop_batch([self._pixels[row].numpy() for row in rows], boxes, side, shorter_side=shorter_side)

    def fingerprint(self) -> str:
        """Return the SHA-256 of shape and pixels."""
        shape = repr(tuple(self._pixels.shape)).encode()
        return hashlib.sha256(shape + self._pixels.numpy().tobytes()).hexdigest()
