"""What a network under training reads by row: cached features, cached maps in several views, or images."""

from abc import ABC, abstractmethod

import numpy as np
import torch
from torch import Tensor

from fairground.contracts.model import Transform
from fairground.contracts.table import Images


class TrainingInputs(ABC):
    """Rows of a table as a network's input; `train` may augment, `evaluate` never does."""

    @abstractmethod
    def train(self, rows: np.ndarray, generator: torch.Generator) -> Tensor:
        """Return the inputs of these rows to train on."""

    @abstractmethod
    def evaluate(self, rows: np.ndarray) -> Tensor:
        """Return the inputs of these rows as they are."""


class CachedFeatures(TrainingInputs):
    """Feature vectors (n, d) that are there already."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def train(self, rows: np.ndarray, generator: torch.Generator) -> Tensor:
        """Return the features of these rows."""
        return self.evaluate(rows)

    def evaluate(self, rows: np.ndarray) -> Tensor:
        """Return the features of these rows."""
        return torch.from_numpy(np.asarray(self.values[rows], dtype=np.float32))


class CachedMaps(TrainingInputs):
    """What the frozen first stages give of each row, in several views (v, n, c, h, w): the first is not augmented."""

    def __init__(self, views: list[np.ndarray]) -> None:
        self.views = views

    def train(self, rows: np.ndarray, generator: torch.Generator) -> Tensor:
        """Return one view of each row, drawn among all."""
        drawn = torch.randint(len(self.views), (len(rows),), generator=generator).tolist()
        maps = np.stack([self.views[view][row] for view, row in zip(drawn, rows, strict=True)])
        return torch.from_numpy(maps.astype(np.float32)).contiguous(memory_format=torch.channels_last)

    def evaluate(self, rows: np.ndarray) -> Tensor:
        """Return the first view of these rows."""
        maps = torch.from_numpy(np.asarray(self.views[0][rows], dtype=np.float32))
        return maps.contiguous(memory_format=torch.channels_last)


class AugmentedImages(TrainingInputs):
    """Images through a transform."""

    def __init__(self, images: Images, transform: Transform) -> None:
        self.images, self.transform = images, transform

    def train(self, rows: np.ndarray, generator: torch.Generator) -> Tensor:
        """Return the images augmented."""
        return self.transform.train(self.images, rows, generator)

    def evaluate(self, rows: np.ndarray) -> Tensor:
        """Return the images plain."""
        return self.transform.evaluate(self.images, rows)
