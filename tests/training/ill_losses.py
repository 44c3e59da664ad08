"""Losses that make a training ill on purpose."""

import torch
from torch import Tensor

from fairground.contracts.loss import Loss
from fairground.contracts.tuples import Tuples


class OneSidedLoss(Loss):
    """Draws everything towards one direction, each row as far as it was: what lies nearest to it becomes a hub."""

    def compute(
        self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, *, generator: torch.Generator | None
    ) -> Tensor:
        return (embeddings.mean(0)[0] - 10).square()
