"""log sum exp over rows and over groups, with the shares that are its slopes; nothing overflows, nothing is NaN.

An empty sum is minus infinity, and its shares are 0.
"""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional


class RowSums(NamedTuple):
    """`log` (n,): log sum exp of each row. `terms` (n, m) over `total` (n, 1) is each entry's share, its slope."""

    log: Tensor
    terms: Tensor
    total: Tensor

    def shares_(self, weights: Tensor) -> Tensor:
        """Return `weights` (n,) shared out along each row, in the memory of the terms."""
        return self.terms.mul_(weights.unsqueeze(1) / self.total)


def row_sums_(logits: Tensor, *, plus_one: bool = False) -> RowSums:
    """Return log sum_j exp(logits_ij), or log(1 + that sum), overwriting the logits (n, m)."""
    limits = torch.finfo(logits.dtype)
    top = logits.amax(1, keepdim=True).clamp_min_(0 if plus_one else limits.min)
    terms = logits.sub_(top).exp_()
    total = terms.sum(1, keepdim=True)
    if plus_one:
        total += (-top).exp_()
    return RowSums((total.log() + top).squeeze(1), terms, total.clamp_min_(limits.tiny))


class GroupSums(NamedTuple):
    """`log` (n,): log sum exp of each group. `shares` (k,): the share of each value in its group's sum, its slope."""

    log: Tensor
    shares: Tensor


def group_sums(values: Tensor, group: Tensor, n: int, *, plus_one: bool = False) -> GroupSums:
    """Return log sum exp, or log(1 + that sum), of the values (k,) in each of the groups 0..n-1."""
    limits = torch.finfo(values.dtype)
    top = values.new_full((n,), 0 if plus_one else limits.min).scatter_reduce_(0, group, values, "amax")
    terms = (values - top.take(group)).exp_()
    total = (-top).exp_() if plus_one else torch.zeros_like(top)
    total.index_add_(0, group, terms)
    return GroupSums(total.log() + top, terms.div_(total.take(group)))


def softplus(values: Tensor) -> Tensor:
    """Return log(1 + exp(values)) to the last digit: torch switches to the identity above 20 unless told to wait."""
    return functional.softplus(values, threshold=80)
