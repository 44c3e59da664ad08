"""Sums of [threshold - value]_+ over every threshold and every value, without ever listing their pairs.

Such a sum is a straight line in each of its numbers: a threshold t enters it once for every value below t, a value once
for every threshold above it. So it equals  sum_t n_below(t) t - sum_v n_above(v) v , with counts that sorting finds.
Loops over k thresholds and m values would take O(k m) memory for their gradient; this takes O(k + m).
"""

from typing import NamedTuple

import torch
from torch import Tensor


class ActiveCounts(NamedTuple):
    """`below`: how many values are below each threshold. `above`: how many thresholds are above each value."""

    below: Tensor
    above: Tensor


def active_counts(thresholds: Tensor, values: Tensor, *, groups: tuple[Tensor, Tensor] | None = None) -> ActiveCounts:
    """Return the counts, in the shapes of `thresholds` and `values`, of pairs with threshold > value.

    A threshold of minus infinity and a value of infinity take no part. With `groups`, whole numbers in the same two
    shapes, only pairs of one group count.
    """
    k = thresholds.numel()
    # Of a threshold and a value that are equal the threshold comes first: their hinge is 0.
    mixed = torch.cat([thresholds.detach().reshape(-1), values.detach().reshape(-1)])
    order = mixed.sort(stable=True).indices
    group = torch.zeros_like(order)
    if groups is not None:
        group, by_group = torch.cat([part.reshape(-1) for part in groups])[order].sort(stable=True)
        order = order[by_group]
    is_value = (order >= k).long()
    n_values, n_thresholds = is_value.cumsum(0), (1 - is_value).cumsum(0)
    first, last = torch.searchsorted(group, group), torch.searchsorted(group, group, right=True) - 1
    n_below = n_values - (n_values - is_value)[first]
    n_above = n_thresholds[last] - n_thresholds
    counts = torch.empty_like(order).scatter(0, order, torch.where(is_value == 1, n_above, n_below))
    return ActiveCounts(counts[:k].view(thresholds.shape), counts[k:].view(values.shape))


class HingeSum(NamedTuple):
    """The sum of all hinges, and how many of them are above 0."""

    total: Tensor
    n_active: Tensor


def triplet_hinges(matrix: Tensor, positive: Tensor, negative: Tensor, margin: float) -> HingeSum:
    """Return the sum of [matrix_ap - matrix_an + margin]_+ over the pairs (a, p) and (a, n) of two masks (n, n)."""
    # Neither sum nor counts change when a row moves as a whole; without their mean, its numbers cancel to more digits.
    mean = torch.where(negative, matrix, 0).sum(1, keepdim=True) / negative.sum(1, keepdim=True).clamp_min(1)
    matrix = matrix - mean.detach()
    near = torch.where(positive, matrix + margin, -torch.inf)
    far = torch.where(negative, matrix, torch.inf)
    row = torch.arange(len(matrix), device=matrix.device).unsqueeze(1).expand_as(matrix)
    return hinge_sum(near, far, active_counts(near, far, groups=(row, row)))


def quadruplet_hinges(matrix: Tensor, labels: Tensor, positive: Tensor, negative: Tensor, margin: float) -> HingeSum:
    """Return the sum of [matrix_ap - matrix_nl + margin]_+ over positive pairs (a, p) and pairs (n, l) of two classes.

    n and l are of other classes than a, and come in one order only. These are all pairs of two classes, less those that
    touch the class of a.
    """
    thresholds = torch.where(positive, matrix + margin, -torch.inf)
    upper = torch.where(negative.triu(1), matrix, torch.inf)
    everyone = active_counts(thresholds, upper)
    of_row = labels.unsqueeze(1).expand_as(matrix)
    touching = active_counts(thresholds, torch.minimum(upper, upper.T), groups=(of_row, of_row))
    above = everyone.above - (touching.above + touching.above.T).triu(1)
    return hinge_sum(thresholds, upper, ActiveCounts(everyone.below - touching.below, above))


def hinge_sum(thresholds: Tensor, values: Tensor, counts: ActiveCounts) -> HingeSum:
    """Return sum_t n_below(t) t - sum_v n_above(v) v; infinite entries take no part."""
    above = torch.where(thresholds == -torch.inf, 0, thresholds) * counts.below
    below = torch.where(values == torch.inf, 0, values) * counts.above
    return HingeSum(above.sum() - below.sum(), counts.below.sum())
