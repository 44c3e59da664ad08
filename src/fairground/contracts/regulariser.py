"""What every regulariser may do: change the mined tuples, add a penalty, or mix samples inside the model."""

from collections.abc import Mapping
from typing import ClassVar

import torch
from torch import Tensor, nn

from fairground.contracts.loss import Loss
from fairground.contracts.mixing import Mixing
from fairground.contracts.tuples import Tuples
from fairground.spec.space import Range


class Regulariser(nn.Module):
    """Three hooks, each harmless unless overridden; the training step calls them in this order."""

    tunable: ClassVar[Mapping[str, Range]] = {}
    #: whether the hook `change_tuples` does anything, so that `assemble` can refuse it without a ranking loss
    changes_tuples: ClassVar[bool] = False

    def plan_mixing(self, batch_size: int, n_stages: int, *, generator: torch.Generator) -> Mixing | None:
        """Return how this batch is mixed inside the model, or None."""
        return None

    def change_tuples(self, tuples: Tuples, labels: Tensor, *, generator: torch.Generator | None = None) -> Tuples:
        """Return the tuples the loss shall see."""
        return tuples

    def penalty(self, embeddings: Tensor, labels: Tensor, loss: Loss) -> Tensor | None:
        """Return a term to add to the loss, or None."""
        return None

    def known_bugs(self) -> tuple[str, ...]:
        """Return a sentence for every switch in use that reproduces a known bug of published code."""
        return ()
