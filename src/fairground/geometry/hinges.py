"""Sums of hinges over all pairs or all triplets of a batch, exact, without ever listing a triplet.

The gradient of a hinge is 0 or 1, so the gradient of a sum of them is a matrix of counts; both are found together and
in O(n^2) memory. The gradients are written out and cannot be differentiated a second time.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from fairground.geometry.positives import Positives

#: from this many positives a row on, one binary search per entry beats one comparison per entry and positive
_MANY = 64
#: how many entries are searched together: the answers are 64-bit
_BLOCK = 2**22


class PairHinges(NamedTuple):
    """Row sums (n,) of the hinges of positive and of negative pairs, and how many (n,) of them are above 0."""

    positive: Tensor
    negative: Tensor
    n_positive: Tensor
    n_negative: Tensor


def pair_hinges(matrix: Tensor, positives: Positives, upper: Tensor | float, lower: Tensor | float) -> PairHinges:
    """Return the sums over each row of [matrix - upper]_+ at its positives and of [lower - matrix]_+ at its negatives.

    `upper` and `lower` are numbers, or one for each row as (n, 1); those have gradients too.
    """
    return PairHinges(*_pair_hinges(matrix, positives.rows, positives.exists, upper, lower))


def triplet_hinges(matrix: Tensor, positives: Positives, margin: float) -> tuple[Tensor, Tensor]:
    """Return the sum of [matrix_ap - matrix_an + margin]_+ over all triplets, and how many of them are above 0."""
    return _triplet_hinges(matrix, positives.rows, positives.exists, margin)


def negatives_only(matrix: Tensor, rows: Tensor) -> Tensor:
    """Return a copy with infinity wherever row and column are of one class; `rows` (n, k) are the positives."""
    return matrix.detach().clone().scatter_(1, rows, torch.inf).fill_diagonal_(torch.inf)


class _PairHinges(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, matrix: Tensor, rows: Tensor, exists: Tensor, upper: Tensor | float, lower: Tensor | float
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        near = torch.where(exists, matrix.gather(1, rows) - upper, 0).relu_()
        far = (lower - negatives_only(matrix, rows)).relu_()
        sums = near.sum(1), far.sum(1)
        near, far = near.sign_(), far.sign_()
        counts = near.sum(1), far.sum(1)
        ctx.save_for_backward(rows, near, far, *counts)
        ctx.mark_non_differentiable(*counts)
        return *sums, *counts

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        rows, near, far, n_near, n_far = ctx.saved_tensors
        pull, push = gradients[0].unsqueeze(1), gradients[1].unsqueeze(1)
        matrix = (far * -push).scatter_add_(1, rows, near * pull)
        upper = -pull * n_near.unsqueeze(1) if ctx.needs_input_grad[3] else None
        lower = push * n_far.unsqueeze(1) if ctx.needs_input_grad[4] else None
        return matrix, None, None, upper, lower


class _TripletHinges(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, matrix: Tensor, rows: Tensor, exists: Tensor, margin: float) -> tuple[Tensor, Tensor]:
        # A negative takes part in as many active triplets as there are thresholds d_ap + margin above it.
        thresholds = torch.where(exists, matrix.gather(1, rows) + margin, -torch.inf)
        negatives = negatives_only(matrix, rows)
        count = _count_few if rows.shape[1] < _MANY else _count_many
        total, n_below, n_above = count(thresholds, negatives)
        ctx.save_for_backward(n_above.neg_().scatter_add_(1, rows, n_below))
        n_active = n_below.sum()
        ctx.mark_non_differentiable(n_active)
        return total, n_active

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None, None]:
        (slopes,) = ctx.saved_tensors
        return slopes * gradients[0], None, None, None


def _count_few(thresholds: Tensor, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the sum of [threshold - value]_+ within rows, values below each threshold, thresholds above each value."""
    total = values.new_zeros(())
    n_below = torch.empty_like(thresholds)
    n_above = torch.zeros_like(values)
    for j in range(thresholds.shape[1]):
        hinges = (thresholds[:, j : j + 1] - values).relu_()
        total += hinges.sum()
        n_above += hinges.sign_()
        torch.sum(hinges, 1, out=n_below[:, j])
    return total, n_below, n_above


def _count_many(thresholds: Tensor, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return what `_count_few` does, by searching every value among the sorted thresholds of its row."""
    k = thresholds.shape[1]
    ordered, order = thresholds.sort(1)
    n_below = torch.empty_like(thresholds)
    n_above = torch.empty_like(values)
    step = max(1, _BLOCK // values.shape[1])
    for first in range(0, len(values), step):
        block = slice(first, first + step)
        n_passed = torch.searchsorted(ordered[block], values[block], right=True)
        n_above[block] = k - n_passed
        # A threshold is above all the values that pass no more thresholds than there are before it.
        m = len(n_passed)
        n_passed += torch.arange(m, device=values.device).unsqueeze(1) * (k + 1)
        histogram = torch.bincount(n_passed.view(-1), minlength=m * (k + 1)).view(m, k + 1)
        n_below[block] = histogram[:, :k].cumsum(1)
    products = torch.where(n_below > 0, ordered * n_below, 0).sum(1) - torch.where(
        n_above > 0, values * n_above, 0
    ).sum(1)
    return products.sum(), torch.empty_like(n_below).scatter_(1, order, n_below), n_above


# `apply` has no types of its own.
_pair_hinges: Callable[..., tuple[Tensor, Tensor, Tensor, Tensor]] = _PairHinges.apply
_triplet_hinges: Callable[[Tensor, Tensor, Tensor, float], tuple[Tensor, Tensor]] = _TripletHinges.apply
