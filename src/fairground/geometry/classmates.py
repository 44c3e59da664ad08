"""The positives and negatives of every sample by number: "positive 3 of row 7", without any list of them."""

from typing import NamedTuple

import torch
from torch import Tensor

from fairground.contracts.tuples import Triplets
from fairground.geometry.masks import class_groups


class Classmates(NamedTuple):
    """`order` (n,): rows sorted by class. For each row: its `place` in that order, its class' `start`, and counts."""

    order: Tensor
    place: Tensor
    start: Tensor
    n_positives: Tensor
    n_negatives: Tensor

    @property
    def n_triplets(self) -> Tensor:
        """How many triplets (n,) each row anchors."""
        return self.n_positives * self.n_negatives


def classmates(labels: Tensor) -> Classmates:
    """Return who belongs with whom in a batch, in O(n log n)."""
    group, sizes = class_groups(labels)
    order = group.argsort(stable=True)
    place = torch.empty_like(order)
    place[order] = torch.arange(len(order), device=order.device)
    size = sizes[group]
    return Classmates(order, place, (sizes.cumsum(0) - sizes)[group], size - 1, len(labels) - size)


def positive_at(batch: Classmates, anchor: Tensor, number: Tensor) -> Tensor:
    """Return the row of each anchor's positive with this number, counted from 0."""
    place = batch.start[anchor] + number
    return batch.order[place + (place >= batch.place[anchor])]


def negative_at(batch: Classmates, anchor: Tensor, number: Tensor) -> Tensor:
    """Return the row of each anchor's negative with this number, counted from 0."""
    own_class = batch.n_positives[anchor] + 1
    return batch.order[number + own_class * (number >= batch.start[anchor])]


def triplet_at(batch: Classmates, anchor: Tensor, number: Tensor) -> Triplets:
    """Return each anchor's triplet with this number, counted from 0; negatives run fastest."""
    n_negatives = batch.n_negatives[anchor]
    positive = positive_at(batch, anchor, number // n_negatives)
    return Triplets(anchor, positive, negative_at(batch, anchor, number % n_negatives))
