"""The processes that train one model: usually one, or those of torchrun, equal to one process up to rounding.

    torchrun --nproc-per-node 2 -m fairground train loss=triplet

Every process draws the same batch, embeds its share, gathers all embeddings with gradient and computes the whole loss:
miners, memories, proxies and samplers need not know. Only the leader writes files; evaluation is divided by rows.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from fairground import training
from fairground.contracts import Augmentation, Device, Images, Mixing, PlannedTransform, Transform
from fairground.records import FairgroundError, RunFolder, require
from fairground.training import Checkpoints, Snapshot, device_named, seed_streams


class ProcessGroup:
    """One process alone. The leader, of rank 0, writes files and prints."""

    rank: int = 0
    size: int = 1
    is_leader: bool = True
    notes: tuple[str, ...] = ()

    def share(self, model: nn.Module, transform: Transform, *, is_whole: bool) -> Transform:
        """Make layers that look at the batch see all shares; return a transform that gives this process its share.

        `is_whole` says that each step goes once through all weights of the model that train.
        """
        return transform

    def checkpoints(self, folder: RunFolder) -> Checkpoints:
        return Checkpoints(folder.checkpoints, folder.name)

    def forward(self, model: nn.Module, images: Tensor, mixing: Mixing | None) -> Tensor:
        """Return the embeddings (b, d) of the whole batch, of which `images` are this process' share."""
        return model(images, mixing)

    def all_gather(self, embeddings: Tensor) -> Tensor:
        """Return the embeddings of all processes, in order, for a loss that every process computes in full."""
        return embeddings

    def reduce_gradients(self, value: Tensor, model: nn.Module, loss: nn.Module) -> Tensor:
        """Make every gradient that of the whole batch; return the loss that all processes agree on."""
        return value.detach()

    def divided(self, embed: Callable[[np.ndarray], Tensor], rows: np.ndarray) -> Tensor:
        """Return the embeddings of rows, of which every process computes a share."""
        return embed(rows)

    def broadcast_object(self, find: Callable[[], Any]) -> Any:
        """Return what the leader finds."""
        return find()

    def any(self, is_so: bool) -> bool:
        return is_so


ALONE: ProcessGroup = ProcessGroup()


@contextmanager
def joined(device: str = "auto") -> Iterator["TorchrunGroup"]:
    """Join the processes of torchrun; each has the accelerator of its place on its machine."""
    refusal = f"torchrun gives every process its own device: name the kind, not one of them; got '{device}'"
    require(":" not in device, refusal)
    if device != "cpu" and torch.accelerator.is_available():
        rank = dist.get_node_local_rank(fallback_rank=0)
        torch.accelerator.set_device_index(rank % torch.accelerator.device_count())
    place = device_named(device)
    # Without a name torch takes what suits the accelerator, if there is one. The others wait while the leader measures,
    # which may take longer than the ten minutes that NCCL has patience for.
    dist.init_process_group("gloo" if place.type == "cpu" else None, timeout=timedelta(hours=6))
    try:
        yield TorchrunGroup(place)
    finally:
        dist.destroy_process_group()


class TorchrunGroup(ProcessGroup):
    """The processes of one group, seen from one of them."""

    #: the model as an accelerator runs it: gradients are averaged while others are still computed
    _parallel: DistributedDataParallel | None = None

    def __init__(self, device: torch.device) -> None:
        self.rank, self.size, self._device = dist.get_rank(), dist.get_world_size(), device
        self.is_leader = self.rank == 0
        self.notes = (f"trained by {self.size} processes: results may differ from those of one in the last digits",)

    def share(self, model: nn.Module, transform: Transform, *, is_whole: bool) -> Transform:
        training.convert_batch_norms(model, self._device)
        has_weights = any(weight.requires_grad for weight in model.parameters())
        if self._device.type != "cpu" and is_whole and has_weights:
            self._parallel = DistributedDataParallel(model)
        return ShardTransform(transform=transform, rank=self.rank, size=self.size)

    def checkpoints(self, folder: RunFolder) -> Checkpoints:
        return SharedCheckpoints(folder, self)

    def forward(self, model: nn.Module, images: Tensor, mixing: Mixing | None) -> Tensor:
        if mixing is not None:
            own = shard_slice(len(mixing.partner), self.rank, self.size)
            mixing = mixing._replace(partner=mixing.partner[own], gather=training.gather_shares)
        # Dropout draws from torch's global stream: every process needs masks of its own, and the stream the same.
        common = int(torch.randint(2**62, ()))
        seed_streams(common + 1 + self.rank, images.device)
        embeddings = (self._parallel or model)(images, mixing)
        seed_streams(common, images.device)
        return training.gather_shares(embeddings)

    def all_gather(self, embeddings: Tensor) -> Tensor:
        return training.gather_shares(embeddings)

    def reduce_gradients(self, value: Tensor, model: nn.Module, loss: nn.Module) -> Tensor:
        # Every process computed the whole loss, so a share of the network has the gradient of as many losses as there
        # are processes, and the mean over processes is the gradient of one.
        weights = (*(model.parameters() if self._parallel is None else ()), *loss.parameters())
        averaged = [value.detach().reshape(1), *(weight.grad for weight in weights if weight.grad is not None)]
        flat = torch.cat([tensor.reshape(-1) for tensor in averaged])
        dist.all_reduce(flat)
        flat /= self.size
        own, number = map(float, torch.stack([value.detach(), flat[0]]).tolist())
        # NaN is not a disagreement: all processes then see that the run diverged.
        told = f"the processes disagree about the loss: process {self.rank} has {own}, all together {number}"
        does_agree = not abs(number - own) > 1e-3 * max(1.0, abs(own))
        require(does_agree, f"{told}; do they run the same code on the same data?", FairgroundError)
        means = torch.split(flat, [tensor.numel() for tensor in averaged])
        for gradient, mean in zip(averaged[1:], means[1:], strict=True):
            gradient.copy_(mean.view(gradient.shape))
        return flat[0]

    def divided(self, embed: Callable[[np.ndarray], Tensor], rows: np.ndarray) -> Tensor:
        share = -(-len(rows) // self.size)
        # The last shares are filled up with the first row, so that all are of one length.
        filled = np.concatenate([rows, np.repeat(rows[:1], share * self.size - len(rows))])
        own = embed(filled[shard_slice(len(filled), self.rank, self.size)])
        return training.gather_shares(own)[: len(rows)]

    def broadcast_object(self, find: Callable[[], Any]) -> Any:
        found = [find() if self.is_leader else None]
        dist.broadcast_object_list(found, src=0, device=self._device)
        return found[0]

    def any(self, is_so: bool) -> bool:
        count = torch.tensor([float(is_so)], device=self._device)
        dist.all_reduce(count)
        return bool(count.item() > 0)


class SharedCheckpoints(Checkpoints):
    """Checkpoints on the leader's disk, which sends what is in them to the others."""

    def __init__(self, folder: RunFolder, group: TorchrunGroup) -> None:
        super().__init__(folder.checkpoints, folder.name)
        self._group = group

    def save(self, step: int, snapshot: Snapshot) -> None:
        if self._group.is_leader:
            super().save(step, snapshot)

    def save_best(self, epoch: int, tensors: Mapping[str, Tensor]) -> dict[str, str]:
        return super().save_best(epoch, tensors) if self._group.is_leader else {"file": "", "sha256": ""}

    def load(self) -> Snapshot | None:
        found: Snapshot | None = self._group.broadcast_object(super().load)
        return found

    def load_best(self, best: Mapping[str, str]) -> dict[str, Tensor]:
        load = super().load_best
        weights: dict[str, Tensor] = self._group.broadcast_object(lambda: load(best))
        return weights


class ShardTransform(PlannedTransform):
    """`transform` for process `rank` of `size`; evaluation is left as it is.

    Augmentation draws for all rows of a batch from one generator. So every process draws for all of them, and makes
    only its own images. A transform without a `plan` of its own makes all of them in every process.
    """

    def __init__(self, *, transform: Transform, rank: int, size: int) -> None:
        self._transform, self._rank, self._size = transform, rank, size
        self.draws_globally = transform.draws_globally

    def plan(self, images: Images, rows: np.ndarray, generator: torch.Generator, device: Device = None) -> Augmentation:
        own = shard_slice(len(rows), self._rank, self._size)
        batch = self._transform.plan(images, rows, generator, device)
        return Augmentation(
            own.stop - own.start,
            lambda part: batch.make(slice(own.start + part.start, min(own.start + part.stop, own.stop))),
        )

    def evaluate(self, images: Images, rows: np.ndarray, device: Device = None) -> Tensor:
        return self._transform.evaluate(images, rows, device)


def shard_slice(n: int, rank: int, size: int) -> slice:
    """Return which of the `n` rows of a batch are process `rank`'s: equal shares, in order."""
    refusal = f"a batch of {n} cannot be shared equally by {size} processes"
    require(n % size == 0, f"{refusal}; training.batch_size must be a multiple of them")
    share = n // size
    return slice(rank * share, (rank + 1) * share)
