"""Anybody's pictures brought to what a model was trained on: its number of channels, and its size where it had one."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from fairground.contracts.table import Images
from fairground.deploy.metadata import ModelMetadata
from fairground.errors import DataError, require
from fairground.loading.transform_steps import gray


class ResizedImages(Images):
    """Serves `source` with `channels` channels; whole images are stretched to `size` where that is given."""

    def __init__(self, source: Images, *, channels: int, size: tuple[int, int] | None) -> None:
        self.source, self.size = source, size
        self._channels = channels
        self.is_slow = source.is_slow

    def __len__(self) -> int:
        return len(self.source)

    @property
    def channels(self) -> int:
        """The number of channels the model takes."""
        return self._channels

    def prepare(self, tell: Callable[[int, int], None] | None = None) -> None:
        """Do what the source wants done first."""
        self.source.prepare(tell)

    def take(self, rows: np.ndarray) -> Tensor:
        """Return the whole images of `rows`, stretched to the model's size where they have another."""
        if self.size is None:
            return self._recoloured(self.source.take(rows))
        sizes = self.source.sizes(rows)
        if bool((sizes == np.array(self.size)).all()):
            return self._recoloured(self.source.take(rows))
        height, width = self.size
        require(
            height == width,
            f"this model takes whole images of {height} x {width} pixels (height x width); resize them first",
            DataError,
        )
        boxes = np.stack([np.zeros_like(sizes[:, 0]), np.zeros_like(sizes[:, 0]), sizes[:, 1], sizes[:, 0]], axis=1)
        return self._recoloured(self.source.crops(rows, boxes, height))

    def sizes(self, rows: np.ndarray, *, shorter_side: int | None = None) -> np.ndarray:
        """Return height and width (k, 2) of the source's images."""
        return self.source.sizes(rows, shorter_side=shorter_side)

    def crops(self, rows: np.ndarray, boxes: np.ndarray, side: int, *, shorter_side: int | None = None) -> Tensor:
        """Return one box of each image, resized to a square."""
        return self._recoloured(self.source.crops(rows, boxes, side, shorter_side=shorter_side))

    def fingerprint(self) -> str:
        """Return that of the source."""
        return self.source.fingerprint()

    def _recoloured(self, pixels: Tensor) -> Tensor:
        if pixels.shape[1] == self._channels:
            return pixels
        if self._channels == 3:
            return pixels.expand(-1, 3, -1, -1)
        return gray(pixels).to(torch.uint8)


def resized_images(images: Images, metadata: ModelMetadata) -> Images:
    """Return images as the model wants them, or refuse in a sentence."""
    given = "pictures" if images.is_picture else f"features of width {images.channels}"
    if metadata.is_picture:
        require(images.is_picture, f"this model embeds pictures, but the data are {given}", DataError)
    else:
        first = ". Pass them through that encoder first" if images.is_picture else ""
        require(
            not images.is_picture and images.channels == metadata.channels,
            f"the data are {given}, but this model takes {metadata.features_wanted()}{first}",
            DataError,
        )
    if not images.is_picture or (images.channels == metadata.channels and metadata.size is None):
        return images
    require(
        metadata.channels in (1, 3), f"pictures have 1 or 3 channels; this model takes {metadata.channels}", DataError
    )
    return ResizedImages(images, channels=metadata.channels, size=metadata.size)
