"""What every batch sampler is: it says which rows of the training split form the next batch.

Two ways to use one. Any `DataLoader` takes it as `batch_sampler`: it then draws from a stream of its own, fixed by
`seed` and the number of the epoch. Training calls `start_epoch` and `draw` with the generator of the run instead.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch.utils.data import Sampler

from fairground.contracts.part import Part
from fairground.spec import Choice, DataError, Real, child_seed, require

#: what the files of these parts need beside what is defined here
__all__ = ["Choice", "DataError", "Real", "require"]

#: one whole number per image of the training split
Labels = torch.Tensor | np.ndarray


@dataclass
class _Pass:
    """One pass of `__iter__` over an epoch: its number, how many batches it has given, and where its draws come from.

    `is_loaded` says that it was read from a state and is to be continued.
    """

    epoch: int
    generator: torch.Generator
    n_given: int = 0
    is_loaded: bool = False


class BatchSampler(Part, Sampler[list[int]], ABC):
    """Plans batches over a training split with `labels` (n,), drawing only from the generator it is given.

    A sampler's constructor takes `*, labels: Labels, batch_size: int` (facts, supplied by `assemble`), its own settings
    and, for use in a `DataLoader`, `seed: int = 0`. A sampler says how to `plan` some batches; `draw` deals them out
    one by one and asks for another plan when one is used up. An epoch starts with a fresh plan. What is drawn next
    depends on nothing but the `state_dict` and the generator's state, so that a resumed run draws the same batches.
    Samplers that look at embeddings set `needs_embeddings`: call `fill` once before the first step and `observe` after
    every step, as training does.
    """

    needs_embeddings: ClassVar[bool] = False
    #: whether it draws from torch's global stream, so that nothing may draw beside it
    draws_globally: ClassVar[bool] = False
    batch_size: int
    #: the number of batches in one natural pass over the split
    n_batches: int
    _seed: int = 0
    _plan: torch.Tensor | None = None
    _n_dealt: int = 0
    _next_epoch: int = 0
    _pass: _Pass | None = None

    def __init__(self, *, batch_size: int, seed: int = 0) -> None:
        require(batch_size >= 1, f"the batch size must be at least 1; got {batch_size}")
        require(seed >= 0, f"a sampler's seed must be 0 or more; got {seed}")
        self.batch_size, self._seed = batch_size, seed

    @abstractmethod
    def plan(self, generator: torch.Generator) -> torch.Tensor:
        """Return the rows (k, batch_size) of the next k batches, for some k of at least one."""

    def __len__(self) -> int:
        return self.n_batches

    def __iter__(self) -> Iterator[list[int]]:
        """Yield the rows of one epoch's batches; the next pass is the next epoch.

        After `load_state_dict` the first pass yields what was left of the epoch under way.
        """
        current = self._pass if self._pass is not None and self._pass.is_loaded else self._begin(self._next_epoch)
        current.is_loaded = False
        refusal = "another pass over this sampler began before this one was over; give each loader a sampler of its own"
        while current.n_given < len(self):
            require(self._pass is current, refusal)
            current.n_given += 1
            yield self.draw(current.generator).tolist()
        if self._pass is current:
            self._pass = None

    def set_epoch(self, epoch: int) -> None:
        """Make the next pass that of this epoch; the rest of it where `load_state_dict` stopped within it."""
        require(epoch >= 0, f"epochs are counted from 0; got {epoch}")
        if self._pass is None or not self._pass.is_loaded or self._pass.epoch != epoch:
            self._pass, self._next_epoch = None, epoch

    def draw(self, generator: torch.Generator) -> torch.Tensor:
        """Return the rows (batch_size,) of the next batch."""
        if self._plan is None or self._n_dealt == len(self._plan):
            self._plan, self._n_dealt = self.plan(generator), 0
        self._n_dealt += 1
        return self._plan[self._n_dealt - 1].clone()

    def start_epoch(self, generator: torch.Generator) -> None:
        """Put the old plan aside; called before an epoch's first `draw`, which makes the new one."""
        self._plan = None

    def fill(self, embeddings: torch.Tensor) -> None:
        """Take the embeddings (n, d) of the complete split, made before training."""

    def observe(self, rows: torch.Tensor, embeddings: torch.Tensor) -> None:
        """Take the detached embeddings (b, d) of the batch just trained on."""

    def state_dict(self) -> dict[str, torch.Tensor]:
        """Return everything that decides what is drawn next; live tensors, not copies.

        A generator that the caller passes to `draw` is the caller's to keep; the one of `__iter__` is part of it.
        """
        state = {} if self._plan is None else {"plan": self._plan, "n_dealt": torch.tensor(self._n_dealt)}
        if self._pass is not None:
            state["epoch"], state["n_given"] = torch.tensor(self._pass.epoch), torch.tensor(self._pass.n_given)
            state["generator"] = self._pass.generator.get_state()
        elif self._next_epoch > 0:
            state["epoch"] = torch.tensor(self._next_epoch)
        return state

    def load_state_dict(self, state: Mapping[str, torch.Tensor]) -> None:
        self._plan = state["plan"].clone() if "plan" in state else None
        self._n_dealt = int(state["n_dealt"]) if "plan" in state else 0
        epoch = int(state.get("epoch", 0))
        self._pass, self._next_epoch = None, epoch
        if "generator" in state:
            generator = torch.Generator().set_state(state["generator"])
            self._pass = _Pass(epoch, generator, n_given=int(state["n_given"]), is_loaded=True)
            self._next_epoch = epoch + 1

    def notes(self) -> tuple[str, ...]:
        """Return sentences for the record: classes filled up with repeats, and the like."""
        return ()

    def _begin(self, epoch: int) -> _Pass:
        # Each epoch has a stream of its own, so that one can be drawn again without those before it.
        stream = child_seed(child_seed(self._seed, "sampler") + epoch, "sampler")
        self._pass = _Pass(epoch, torch.Generator().manual_seed(stream))
        self._next_epoch = epoch + 1
        self.start_epoch(self._pass.generator)
        return self._pass


def label_tensor(labels: Labels) -> torch.Tensor:
    """Return labels (n,) as a tensor in main memory, where samplers plan, from torch or numpy."""
    try:
        return torch.as_tensor(labels).cpu()
    except (TypeError, ValueError, RuntimeError) as error:
        kind = getattr(labels, "dtype", type(labels).__name__)
        raise DataError(f"a sampler takes one integer label per training image; got {kind}") from error
