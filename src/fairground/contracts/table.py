"""A data set in hand: labels always in memory, images by row."""

import hashlib
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from fairground.errors import DataError, require


class Images(ABC):
    """Something that gives images by row, as uint8 (k, c, h, w)."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def take(self, rows: np.ndarray) -> Tensor:
        """Return the images of `rows`, in that order."""

    @abstractmethod
    def fingerprint(self) -> str:
        """Return a hash that changes when any image does."""


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

    def fingerprint(self) -> str:
        """Return the SHA-256 of shape and pixels."""
        shape = repr(tuple(self._pixels.shape)).encode()
        return hashlib.sha256(shape + self._pixels.numpy().tobytes()).hexdigest()


@dataclass(frozen=True, kw_only=True)
class ImageTable:
    """`labels` (n,) index `class_names`; `official_test` (n,) marks the rows of the published test half, if any.

    `super_labels` (n,) says which kind of thing each class is, where the data set has such a tree.
    """

    images: Images
    labels: np.ndarray
    class_names: tuple[str, ...]
    official_test: np.ndarray | None = None
    identifiers: tuple[str, ...] | None = None
    super_labels: np.ndarray | None = None

    def __post_init__(self) -> None:
        n = len(self.labels)
        require(n > 0, "the data set is empty", DataError)
        require(len(self.images) == n, f"{len(self.images)} images but {n} labels", DataError)
        require(self.labels.ndim == 1, f"labels must be one number an image; got shape {self.labels.shape}", DataError)
        require(
            int(self.labels.min()) >= 0 and int(self.labels.max()) < len(self.class_names),
            f"labels must lie in 0..{len(self.class_names) - 1}; got {self.labels.min()}..{self.labels.max()}",
            DataError,
        )
        require(
            self.official_test is None or self.official_test.shape == (n,),
            "the official test mark needs one entry an image",
            DataError,
        )
        require(
            self.super_labels is None or self.super_labels.shape == (n,),
            "one super-class an image is needed",
            DataError,
        )
