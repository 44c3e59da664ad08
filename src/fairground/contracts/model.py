"""What trunks, heads and transforms are."""

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from fairground.contracts.mixing import Mixing, mix


class Trunk(nn.Module, ABC):
    """Images to features. `stages` run one after another, so that a regulariser may mix samples between them."""

    #: width of the feature vectors
    n_features: int
    stages: nn.ModuleList

    def forward(self, images: Tensor, mixing: Mixing | None = None) -> Tensor:
        """Return features (n, n_features) of images (n, c, h, w)."""
        hidden = images
        for number, stage in enumerate(self.stages):
            if mixing is not None and mixing.stage == number:
                hidden = mix(hidden, mixing)
            hidden = stage(hidden)
        return self.pool(hidden)

    def pool(self, hidden: Tensor) -> Tensor:
        """Return feature vectors from what the last stage gives; the mean over the image where it is one."""
        return hidden.flatten(2).mean(2) if hidden.ndim > 2 else hidden


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
