"""log sum exp over rows and over groups, with the shares that are its gradient; nothing overflows, nothing is NaN.

Equals `functional.logsumexp.weighted_logsumexp`. An empty sum is minus infinity, and its shares are 0.
"""

from math import inf
from typing import NamedTuple

import torch
from torch import Tensor

#: exponentials of numbers up to this magnitude, and sums of millions of them, are well inside float32
SAFE = 64.0


class RowSums(NamedTuple):
    """`log` (n,): log sum exp of each row. `terms` (n, m) over `total` (n,) is each entry's share, its gradient."""

    log: Tensor
    terms: Tensor
    total: Tensor

    def shares_(self, weights: Tensor) -> Tensor:
        """Return `weights` (n,) shared out along each row, in the memory of the terms."""
        return self.terms.mul_((weights / self.total).unsqueeze(1))


def row_sums_(logits: Tensor, *, plus_one: bool = False, within: float = inf) -> RowSums:
    """Return log sum_j exp(logits_ij), or log(1 + that sum), overwriting the logits (n, m).

    `within` bounds the magnitude of the logits, minus infinity aside: where that is safe, none need be shifted.
    """
    tiny = torch.finfo(logits.dtype).tiny
    if within <= SAFE:
        terms = logits.exp_()
        total = terms.sum(1)
        return RowSums(total.log1p(), terms, total.add_(1)) if plus_one else RowSums(total.log(), terms, total + tiny)
    top = logits.amax(1).clamp_min_(0 if plus_one else torch.finfo(logits.dtype).min)
    terms = logits.sub_(top.unsqueeze(1)).exp_()
    total = terms.sum(1)
    if plus_one:
        total += (-top).exp_()
    return RowSums(total.log().add_(top), terms, total.clamp_min_(tiny))


class GroupSums(NamedTuple):
    """`log` (n,): log sum exp of each group. `shares` (k,): each value's share in its group's sum, its gradient."""

    log: Tensor
    shares: Tensor


def group_sums(values: Tensor, group: Tensor, n: int, *, plus_one: bool = False, within: float = inf) -> GroupSums:
    """Return log sum exp, or log(1 + that sum), of the values (k,) in each of the groups 0..n-1."""
    if within <= SAFE:
        terms = values.exp()
        total = values.new_full((n,), plus_one).index_add_(0, group, terms)
        return GroupSums(total.log(), terms.div_(total.take(group)))
    top = values.new_full((n,), 0 if plus_one else torch.finfo(values.dtype).min)
    top.scatter_reduce_(0, group, values, "amax")
    terms = (values - top.take(group)).exp_()
    total = (-top).exp_() if plus_one else torch.zeros_like(top)
    total.index_add_(0, group, terms)
    return GroupSums(total.log().add_(top), terms.div_(total.take(group)))
