"""Image table, transform and sampler to batches, for sets that fit in memory.

Images stay uint8 in memory; a batch is one gather and one vectorised augmentation, a few per cent of a training step:
no worker processes are needed and nothing has to be synchronised when a run resumes.
"""

from dataclasses import dataclass

import numpy as np
import torch

from fairground.contracts.batch import Batch
from fairground.contracts.model import Transform
from fairground.contracts.sampler import BatchSampler
from fairground.contracts.table import Images


@dataclass(frozen=True, kw_only=True)
class Loader:
    """Draws the next batch of the training split. `rows` are its rows in the table, `labels` its classes as 0..C-1."""

    images: Images
    rows: np.ndarray
    labels: torch.Tensor
    transform: Transform
    sampler: BatchSampler
    device: torch.device

    def draw(self, sampling: torch.Generator, augmenting: torch.Generator) -> Batch:
        """Return the next batch on the training device."""
        chosen = self.sampler.draw(sampling)
        images = self.images.take(self.rows[chosen.numpy()]).to(self.device)
        labels = self.labels[chosen].to(self.device)
        return Batch(self.transform.train(images, augmenting), labels, chosen)
