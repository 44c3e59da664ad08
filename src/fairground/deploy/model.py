"""A trained model ready to be used, from a run or from a model folder: pictures in, embeddings out."""

from collections.abc import Iterator
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
from fairground.deploy.resize import resized_images
from fairground.evaluation.embed import PIXELS
from fairground.loading.read_ahead import read_ahead
from fairground.training.model import EmbeddingModel

#: rows read at once: as many pictures as fit in memory twice, or rows of features
PICTURES = 128
FEATURES = 4096


class Embedder(nn.Module):
    """The whole way from a transform's output to the embeddings that are compared: of unit length where that is so."""

    def __init__(self, model: EmbeddingModel, *, normalise: bool) -> None:
        super().__init__()
        self.model, self.normalise = model, normalise

    def forward(self, inputs: Tensor) -> Tensor:
        """Return embeddings (n, d)."""
        embeddings: Tensor = self.model(inputs)
        return functional.normalize(embeddings, dim=1) if self.normalise else embeddings


@dataclass(frozen=True, kw_only=True)
class UsableModel:
    """Weights in place, on a device, never training; `facts` say the rest."""

    network: EmbeddingModel
    transform: Transform
    metadata: ModelMetadata
    device: torch.device

    def embed(self, data: EmbeddingInputs | str | Path, *, raw: bool = False) -> np.ndarray:
        """Return the embeddings (n, d) of a folder, a table, an image or a file of features, in order."""
        inputs = data if isinstance(data, EmbeddingInputs) else read_inputs(data)
        blocks = [block for _, block in self.blocks(inputs.images, raw=raw)]
        return np.concatenate(blocks)

    @torch.no_grad()
    def blocks(self, images: Images, *, start: int = 0, raw: bool = False) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the first row and the embeddings of one block after another; the next is read meanwhile.

        Blocks lie on a fixed grid, so that starting at the beginning of any of them gives the same digits.
        """
        wanted = resized_images(images, self.metadata)
        step = block_length(images)
        embedder = Embedder(self.network, normalise=self.metadata.normalise and not raw).eval()
        begins = range(start, len(images), step)

        def read(begin: int) -> Tensor:
            return self.transform.evaluate(wanted, np.arange(begin, min(begin + step, len(images))), self.device)

        for begin, inputs in zip(begins, read_ahead(read, begins), strict=True):
            pixels = inputs.shape[-2] * inputs.shape[-1] if inputs.ndim == 4 else 1
            pieces = [embedder(piece) for piece in torch.split(inputs, max(1, PIXELS // pixels))]
            yield begin, torch.cat(pieces).float().cpu().numpy()


def block_length(images: Images) -> int:
    """Return how many rows are embedded at once."""
    return PICTURES if images.is_picture else FEATURES
