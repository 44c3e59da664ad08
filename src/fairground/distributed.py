"""Losses, miners and samplers in other people's loops of several processes: Lightning, Accelerate, plain torch.

    sampler = fg.distributed.ShardedSampler(sampler)
    loss, miner = fg.distributed.GatheredLoss(loss), fg.distributed.GatheredMiner(miner)

Every process draws the same batch, embeds its own share, and computes the loss of the whole batch from the embeddings
of all. `DistributedDataParallel` averages gradients over the processes; what comes out is the gradient of one process
with the whole batch. Without several processes all of these do what is inside them.
"""

from collections.abc import Callable, Iterator
from typing import Any

import torch.distributed as dist
from torch import Generator, Tensor, nn, no_grad
from torch.utils.data import Sampler

from fairground.contracts import Loss, Miner
from fairground.training import gather_shares, shard_slice


def gather(share: Tensor) -> Tensor:
    """Return the shares (k, ...) of all processes end to end by rank, with gradient; every share has the same size."""
    return gather_shares(share) if _is_shared() else share


class GatheredLoss(nn.Module):
    """`loss` over the embeddings of all processes; tuples, if any, are those of a `GatheredMiner`.

    A loss of fairground that draws does so from `seed`, alike in all processes.
    """

    def __init__(self, loss: nn.Module, *, seed: int = 0) -> None:
        super().__init__()
        self.loss, self._generator = loss, Generator().manual_seed(seed)

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Any = None) -> Tensor:
        """Return the loss of the whole batch, of which embeddings (k, d) and labels (k,) are this process' share."""
        mined = () if tuples is None else (tuples,)
        drawing = {"generator": self._generator} if isinstance(self.loss, Loss) else {}
        value: Tensor = self.loss(gather(embeddings), gather(labels), *mined, **drawing)
        return value


class GatheredMiner:
    """`miner` over the embeddings of all processes, drawing from `seed` alike in all; its tuples are for all of them.

    A miner from outside must not draw.
    """

    def __init__(self, miner: Callable[..., Any], *, seed: int = 0) -> None:
        self.miner, self._generator = miner, Generator().manual_seed(seed)

    @no_grad()
    def __call__(self, embeddings: Tensor, labels: Tensor) -> Any:
        """Return tuples of rows of the whole batch."""
        drawing = {"generator": self._generator} if isinstance(self.miner, Miner) else {}
        return self.miner(gather(embeddings), gather(labels), **drawing)


class ShardedSampler(Sampler[list[int]]):
    """A batch sampler of which process `rank` of `size` gets its share of every batch; all else is the sampler's own.

    By default rank and size are those of the process group, which may begin after the sampler is made.
    """

    def __init__(self, sampler: Any, *, rank: int | None = None, size: int | None = None) -> None:
        self.sampler, self._rank, self._size = sampler, rank, size

    @property
    def batch_size(self) -> int:
        return int(self.sampler.batch_size) // self._place()[1]

    def __len__(self) -> int:
        return len(self.sampler)

    def __iter__(self) -> Iterator[list[int]]:
        rank, size = self._place()
        for batch in self.sampler:
            yield batch[shard_slice(len(batch), rank, size)]

    def __getattr__(self, name: str) -> Any:
        # Loaders are copied and sent to workers before there is a sampler.
        if name == "sampler":
            raise AttributeError(name)
        return getattr(self.sampler, name)

    def _place(self) -> tuple[int, int]:
        here = (dist.get_rank(), dist.get_world_size()) if _is_shared() else (0, 1)
        return here[0] if self._rank is None else self._rank, here[1] if self._size is None else self._size


def _is_shared() -> bool:
    return dist.is_available() and dist.is_initialized()
