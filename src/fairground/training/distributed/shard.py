"""One process' share of a batch, augmented exactly as it would be within the whole batch.

Augmentation draws for all rows of a batch from one generator. So every process lets the transform draw for all of them,
and reads only its own images: the others are blank. Reading and decoding, which is what costs, is shared out; the
arithmetic on blank pixels is not, a few per cent of a step, and in return no transform has to know of any of this.
"""

import numpy as np
import torch
from torch import Tensor

from fairground.contracts.model import Transform
from fairground.contracts.table import Images
from fairground.errors import require


class ShardTransform(Transform):
    """`transform` for process `rank` of `size`; evaluation is left as it is."""

    def __init__(self, *, transform: Transform, rank: int, size: int) -> None:
        self._transform, self._rank, self._size = transform, rank, size

    def train(self, images: Images, rows: np.ndarray, generator: torch.Generator) -> Tensor:
        """Return this process' share of the images of `rows`, augmented."""
        own = shard_slice(len(rows), self._rank, self._size)
        batch = self._transform.train(_MostlyBlank(images, len(rows), own), rows, generator)
        # A copy, or the whole batch would stay in memory for as long as the share.
        return batch[own].clone()

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


class _MostlyBlank(Images):
    """The images of one batch, of which only `own` are read; asked for any other number of rows, it reads all."""

    def __init__(self, images: Images, n: int, own: slice) -> None:
        self._images, self._n, self._own = images, n, own
        self.is_slow, self.is_picture = images.is_slow, images.is_picture

    def __len__(self) -> int:
        return len(self._images)

    @property
    def channels(self) -> int:
        return self._images.channels

    def take(self, rows: np.ndarray) -> Tensor:
        if len(rows) != self._n:
            return self._images.take(rows)
        return self._placed(self._images.take(rows[self._own]))

    def sizes(self, rows: np.ndarray, *, shorter_side: int | None = None) -> np.ndarray:
        return self._images.sizes(rows, shorter_side=shorter_side)

    def crops(self, rows: np.ndarray, boxes: np.ndarray, side: int, *, shorter_side: int | None = None) -> Tensor:
        if len(rows) != self._n:
            return self._images.crops(rows, boxes, side, shorter_side=shorter_side)
        own = self._own
        return self._placed(self._images.crops(rows[own], boxes[own], side, shorter_side=shorter_side))

    def fingerprint(self) -> str:
        return self._images.fingerprint()

    def _placed(self, share: Tensor) -> Tensor:
        batch = share.new_zeros(self._n, *share.shape[1:])
        batch[self._own] = share
        return batch
