"""The processes that train one model: here a group of one, which is every run not started by torchrun.

What a run asks its group for is all that differs between one process and many; `torchrun.py` has the group of many.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from fairground.contracts.model import Mixing, Transform
from fairground.contracts.table import Images
from fairground.evaluation.embed import embed
from fairground.records.run_folder import RunFolder
from fairground.training.checkpoint import Checkpoints


class ProcessGroup:
    """One process alone. The leader, of rank 0, writes files and prints."""

    rank: int = 0
    size: int = 1

    @property
    def is_leader(self) -> bool:
        return self.rank == 0

    def notes(self) -> tuple[str, ...]:
        return ()

    def ready(self, model: nn.Module) -> None:
        """Make layers that look at the whole batch see the shares of all processes."""

    def shard(self, transform: Transform) -> Transform:
        """Return a transform that gives this process its share of every batch."""
        return transform

    def checkpoints(self, folder: RunFolder) -> Checkpoints:
        """Return the checkpoints of a run, written once however many train it."""
        return Checkpoints(folder.checkpoints, folder.name)

    def forward(self, model: nn.Module, images: Tensor, mixing: Mixing | None) -> Tensor:
        """Return the embeddings (b, d) of the whole batch, of which `images` are this process' share."""
        embeddings: Tensor = model(images, mixing)
        return embeddings

    def all_gather(self, embeddings: Tensor) -> Tensor:
        """Return the embeddings of all processes, in order, for a loss that every process computes in full."""
        return embeddings

    def reduce_gradients(self, value: Tensor, model: nn.Module, loss: nn.Module) -> float:
        """Make every gradient that of the whole batch; return the loss that all processes agree on."""
        return value.item()

    def embed(
        self, model: nn.Module, images: Images, rows: np.ndarray, transform: Transform, *, device: torch.device | None
    ) -> Tensor:
        """Return the embeddings of all `rows`, in order, without gradient."""
        return embed(model, images, rows, transform, device=device)

    def broadcast_object(self, find: Callable[[], Any]) -> Any:
        """Return what `find` gives on the leader, as plain data."""
        return find()

    def any(self, is_so: bool) -> bool:
        return is_so


ALONE = ProcessGroup()
