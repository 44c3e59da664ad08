"""What every loss is: embeddings and labels in, one differentiable number out."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar

import torch
from torch import Tensor, nn

from fairground.contracts.tuples import Tuples
from fairground.errors import require
from fairground.spec.space import Range


class Loss(nn.Module, ABC):
    """A training objective over one batch.

    `accepts` names the kinds of tuples a miner may hand over (`Triplets`, `Pairs`); empty means the loss looks at
    the whole batch by itself. `tunable` gives the search range of each setting worth searching. `on_sphere` tells
    whether the loss compares unit vectors, and so how its embeddings should be evaluated; a loss with a switch for that
    sets it when constructed.

    Facts a loss cannot know (`n_classes`, `embedding_dim`) are constructor arguments of those names; `assemble`
    supplies them. Class indices are 0..n_classes-1 for losses with learnable class weights; any integers elsewhere.
    """

    accepts: tuple[type, ...] = ()
    tunable: ClassVar[Mapping[str, Range]] = {}
    on_sphere: bool = True

    def forward(
        self,
        embeddings: Tensor,
        labels: Tensor,
        tuples: Tuples | None = None,
        *,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Return the loss of raw `embeddings` (n, d) with integer `labels` (n,), over `tuples` or all there are."""
        if embeddings.ndim != 2 or labels.shape != embeddings.shape[:1] or labels.is_floating_point():
            self._refuse(embeddings, labels)
        if tuples is not None:
            require(
                isinstance(tuples, self.accepts),
                f"{type(self).__name__} takes {_kinds(self.accepts)} from a miner; got {type(tuples).__name__}",
            )
        # Half precision cannot hold squared distances or exponentials: the arithmetic of a loss is float32 at least.
        wide = embeddings.float() if embeddings.dtype in (torch.float16, torch.bfloat16) else embeddings
        if not torch.is_autocast_enabled(wide.device.type):
            return self.compute(wide, labels, tuples, generator=generator)
        with torch.autocast(device_type=wide.device.type, enabled=False):
            return self.compute(wide, labels, tuples, generator=generator)

    @abstractmethod
    def compute(
        self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, *, generator: torch.Generator | None
    ) -> Tensor:
        """Return the loss; inputs have been checked and are float32 or float64."""

    def _refuse(self, embeddings: Tensor, labels: Tensor) -> None:
        name = type(self).__name__
        require(embeddings.ndim == 2, f"{name} takes embeddings of shape (n, d); got {tuple(embeddings.shape)}")
        require(
            labels.shape == embeddings.shape[:1],
            f"{name} takes one label per embedding; got {tuple(labels.shape)} labels for {len(embeddings)} embeddings",
        )
        require(not labels.is_floating_point(), f"{name} takes integer labels; got {labels.dtype}")

    def known_bugs(self) -> tuple[str, ...]:
        """Return a sentence for every switch in use that reproduces a known bug of published code."""
        return ()


def _kinds(accepts: tuple[type, ...]) -> str:
    return " or ".join(kind.__name__ for kind in accepts) or "no tuples"
