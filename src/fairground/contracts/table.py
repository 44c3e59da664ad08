"""A data set in hand: labels always in memory, images by row."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
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


@dataclass(frozen=True, kw_only=True)
class ImageTable:
    """`labels` (n,) index `class_names`; `official_test` (n,) marks the rows of the published test half, if any."""

    images: Images
    labels: np.ndarray
    class_names: tuple[str, ...]
    official_test: np.ndarray | None = None
    identifiers: tuple[str, ...] | None = None

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
