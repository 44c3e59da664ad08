"""One training shared by the processes of torchrun, with the digits of one process up to rounding.

    torchrun --nproc-per-node 2 -m fairground train loss=triplet

Every process draws the same batch from a sampler in the same state and embeds its own share. The embeddings are
gathered, with gradient, and every process mines and computes the whole loss of the whole batch: so miners, memories,
proxies and samplers are the same everywhere and need not know. The gradients of the network's weights are then summed;
those of the loss' own weights are already whole. The leader alone writes files; evaluation is shared out row by row.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn

from fairground.contracts.mixing import Mixing
from fairground.contracts.model import Transform
from fairground.contracts.table import Images
from fairground.errors import FairgroundError, require
from fairground.evaluation.embed import embed
from fairground.records.run_folder import RunFolder
from fairground.training.assemble import best_device
from fairground.training.checkpoint import Checkpoints, Snapshot, from_bytes, to_bytes
from fairground.training.distributed.all_gather import all_gather
from fairground.training.distributed.process_group import ProcessGroup
from fairground.training.distributed.shard import ShardTransform, shard_slice
from fairground.training.distributed.sync_batch_norm import convert_batch_norms

#: gradients are summed in pieces of about this many numbers: few messages, little extra memory
_PIECE = 1 << 22


@contextmanager
def joined() -> Iterator["TorchrunGroup"]:
    """Join the processes that torchrun started, and leave them in order."""
    if torch.accelerator.is_available():
        torch.accelerator.set_device_index(_local_rank() % torch.accelerator.device_count())
    # Without a name torch takes what suits: gloo for processors, the vendor's own for accelerators.
    dist.init_process_group()
    try:
        yield TorchrunGroup()
    finally:
        dist.destroy_process_group()


class TorchrunGroup(ProcessGroup):
    """The processes of one group, seen from one of them."""

    def __init__(self) -> None:
        self.rank, self.size = dist.get_rank(), dist.get_world_size()

    def notes(self) -> tuple[str, ...]:
        """Return how many trained."""
        return (f"trained by {self.size} processes: the last digits may differ from those of one",)

    def ready(self, model: nn.Module) -> None:
        """Let batch norm see the whole batch."""
        convert_batch_norms(model)

    def shard(self, transform: Transform) -> Transform:
        """Return a transform that reads and augments this process' rows alone."""
        return ShardTransform(transform=transform, rank=self.rank, size=self.size)

    def checkpoints(self, folder: RunFolder) -> Checkpoints:
        """Return checkpoints that the leader writes and everybody hears."""
        return SharedCheckpoints(folder, self)

    def forward(self, model: nn.Module, images: Tensor, mixing: Mixing | None) -> Tensor:
        """Return the embeddings of the whole batch, with gradient to this process' share."""
        if mixing is not None:
            own = shard_slice(len(mixing.partner), self.rank, self.size)
            mixing = mixing._replace(partner=mixing.partner[own], gather=lambda hidden: all_gather(hidden, use="own"))
        # Dropout draws from torch's global stream: every process needs masks of its own, and the stream the same.
        common = int(torch.randint(2**62, ()))
        torch.manual_seed(common + 1 + self.rank)
        embeddings = model(images, mixing)
        torch.manual_seed(common)
        return self.all_gather(embeddings)

    def all_gather(self, embeddings: Tensor) -> Tensor:
        """Return everybody's embeddings, in order, for a loss that every process computes in full."""
        return all_gather(embeddings, use="same")

    def reduce_gradients(self, value: Tensor, model: nn.Module, loss: nn.Module) -> float:
        """Sum the network's gradients, take the mean of the loss' own, and return the mean of the losses."""
        network_gradients = [weight.grad for weight in model.parameters() if weight.grad is not None]
        own_gradients = [weight.grad for weight in loss.parameters() if weight.grad is not None]
        agreed = value.detach().reshape(1) / self.size
        for gradient in own_gradients:
            gradient.div_(self.size)
        _sum_all([*network_gradients, *own_gradients, agreed])
        number, own = float(agreed), value.item()
        # Not a number is no disagreement: everybody then sees that the run diverged.
        require(
            not abs(number - own) > 1e-3 * max(1.0, abs(own)),
            f"the processes disagree about the loss: process {self.rank} has {own}, all together {number}; "
            "do they run the same code on the same data?",
            FairgroundError,
        )
        return number

    def embed(
        self, model: nn.Module, images: Images, rows: np.ndarray, transform: Transform, *, device: torch.device | None
    ) -> Tensor:
        """Return the embeddings of all `rows`, each process having made its share."""
        share = -(-len(rows) // self.size)
        # The last shares are filled up with the first row, so that all are of one length.
        filled = np.concatenate([rows, np.repeat(rows[:1], share * self.size - len(rows))])
        own = embed(model, images, filled[shard_slice(len(filled), self.rank, self.size)], transform, device=device)
        return all_gather(own, use="same")[: len(rows)]

    def broadcast_object(self, find: Callable[[], Any]) -> Any:
        """Return what the leader finds, sent as JSON."""
        text = json.dumps(find()).encode() if self.is_leader else b""
        return json.loads(self.broadcast(text))

    def any(self, is_so: bool) -> bool:
        """Tell whether it is so for anybody."""
        count = torch.tensor([float(is_so)], device=best_device())
        dist.all_reduce(count)
        return bool(count.item() > 0)

    def broadcast(self, data: bytes) -> bytes:
        """Return the leader's `data`."""
        size = torch.tensor([len(data)], device=best_device())
        dist.broadcast(size, src=0)
        box = torch.zeros(int(size), dtype=torch.uint8, device=size.device)
        if self.is_leader and data:
            box.copy_(torch.frombuffer(bytearray(data), dtype=torch.uint8))
        dist.broadcast(box, src=0)
        return box.cpu().numpy().tobytes()


class SharedCheckpoints(Checkpoints):
    """Checkpoints on the leader's disk alone; the others hear from it what was in them."""

    def __init__(self, folder: RunFolder, group: TorchrunGroup) -> None:
        super().__init__(folder.checkpoints, folder.name)
        self._group = group

    def save(self, step: int, snapshot: Snapshot) -> None:
        """Write a checkpoint, if this is the leader."""
        if self._group.is_leader:
            super().save(step, snapshot)

    def save_best(self, epoch: int, tensors: Any) -> dict[str, str]:
        """Write the best weights so far, if this is the leader."""
        return super().save_best(epoch, tensors) if self._group.is_leader else {"file": "", "sha256": ""}

    def load(self) -> Snapshot | None:
        """Return the newest whole checkpoint on the leader's disk."""
        found = super().load() if self._group.is_leader else None
        facts = self._group.broadcast_object(lambda: None if found is None else found.facts)
        if facts is None:
            return None
        return Snapshot(tensors=self._sent(None if found is None else found.tensors), facts=facts)

    def load_best(self, best: Any) -> dict[str, Tensor]:
        """Return the best weights on the leader's disk."""
        return self._sent(super().load_best(best) if self._group.is_leader else None)

    def _sent(self, tensors: Any) -> dict[str, Tensor]:
        return from_bytes(self._group.broadcast(to_bytes(tensors) if self._group.is_leader else b""))


def _sum_all(tensors: Sequence[Tensor]) -> None:
    """Replace every tensor by its sum over all processes, several to a message."""
    piece: list[Tensor] = []
    for tensor in tensors:
        piece.append(tensor)
        if sum(part.numel() for part in piece) >= _PIECE:
            _sum_flattened(piece)
            piece = []
    if piece:
        _sum_flattened(piece)


def _sum_flattened(tensors: Sequence[Tensor]) -> None:
    flat = torch.cat([tensor.reshape(-1) for tensor in tensors])
    dist.all_reduce(flat)
    totals = torch.split(flat, [tensor.numel() for tensor in tensors])
    for tensor, total in zip(tensors, totals, strict=True):
        tensor.copy_(total.view(tensor.shape))


def _local_rank() -> int:
    return dist.get_node_local_rank(fallback_rank=0)
