"""What every batch sampler is: it says which rows of the training split form the next batch."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar

import torch
from torch import Tensor

from fairground.spec.reference import Reference
from fairground.spec.space import Range


class BatchSampler(ABC):
    """Plans batches over a training split with `labels` (n,), drawing only from the generator it is given.

    A sampler's constructor takes `*, labels: Tensor, batch_size: int` (facts, supplied by `assemble`) and its own
    settings. A sampler says how to `plan` some batches; `draw` deals them out one by one and asks for another plan when
    one is used up. An epoch starts with a fresh plan. What is drawn next depends on nothing but the `state_dict` and
    the generator's state, so that a resumed run draws the same batches. Samplers that look at embeddings set
    `needs_embeddings`; training then calls `fill` once before the first step and `observe` after every step.
    """

    reference: ClassVar[Reference | None] = None
    tunable: ClassVar[Mapping[str, Range]] = {}
    needs_embeddings: ClassVar[bool] = False
    _plan: Tensor | None = None
    _n_dealt: int = 0

    @property
    @abstractmethod
    def n_batches(self) -> int:
        """The number of batches in one natural pass over the split."""

    @abstractmethod
    def plan(self, generator: torch.Generator) -> Tensor:
        """Return the rows (k, batch_size) of the next k batches, for some k of at least one."""

    def draw(self, generator: torch.Generator) -> Tensor:
        """Return the rows (batch_size,) of the next batch."""
        if self._plan is None or self._n_dealt == len(self._plan):
            self._plan = self.plan(generator)
            self._n_dealt = 0
        self._n_dealt += 1
        return self._plan[self._n_dealt - 1].clone()

    def start_epoch(self, generator: torch.Generator) -> None:
        """Put the old plan aside; called before an epoch's first `draw`, which makes the new one."""
        self._plan = None

    def fill(self, embeddings: Tensor) -> None:
        """Take the embeddings (n, d) of the whole split, made before training."""
        return

    def observe(self, rows: Tensor, embeddings: Tensor) -> None:
        """Take the detached embeddings (b, d) of the batch just trained on."""
        return

    def state_dict(self) -> dict[str, Tensor]:
        """Return everything besides the generator that decides what is drawn next; live tensors, not copies."""
        if self._plan is None:
            return {}
        return {"plan": self._plan, "n_dealt": torch.tensor(self._n_dealt)}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Take back what `state_dict` gave."""
        self._plan = state["plan"].clone() if "plan" in state else None
        self._n_dealt = int(state["n_dealt"]) if "plan" in state else 0

    def notes(self) -> tuple[str, ...]:
        """Return sentences for the record: classes filled up with repeats, and the like."""
        return ()

    def known_bugs(self) -> tuple[str, ...]:
        """Return a sentence for every switch in use that reproduces a known bug of published code."""
        return ()
