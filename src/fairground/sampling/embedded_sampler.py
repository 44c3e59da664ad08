"""What the samplers that look at embeddings share: the memory bank, and when batches are mined from it."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar, Literal

import torch
from torch import Tensor

from fairground.contracts.sampler import BatchSampler, Labels, label_tensor
from fairground.errors import DataError, require
from fairground.sampling.class_rows import ClassRows, n_class_slots
from fairground.sampling.memory_bank import MemoryBank

Mine = Literal["batch", "epoch"]


class EmbeddedSampler(BatchSampler):
    """Mines every batch from a pool drawn from the memory bank.

    `pool` is b*, the number of images a batch of `per_class` images a class is chosen from. `mine` says when: each
    "batch" from the live bank, or a whole "epoch" of `n_batches` from the bank as it is before the first of them.
    `momentum` and `update` say what the bank makes of the embeddings seen in training, `normalise` puts them on the
    unit sphere first. A `projection` above 0 mines in a random space of that many dimensions, a new one each batch.
    Beyond `memory_limit` gigabytes the bank lies on disk.
    """

    needs_embeddings: ClassVar[bool] = True

    def __init__(
        self,
        *,
        labels: Labels,
        batch_size: int,
        per_class: int,
        pool: int,
        mine: Mine,
        momentum: float,
        update: bool,
        normalise: bool,
        projection: int,
        memory_limit: float,
        seed: int,
    ) -> None:
        super().__init__(batch_size=batch_size, seed=seed)
        labels = label_tensor(labels)
        self._n_slots = n_class_slots(batch_size, per_class)
        require(len(labels) >= 2, f"a pool needs at least two images; the training split has {len(labels)}", DataError)
        require(pool >= batch_size, f"sampler.pool must be at least the batch size of {batch_size}; got {pool}")
        require(mine in ("batch", "epoch"), f"sampler.mine must be 'batch' or 'epoch'; got '{mine}'")
        require(0 <= momentum < 1, f"sampler.momentum must be in [0, 1), where 0 overwrites; got {momentum}")
        require(projection >= 0, f"sampler.projection must be 0 (off) or a number of dimensions; got {projection}")
        require(memory_limit >= 0, f"sampler.memory_limit must be 0 or more gigabytes; got {memory_limit}")
        self._classes = ClassRows(labels)
        self._bank = MemoryBank(len(labels), momentum=momentum, normalise=normalise, memory_limit=memory_limit * 1e9)
        self._per_class = per_class
        self._pool = pool
        self._mine = mine
        self._update = update
        self._projection = projection

    @abstractmethod
    def choose(self, generator: torch.Generator) -> Tensor:
        """Return the rows (batch_size,) of one batch, mined from the bank as it is now."""

    @property
    def n_batches(self) -> int:
        """As many batches as fit into the split."""
        return max(1, len(self._classes.rows) // self._batch_size)

    def plan(self, generator: torch.Generator) -> Tensor:
        """Return one mined batch, or an epoch of them."""
        n_planned = self.n_batches if self._mine == "epoch" else 1
        return torch.stack([self.choose(generator) for _ in range(n_planned)])

    def points(self, rows: Tensor, generator: torch.Generator) -> Tensor:
        """Return the bank's embeddings of `rows`, in the space batches are mined in."""
        points = self._bank.at(rows)
        if self._projection > 0:
            size = (points.shape[1], self._projection)
            points = points @ (torch.randn(size, generator=generator, device=generator.device) / size[1] ** 0.5)
        return points

    def fill(self, embeddings: Tensor) -> None:
        """Take the embeddings of the whole split, made before training."""
        self._bank.fill(embeddings)

    def observe(self, rows: Tensor, embeddings: Tensor) -> None:
        """Take the embeddings of the batch just trained on, unless the bank is to stay as it is."""
        if self._update:
            self._bank.update(rows, embeddings)

    def state_dict(self) -> dict[str, Tensor]:
        """Return the plan and the bank."""
        return {**super().state_dict(), **self._bank.state_dict()}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Take back what `state_dict` gave."""
        super().load_state_dict(state)
        self._bank.load_state_dict(state)

    def notes(self) -> tuple[str, ...]:
        """Say how many classes are too small, and whether the split is."""
        n_rows = len(self._classes.rows)
        small = () if self._pool <= n_rows else (f"sampler.pool = {self._pool}, but the split has {n_rows} images",)
        return self._classes.filled_up(self._per_class) + small
