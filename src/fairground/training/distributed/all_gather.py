"""Tensors gathered from all processes, with their gradient.

Processes that hold equal shares of a batch lay them end to end by rank. What comes back in `backward` depends on what
each process did with the whole: where all computed the same loss of it, each holds the complete gradient, and the
mean is taken, which also irons out the last digit where machines differ; where each used it for its own share, the
gradients are parts of a sum.
"""

from collections.abc import Callable
from typing import Any, Literal

import torch
import torch.distributed as dist
from torch import Tensor

Use = Literal["same", "own"]


def all_gather(share: Tensor, *, use: Use) -> Tensor:
    """Return all shares (size * k, ...) of this one (k, ...), each process having the same number of rows.

    `use` says what is done with the whole: the "same" on every process, or each its "own" part.
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
        # A copy: the gradient given may be somebody else's too.
        total = gradients[0].clone(memory_format=torch.contiguous_format)
        dist.all_reduce(total)
        own = total.chunk(dist.get_world_size())[dist.get_rank()]
        return (own / dist.get_world_size() if ctx.use == "same" else own), None


# `apply` has no types of its own.
_gathered: Callable[[Tensor, Use], Tensor] = _Gather.apply
