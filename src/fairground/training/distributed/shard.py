"""One process' share of a batch, augmented exactly as it would be within the whole batch.

Augmentation draws for all rows of a batch from one generator. So every process lets the transform draw for all of them,
and makes only its own images. A transform without a `plan` of its own makes all of them in every process.
"""

import numpy as np
import torch
from torch import Tensor

from fairground.contracts.model import Augmentation, PlannedTransform, Transform
from fairground.contracts.table import Images
from fairground.errors import require


class ShardTransform(PlannedTransform):
    """`transform` for process `rank` of `size`; evaluation is left as it is."""

    def __init__(self, *, transform: Transform, rank: int, size: int) -> None:
        self._transform, self._rank, self._size = transform, rank, size

    def plan(self, images: Images, rows: np.ndarray, generator: torch.Generator) -> Augmentation:
        """Draw for all of `rows`; make this process' share of them."""
        own = shard_slice(len(rows), self._rank, self._size)
        batch = self._transform.plan(images, rows, generator)
        return Augmentation(
            own.stop - own.start,
            lambda part: batch.make(slice(own.start + part.start, min(own.start + part.stop, own.stop))),
        )

    def evaluate(self, images: Images, rows: np.ndarray, device: torch.device | None = None) -> Tensor:
        """Return all images of `rows`, plain."""
        return self._transform.evaluate(images, rows, device)


def shard_slice(n: int, rank: int, size: int) -> slice:
    """Return which of the `n` rows of a batch are process `rank`'s: equal shares, in order."""
    require(
        n % size == 0,
        f"a batch of {n} cannot be shared equally by {size} processes; training.batch_size must be a multiple of them",
    )
    share = n // size
    return slice(rank * share, (rank + 1) * share)
