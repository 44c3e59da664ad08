"""Batch norms whose statistics are those of the whole batch, over all processes of torchrun."""

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from fairground.training import BATCH_NORMS, require


class _AllGather(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, share: Tensor) -> Tensor:
        ctx.own = slice(dist.get_rank() * len(share), (dist.get_rank() + 1) * len(share))
        shares = [torch.empty_like(share, memory_format=torch.contiguous_format) for _ in range(dist.get_world_size())]
        dist.all_gather(shares, share.contiguous())
        return torch.cat(shares)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        total = gradient.clone(memory_format=torch.contiguous_format)
        dist.all_reduce(total)
        return total[ctx.own]


def gather_shares(share: Tensor) -> Tensor:
    """Return the shares (k, ...) of all processes end to end by rank; gradients are summed over all processes."""
    return _AllGather.apply(share)  # type: ignore[no-untyped-call]


class SyncBatchNorm(nn.BatchNorm2d):
    """A batch norm whose statistics in training are those of the whole batch; every share has the same size.

    mean = mean over processes of their means;  var = mean of their variances + variance of their means
    torch.nn.SyncBatchNorm does the same, on CUDA devices only. timm joins dropout and activation to it as `drop` and
    `act`.
    """

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002 - torch's own name
        known = (self.running_mean, self.running_var, self.weight, self.bias)
        output = self._normalise(input) if self.training else nn.functional.batch_norm(input, *known, eps=self.eps)
        for following in self.children():
            output = following(output)
        return output

    def _normalise(self, input: Tensor) -> Tensor:  # noqa: A002 - torch's own name
        wide = input.float() if input.dtype in (torch.float16, torch.bfloat16) else input
        own_variance, own_mean = torch.var_mean(wide, [0, *range(2, input.ndim)], correction=0)
        means, variances = gather_shares(torch.stack([own_mean, own_variance]).unsqueeze(0)).unbind(1)
        mean, variance = means.mean(0), variances.mean(0) + means.var(0, correction=0)
        count = dist.get_world_size() * input.numel() // len(mean)
        assert self.running_mean is not None
        assert self.running_var is not None
        assert self.num_batches_tracked is not None
        self.num_batches_tracked.add_(1)
        factor = self.momentum if self.momentum is not None else 1 / float(self.num_batches_tracked)
        self.running_mean.lerp_(mean.detach(), factor)
        self.running_var.lerp_(variance.detach() * (count / max(count - 1, 1)), factor)
        scale = (variance + self.eps).rsqrt()
        along_channels = (1, -1, *[1] * (input.ndim - 2))
        scale = scale if self.weight is None else scale * self.weight
        output = (wide - mean.view(along_channels)) * scale.view(along_channels)
        return (output if self.bias is None else output + self.bias.view(along_channels)).to(input.dtype)


def convert_batch_norms(model: nn.Module, device: torch.device) -> None:
    """Replace every batch norm that would take its statistics from a share; refuse those that cannot be replaced."""
    model.train()
    kind = nn.SyncBatchNorm if device.type == "cuda" else SyncBatchNorm
    for name, parent in list(model.named_modules()):
        for key, norm in list(parent.named_children()):
            if isinstance(norm, BATCH_NORMS) and norm.training:
                joined_on = dict(norm.named_children())
                with_activation = type(norm).__module__.startswith("timm.") and [*joined_on] == ["drop", "act"]
                is_known = (type(norm) in BATCH_NORMS or with_activation) and norm.track_running_stats
                refusal = f"'{name}.{key}' is a {type(norm).__name__}: its statistics cannot be those of all processes"
                require(is_known, f"{refusal}; set training.freeze_batch_norm=stats, or train in one process")
                made = SyncBatchNorm if with_activation else kind
                shared = made(norm.num_features, norm.eps, norm.momentum, norm.affine)
                for part, module in joined_on.items():
                    shared.add_module(part, module)
                # The very same tensors: an optimiser may have them already.
                shared.weight, shared.bias = norm.weight, norm.bias
                shared.running_mean, shared.running_var = norm.running_mean, norm.running_var
                shared.num_batches_tracked = norm.num_batches_tracked
                setattr(parent, key, shared)
