"""A trained model ready to be used, from a run or from a model folder: pictures in, embeddings out."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from fairground.contracts.model import Transform
from fairground.contracts.table import Images
from fairground.deploy.inputs import EmbeddingInputs, read_inputs
from fairground.deploy.metadata import ModelMetadata
from fairground.errors import DataError, require
from fairground.evaluation.embed import PIXELS
from fairground.loading.read_ahead import read_ahead
from fairground.loading.transform_steps import gray
from fairground.training.model import EmbeddingModel

#: rows read at once: as many pictures as fit in memory twice, or rows of features
PICTURES = 128
FEATURES = 4096


class Embedder(nn.Module):
    """From a transform's output to the embeddings that are compared: of unit length if `normalise`."""

    def __init__(self, model: EmbeddingModel, *, normalise: bool) -> None:
        super().__init__()
        self.model, self.normalise = model, normalise

    def forward(self, inputs: Tensor) -> Tensor:
        embeddings: Tensor = self.model(inputs)
        return functional.normalize(embeddings, dim=1) if self.normalise else embeddings


@dataclass(frozen=True, kw_only=True)
class UsableModel:
    """A network in evaluation mode on a device, with its transform and metadata."""

    network: EmbeddingModel
    transform: Transform
    metadata: ModelMetadata
    device: torch.device

    def embed(self, data: EmbeddingInputs | str | Path, *, raw: bool = False) -> np.ndarray:
        """Return the embeddings (n, d) of a folder, a table, an image or a file of features, in order."""
        inputs = data if isinstance(data, EmbeddingInputs) else read_inputs(data)
        return np.concatenate([block for _, block in self.blocks(inputs.images, raw=raw)])

    @torch.no_grad()
    def blocks(self, images: Images, *, raw: bool = False) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the first row and the embeddings of one block after another; the next is read meanwhile."""
        wanted = resized_images(images, self.metadata)
        step = PICTURES if images.is_picture else FEATURES
        embedder = Embedder(self.network, normalise=self.metadata.normalise and not raw).eval()
        begins = range(0, len(images), step)

        def read(begin: int) -> Tensor:
            return self.transform.evaluate(wanted, np.arange(begin, min(begin + step, len(images))), self.device)

        for begin, inputs in zip(begins, read_ahead(read, begins), strict=True):
            pixels = inputs.shape[-2] * inputs.shape[-1] if inputs.ndim == 4 else 1
            pieces = [embedder(piece) for piece in torch.split(inputs, max(1, PIXELS // pixels))]
            yield begin, torch.cat(pieces).float().cpu().numpy()


class ResizedImages(Images):
    """Serves `source` with `channels` channels; whole images are stretched to `size` if that is given."""

    def __init__(self, source: Images, *, channels: int, size: tuple[int, int] | None) -> None:
        self.source, self.size = source, size
        self._channels = channels
        self.is_slow = source.is_slow

    def __len__(self) -> int:
        return len(self.source)

    @property
    def channels(self) -> int:
        return self._channels

    def prepare(self, tell: Callable[[int, int], None] | None = None) -> None:
        self.source.prepare(tell)

    def take(self, rows: np.ndarray) -> Tensor:
        """Return the whole images of `rows`, stretched to the model's size where they have another."""
        sizes = None if self.size is None else self.source.sizes(rows)
        if sizes is None or bool((sizes == np.array(self.size)).all()):
            return self._recoloured(self.source.take(rows))
        assert self.size is not None
        height, width = self.size
        require(
            height == width,
            f"this model takes whole images of {height} x {width} pixels (height x width); resize them first",
            DataError,
        )
        boxes = np.stack([np.zeros_like(sizes[:, 0]), np.zeros_like(sizes[:, 0]), sizes[:, 1], sizes[:, 0]], axis=1)
        return self._recoloured(self.source.crops(rows, boxes, height))

    def sizes(self, rows: np.ndarray, *, shorter_side: int | None = None) -> np.ndarray:
        return self.source.sizes(rows, shorter_side=shorter_side)

    def crops(self, rows: np.ndarray, boxes: np.ndarray, side: int, *, shorter_side: int | None = None) -> Tensor:
        """Return one box of each image, resized to a square."""
        return self._recoloured(self.source.crops(rows, boxes, side, shorter_side=shorter_side))

    def fingerprint(self) -> str:
        return self.source.fingerprint()

    def _recoloured(self, pixels: Tensor) -> Tensor:
        if pixels.shape[1] == self._channels:
            return pixels
        return pixels.expand(-1, 3, -1, -1) if self._channels == 3 else gray(pixels).to(torch.uint8)


def resized_images(images: Images, metadata: ModelMetadata) -> Images:
    """Return images as the model takes them, or refuse them in a sentence."""
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
    return ResizedImages(images, channels=metadata.channels, size=metadata.size)
