"""One training shared by the processes of torchrun, equal to one process up to rounding.

    torchrun --nproc-per-node 2 -m fairground train loss=triplet

Every process draws the same batch from a sampler in the same state and embeds its own share. The embeddings are
gathered, with gradient, and every process mines and computes the whole loss of the whole batch: so miners, memories,
proxies and samplers are the same everywhere and need not know. The gradients of the network's weights are then summed;
those of the loss' own weights are already whole. Only the leader writes files; evaluation is divided by rows.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from fairground.contracts.model import Augmentation, Mixing, PlannedTransform, Transform
from fairground.contracts.table import Images
from fairground.errors import FairgroundError, require
from fairground.evaluation.embed import embed
from fairground.records.run_folder import RunFolder
from fairground.training.assemble import best_device
from fairground.training.checkpoint import Checkpoints, Snapshot, from_bytes, to_bytes
from fairground.training.process_group import ProcessGroup

#: gradients are summed in pieces of about this many numbers: few messages, little extra memory
_PIECE = 1 << 22


@contextmanager
def joined() -> Iterator["TorchrunGroup"]:
    """Join the processes that torchrun started, and leave them at the end."""
    if torch.accelerator.is_available():
        rank = dist.get_node_local_rank(fallback_rank=0)
        torch.accelerator.set_device_index(rank % torch.accelerator.device_count())
    # Without a name torch takes what suits: gloo for CPUs, the vendor's own for accelerators.
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
        """Return how many processes trained."""
        return (f"trained by {self.size} processes: results may differ from those of one in the last digits",)

    def ready(self, model: nn.Module) -> None:
        """Let batch norm see the whole batch."""
        convert_batch_norms(model)

    def shard(self, transform: Transform) -> Transform:
        """Return a transform that reads and augments this process' rows alone."""
        return ShardTransform(transform=transform, rank=self.rank, size=self.size)

    def checkpoints(self, folder: RunFolder) -> Checkpoints:
        """Return checkpoints that the leader writes and sends to all."""
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
        """Return the embeddings of all processes, in order, for a loss that every process computes in full."""
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
        # NaN is not a disagreement: all processes then see that the run diverged.
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
        """Return what `find` gives on the leader, sent as JSON."""
        text = json.dumps(find()).encode() if self.is_leader else b""
        return json.loads(self.broadcast(text))

    def any(self, is_so: bool) -> bool:
        """Whether it is so in any process."""
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
    """Checkpoints on the leader's disk, which sends what is in them to the others."""

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
        values = self._group.broadcast_object(lambda: None if found is None else found.values)
        if values is None:
            return None
        return Snapshot(tensors=self._sent(None if found is None else found.tensors), values=values)

    def load_best(self, best: Any) -> dict[str, Tensor]:
        """Return the best weights on the leader's disk."""
        return self._sent(super().load_best(best) if self._group.is_leader else None)

    def _sent(self, tensors: Any) -> dict[str, Tensor]:
        return from_bytes(self._group.broadcast(to_bytes(tensors) if self._group.is_leader else b""))


def _sum_all(tensors: Sequence[Tensor]) -> None:
    """Replace every tensor by its sum over all processes, several per message."""
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


class ShardTransform(PlannedTransform):
    """`transform` for process `rank` of `size`; evaluation is left as it is.

    Augmentation draws for all rows of a batch from one generator. So every process draws for all of them, and makes
    only its own images. A transform without a `plan` of its own makes all of them in every process.
    """

    def __init__(self, *, transform: Transform, rank: int, size: int) -> None:
        self._transform, self._rank, self._size = transform, rank, size

    def plan(self, images: Images, rows: np.ndarray, generator: torch.Generator) -> Augmentation:
        """Draw for all of `rows`; make this process' share of them."""
        own = shard_slice(len(rows), self._rank, self._size)
        batch = self._transform.plan(images, rows, generator)
        return Augmentation(
            own.stop - own.start,
            lambda part: batch.make(slice(own.start + part.start, min(own.start + part.stop, own.stop))),
        )

    def evaluate(self, images: Images, rows: np.ndarray, device: torch.device | None = None) -> Tensor:
        """Return all images of `rows`, plain."""
        return self._transform.evaluate(images, rows, device)


def shard_slice(n: int, rank: int, size: int) -> slice:
    """Return which of the `n` rows of a batch are process `rank`'s: equal shares, in order."""
    require(
        n % size == 0,
        f"a batch of {n} cannot be shared equally by {size} processes; training.batch_size must be a multiple of them",
    )
    share = n // size
    return slice(rank * share, (rank + 1) * share)


Use = Literal["same", "own"]


def all_gather(share: Tensor, *, use: Use) -> Tensor:
    """Return the shares (k, ...) of all processes end to end by rank, (size * k, ...), with gradient.

    What comes back in `backward` depends on the `use` of the whole. Where every process computed the "same" loss, each
    has the complete gradient, and the mean is taken; where each used it for its "own" share, the gradients are summed.
    """
    return _gathered(share, use)


class _Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, share: Tensor, use: Use) -> Tensor:
        ctx.use = use
        share = share.contiguous()
        shares = [torch.empty_like(share) for _ in range(dist.get_world_size())]
        dist.all_gather(shares, share)
        return torch.cat(shares)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        # A copy: autograd may use the given gradient elsewhere too.
        total = gradients[0].clone(memory_format=torch.contiguous_format)
        dist.all_reduce(total)
        own = total.chunk(dist.get_world_size())[dist.get_rank()]
        return (own / dist.get_world_size() if ctx.use == "same" else own), None


# `apply` has no types of its own.
_gathered: Callable[[Tensor, Use], Tensor] = _Gather.apply


_PLAIN = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)


class SyncBatchNorm(_BatchNorm):
    """A batch norm whose statistics in training are those of the whole batch; every share has the same size.

    mean = mean over processes of their means;  var = mean of their variances + variance of their means
    torch.nn.SyncBatchNorm does the same, but only on accelerators.
    """

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002 - torch's own name
        """Return `input` normalised."""
        if not self.training:
            return super().forward(input)
        output, mean, variance = _normalised(input, self.weight, self.bias, self.eps)
        self._remember(mean, variance, dist.get_world_size() * input.numel() // len(mean))
        return output

    def _check_input_dim(self, input: Tensor) -> None:  # noqa: A002 - torch's own name
        """Any number of dimensions will do."""

    @torch.no_grad()
    def _remember(self, mean: Tensor, variance: Tensor, count: int) -> None:
        assert self.running_mean is not None
        assert self.running_var is not None
        assert self.num_batches_tracked is not None
        self.num_batches_tracked.add_(1)
        factor = self.momentum if self.momentum is not None else 1 / float(self.num_batches_tracked)
        self.running_mean.lerp_(mean, factor)
        self.running_var.lerp_(variance * (count / max(count - 1, 1)), factor)


class _Normalise(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float
    ) -> tuple[Tensor, Tensor, Tensor]:
        wide = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
        own_variance, own_mean = torch.var_mean(wide, _all_but_channels(x), correction=0)
        moments = all_gather(torch.stack([own_mean, own_variance]).unsqueeze(0), use="own")
        mean = moments[:, 0].mean(0)
        variance = moments[:, 1].mean(0) + moments[:, 0].var(0, correction=0)
        scale = (variance + eps).rsqrt()
        output = (wide - _along(mean, x)) * _along(scale if weight is None else scale * weight, x)
        if bias is not None:
            output = output + _along(bias, x)
        ctx.save_for_backward(x, weight, mean, scale)
        ctx.has_bias = bias is not None
        ctx.mark_non_differentiable(mean, variance)
        return output.to(x.dtype), mean, variance

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor | None, Tensor | None, None]:
        x, weight, mean, scale = ctx.saved_tensors
        slope = gradients[0].to(mean.dtype)
        standard = (x.to(mean.dtype) - _along(mean, x)) * _along(scale, x)
        dims = _all_but_channels(x)
        own = torch.stack([slope.sum(dims), (slope * standard).sum(dims)])
        total = own.clone()
        dist.all_reduce(total)
        count = dist.get_world_size() * x.numel() // len(mean)
        centred = slope - _along(total[0] / count, x) - standard * _along(total[1] / count, x)
        by_x = centred * _along(scale if weight is None else scale * weight, x)
        # The weights' gradients are those of this share: all weights' are summed over the processes later.
        return by_x.to(x.dtype), None if weight is None else own[1], own[0] if ctx.has_bias else None, None


def convert_batch_norms(model: nn.Module) -> None:
    """Replace every batch norm that would take its statistics from a share; refuse those that cannot be replaced."""
    model.train()
    for name, parent in list(model.named_modules()):
        for key, norm in list(parent.named_children()):
            if isinstance(norm, _BatchNorm) and norm.training:
                require(
                    type(norm) in _PLAIN and norm.track_running_stats,
                    f"'{name}.{key}' is a {type(norm).__name__}, which cannot take its statistics from all processes; "
                    "say training.freeze_batch_norm=stats, or train in one process",
                )
                shared = SyncBatchNorm(norm.num_features, norm.eps, norm.momentum, norm.affine)
                # The very same tensors: an optimiser may have them already.
                shared.weight, shared.bias = norm.weight, norm.bias
                shared.running_mean, shared.running_var = norm.running_mean, norm.running_var
                shared.num_batches_tracked = norm.num_batches_tracked
                setattr(parent, key, shared)


def _all_but_channels(x: Tensor) -> list[int]:
    return [0, *range(2, x.ndim)]


def _along(values: Tensor, x: Tensor) -> Tensor:
    return values.view(1, -1, *[1] * (x.ndim - 2))


# `apply` has no types of its own.
_normalised: Callable[[Tensor, Tensor, Tensor, float], tuple[Tensor, Tensor, Tensor]] = _Normalise.apply
