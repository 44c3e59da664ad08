"""Batch norm over the shares of all processes, so that two processes with half a batch each are one with all of it.

Formula
    mean = mean over processes of their means;  var = mean of their variances + variance of their means
    y = (x - mean) / sqrt(var + eps) * weight + bias, and the gradient of exactly that

torch.nn.SyncBatchNorm does the same on accelerators alone; this runs wherever tensors can be summed.
"""

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from fairground.errors import require
from fairground.training.distributed.all_gather import all_gather

_PLAIN = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)


class SyncBatchNorm(_BatchNorm):
    """A batch norm whose statistics in training are those of the whole batch; every share has the same size."""

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
                setattr(parent, key, _shared(norm))


def _shared(norm: _BatchNorm) -> SyncBatchNorm:
    shared = SyncBatchNorm(norm.num_features, norm.eps, norm.momentum, norm.affine)
    # The very same tensors: an optimiser may hold them already.
    shared.weight, shared.bias = norm.weight, norm.bias
    shared.running_mean, shared.running_var = norm.running_mean, norm.running_var
    shared.num_batches_tracked = norm.num_batches_tracked
    return shared


def _all_but_channels(x: Tensor) -> list[int]:
    return [0, *range(2, x.ndim)]


def _along(values: Tensor, x: Tensor) -> Tensor:
    return values.view(1, -1, *[1] * (x.ndim - 2))


# `apply` has no types of its own.
_normalised: Callable[[Tensor, Tensor, Tensor, float], tuple[Tensor, Tensor, Tensor]] = _Normalise.apply
