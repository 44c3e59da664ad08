"""What every miner is: embeddings and labels in, tuples out, without gradient."""

from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from torch import Tensor

from fairground.contracts import Pairs, Part, Triplets, Tuples, require_batch
from fairground.spec import Choice, Real, require

#: what the files of these parts need beside what is defined here
__all__ = ["Choice", "Miner", "Pairs", "Real", "Triplets", "require"]


class Miner(Part, ABC):
    """Chooses the tuples a loss will see. Draws only from the generator it is given; keeps no state.

    `yields` is the kind of tuples it returns, so that `assemble` can refuse a loss that cannot take them. Distances are
    those between unit vectors. An anchor without a positive or without a negative is skipped; no tuple comes twice; a
    batch with nothing to mine gives empty tuples. Without a generator torch's default one is used.
    """

    yields: ClassVar[type[Triplets] | type[Pairs]]
    takes_label_sets: ClassVar[bool] = True

    def __init__(self) -> None:
        """A miner without settings refuses any."""

    @torch.no_grad()
    def __call__(self, embeddings: Tensor, labels: Tensor, *, generator: torch.Generator | None = None) -> Tuples:
        """Return tuples of row indices into `embeddings` (n, d)."""
        require_batch(self, embeddings, labels)
        if len(embeddings) < 2:
            nothing = torch.empty(0, dtype=torch.long, device=embeddings.device)
            return self.yields(*[nothing] * len(self.yields._fields))
        wide = embeddings.detach()
        wide = wide.float() if wide.dtype in (torch.float16, torch.bfloat16) else wide
        with torch.autocast(device_type=wide.device.type, enabled=False):
            return self.mine(wide, labels, generator=generator)

    @abstractmethod
    def mine(self, embeddings: Tensor, labels: Tensor, *, generator: torch.Generator | None) -> Tuples:
        """Return the tuples; embeddings are detached and float32 or float64."""
