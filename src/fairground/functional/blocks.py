"""Sums over blocks of rows that are worked out anew for the gradient, so that memory stays that of one block."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

#: how many numbers a block may hold: a few tens of megabytes
BLOCK = 2**22


def sum_over_blocks(block_sum: Callable[[slice], Tensor], n: int, per_row: int) -> Tensor:
    """Return the sum of `block_sum(rows)` over slices of 0..n-1, each as long as BLOCK numbers at `per_row` a row."""
    step = max(1, BLOCK // max(1, per_row))
    blocks = [slice(first, first + step) for first in range(0, max(n, 1), step)]
    if len(blocks) == 1:
        return block_sum(blocks[0])
    # Transforms of torch.func know no recomputing: there, every block is kept for the gradient.
    recomputes = not torch._C._are_functorch_transforms_active()
    sums = (checkpoint(block_sum, block, use_reentrant=False) if recomputes else block_sum(block) for block in blocks)
    return torch.stack(list(sums)).sum(0)
