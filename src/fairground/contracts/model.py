"""What trunks, heads and transforms are."""

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn


class Trunk(nn.Module, ABC):
    """Images to features. `stages` runs one after another, so that a regulariser may mix between them."""

    #: width of the feature vectors
    n_features: int
    stages: nn.ModuleList

    def forward(self, images: Tensor) -> Tensor:
        """Return features (n, n_features) of images (n, c, h, w)."""
        for stage in self.stages:
            images = stage(images)
        return images


class Head(nn.Module, ABC):
    """Features to embeddings; constructors take `*, n_features: int, embedding_dim: int`."""

    embedding_dim: int


class Transform(ABC):
    """uint8 images to the trunk's input: `train` augments with the generator given, `evaluate` never does."""

    @abstractmethod
    def train(self, images: Tensor, generator: torch.Generator) -> Tensor:
        """Return augmented float images (n, c, h, w)."""

    @abstractmethod
    def evaluate(self, images: Tensor) -> Tensor:
        """Return plain float images (n, c, h, w)."""
