"""What every miner is: embeddings and labels in, tuples out, without gradient."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar

import torch
from torch import Tensor

from fairground.contracts.tuples import Tuples
from fairground.spec.space import Range


class Miner(ABC):
    """Chooses the tuples a loss will see. Draws only from the generator it is given; keeps no state.

    `yields` is the kind of tuples it returns, so that `assemble` can refuse a loss that cannot take them.
    """

    yields: ClassVar[type]
    tunable: ClassVar[Mapping[str, Range]] = {}

    @torch.no_grad()
    def __call__(self, embeddings: Tensor, labels: Tensor, *, generator: torch.Generator | None = None) -> Tuples:
        """Return tuples of row indices into `embeddings` (n, d)."""
        wide = embeddings.detach()
        wide = wide.float() if wide.dtype in (torch.float16, torch.bfloat16) else wide
        with torch.autocast(device_type=wide.device.type, enabled=False):
            return self.mine(wide, labels, generator=generator)

    @abstractmethod
    def mine(self, embeddings: Tensor, labels: Tensor, *, generator: torch.Generator | None) -> Tuples:
        """Return the tuples; embeddings are detached and float32 or float64."""

    def known_bugs(self) -> tuple[str, ...]:
        """Return a sentence for every switch in use that reproduces a known bug of published code."""
        return ()
