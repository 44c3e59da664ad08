"""Triplets of a batch: by number, as lists, switched at random, and sums over all of them.

Positives and negatives go by number ("positive 3 of row 7"). Lists are made in blocks of anchors.

A sum of [threshold - value]_+ over every threshold and every value is a straight line in each of its numbers: a
threshold t enters it once for every value below t, a value once for every threshold above it. So it equals
sum_t n_below(t) t - sum_v n_above(v) v , with counts that sorting finds: O(k + m) memory for k thresholds and m values.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from fairground.contracts.loss import Triplets
from fairground.functional import capped, draw_below, fractions, pair_masks


class Classmates(NamedTuple):
    """`order` (n,): rows sorted by class. For each row: its `place` in that order, its class' `start`, and counts.

    Rows with several labels have no such order: `positives` and `negatives` (n, n) then list those of each row first.
    """

    order: Tensor
    place: Tensor
    start: Tensor
    n_positives: Tensor
    n_negatives: Tensor
    positives: Tensor | None = None
    negatives: Tensor | None = None

    @property
    def n_triplets(self) -> Tensor:
        return self.n_positives * self.n_negatives


def classmates(labels: Tensor) -> Classmates:
    """Return who belongs with whom in a batch, in O(n log n); for marks (n, L) of several labels, in O(n^2)."""
    if labels.ndim == 2:
        masks, rows = pair_masks(labels), torch.arange(len(labels), device=labels.device)
        first = (mask.byte().argsort(dim=1, descending=True, stable=True) for mask in masks)
        return Classmates(rows, rows, rows, *(mask.sum(1) for mask in masks), *first)
    order = labels.argsort(stable=True)
    place = torch.empty_like(order)
    place[order] = torch.arange(len(order), device=order.device)
    # By searching, and not by `unique`, whose result a device would be waited for.
    ordered = labels[order]
    start = torch.searchsorted(ordered, labels)
    size = torch.searchsorted(ordered, labels, right=True) - start
    return Classmates(order, place, start, size - 1, len(labels) - size)


def positive_at(batch: Classmates, anchor: Tensor, number: Tensor) -> Tensor:
    """Return the row of each anchor's positive with this number, counted from 0."""
    if batch.positives is not None:
        return batch.positives[anchor, number]
    place = batch.start[anchor] + number
    return batch.order[place + (place >= batch.place[anchor])]


def negative_at(batch: Classmates, anchor: Tensor, number: Tensor) -> Tensor:
    """Return the row of each anchor's negative with this number, counted from 0."""
    if batch.negatives is not None:
        return batch.negatives[anchor, number]
    own_class = batch.n_positives[anchor] + 1
    return batch.order[number + own_class * (number >= batch.start[anchor])]


def triplet_at(batch: Classmates, anchor: Tensor, number: Tensor) -> Triplets:
    """Return each anchor's triplet with this number, counted from 0; negatives run fastest."""
    n_negatives = batch.n_negatives[anchor]
    positive = positive_at(batch, anchor, number // n_negatives)
    return Triplets(anchor, positive, negative_at(batch, anchor, number % n_negatives))


#: how many candidate triplets are looked at together: a few tens of megabytes
BLOCK = 2**21


def list_triplets(
    positive: Tensor,
    negatives_of: Callable[[Tensor, Tensor], Tensor],
    *,
    cap: int | None = None,
    generator: torch.Generator | None = None,
) -> Triplets:
    """Return every (a, p, n) with p marked in row a of `positive` (n, n) and n marked by `negatives_of(a, p)`.

    `negatives_of` takes the two index vectors (m,) of some positive pairs and returns a mask (m, n). With a `cap` at
    most that many triplets of each anchor stay, a uniform choice among them.
    """
    n = len(positive)
    widest = int(positive.sum(1).max()) * n if n else 0
    step = max(1, BLOCK // max(1, widest))
    blocks = []
    for first in range(0, n, step):
        anchor, partner = positive[first : first + step].nonzero(as_tuple=True)
        anchor = anchor + first
        pair, negative = negatives_of(anchor, partner).nonzero(as_tuple=True)
        block = Triplets(anchor[pair], partner[pair], negative)
        if cap is not None:
            kept = capped(block.anchor, n, cap, generator)
            block = Triplets(*(column[kept] for column in block))
        blocks.append(block)
    return blocks[0] if len(blocks) == 1 else Triplets(*(torch.cat(column) for column in zip(*blocks, strict=True)))


def active_counts(
    thresholds: Tensor, values: Tensor, *, groups: tuple[Tensor, Tensor] | None = None
) -> tuple[Tensor, Tensor]:
    """Return how many values are below each threshold, and how many thresholds are above each value.

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
    return counts[:k].view(thresholds.shape), counts[k:].view(values.shape)


def triplet_hinges(matrix: Tensor, positive: Tensor, negative: Tensor, margin: float) -> tuple[Tensor, Tensor]:
    """Return the sum of [matrix_ap - matrix_an + margin]_+ over the pairs (a, p) and (a, n) of two masks (n, n).

    And how many of these hinges are above 0.
    """
    # Neither sum nor counts change when a row moves as a whole; without their mean, its numbers cancel to more digits.
    mean = torch.where(negative, matrix, 0).sum(1, keepdim=True) / negative.sum(1, keepdim=True).clamp_min(1)
    matrix = matrix - mean.detach()
    near = torch.where(positive, matrix + margin, -torch.inf)
    far = torch.where(negative, matrix, torch.inf)
    row = torch.arange(len(matrix), device=matrix.device).unsqueeze(1).expand_as(matrix)
    return _hinge_sum(near, far, *active_counts(near, far, groups=(row, row)))


def quadruplet_hinges(
    matrix: Tensor, labels: Tensor, positive: Tensor, negative: Tensor, margin: float
) -> tuple[Tensor, Tensor]:
    """Return the sum of [matrix_ap - matrix_nl + margin]_+ over positive pairs (a, p) and pairs (n, l) of two classes.

    n and l are of other classes than a, and come in one order only. These are all pairs of two classes, less those that
    touch the class of a.
    """
    thresholds = torch.where(positive, matrix + margin, -torch.inf)
    upper = torch.where(negative.triu(1), matrix, torch.inf)
    below, above = active_counts(thresholds, upper)
    of_row = labels.unsqueeze(1).expand_as(matrix)
    own_below, own_above = active_counts(thresholds, torch.minimum(upper, upper.T), groups=(of_row, of_row))
    return _hinge_sum(thresholds, upper, below - own_below, above - (own_above + own_above.T).triu(1))


def _hinge_sum(thresholds: Tensor, values: Tensor, n_below: Tensor, n_above: Tensor) -> tuple[Tensor, Tensor]:
    """Return sum_t n_below(t) t - sum_v n_above(v) v, infinite entries taking no part; and the number of pairs."""
    of_thresholds = torch.where(thresholds == -torch.inf, 0, thresholds) * n_below
    of_values = torch.where(values == torch.inf, 0, values) * n_above
    return of_thresholds.sum() - of_values.sum(), n_below.sum()


def switch_triplets(
    triplets: Triplets, labels: Tensor, *, chance: float, reading: str, generator: torch.Generator | None
) -> Triplets:
    """Return the triplets, those of each anchor switched together with probability `chance`.

    `code` gives (a, a, p') with p' a uniform positive of a, `replace` gives (a, p, p), `swap` gives (a, n, p). Triplets
    of an anchor without positives stay as they are.
    """
    anchor, positive, negative = triplets
    batch = classmates(labels)
    is_switched = (fractions(len(labels), labels, generator) < chance) & (batch.n_positives > 0)
    switched = is_switched[anchor]
    if reading == "replace":
        return Triplets(anchor, positive, torch.where(switched, positive, negative))
    if reading == "swap":
        return Triplets(anchor, torch.where(switched, negative, positive), torch.where(switched, positive, negative))
    chosen = switched.nonzero().squeeze(1)
    anchor_of = anchor[chosen]
    other = positive_at(batch, anchor_of, draw_below(batch.n_positives[anchor_of], generator))
    return Triplets(anchor, positive.index_copy(0, chosen, anchor_of), negative.index_copy(0, chosen, other))
