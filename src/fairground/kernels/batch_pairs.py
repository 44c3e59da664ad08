"""The pairs of a batch as kernels need them: positives as a list and negatives in place.

Positives are few (n times the class size) and negatives nearly all, so positives are listed, in O(n log n), and
negatives are what is left of the (n, n) matrix. Equals `pair_weights`.
"""

from collections.abc import Callable
from typing import NamedTuple

import numba
import numpy as np
import torch

from fairground.contracts import KernelResult, LossInputs, as_pairs
from fairground.functional import draw_below, is_held
from fairground.kernels.vector_gradients import kernel_of_products

#: of larger classes, the formulas' sorting beats comparing every negative with each positive
MANY = 128


class ClassOrder(NamedTuple):
    """`rows` (n,): all rows, class by class. `start`, `stop` (n,): where the class of each row is in that order."""

    rows: np.ndarray
    start: np.ndarray
    stop: np.ndarray

    @property
    def n_positives(self) -> np.ndarray:
        """How many others (n,) of its class each row has."""
        return np.asarray(self.stop - self.start - 1)

    @property
    def n_negatives(self) -> np.ndarray:
        """How many rows (n,) of other classes there are for each row."""
        return np.asarray(len(self.rows) - (self.stop - self.start))

    @property
    def has_large_class(self) -> bool:
        return bool((self.n_positives >= MANY).any())

    def pairs_of(self, anchors: np.ndarray) -> "BatchPairs":
        """Return the pairs of all rows, listed in the order of `anchors`."""
        anchor, positive, place, own = (torch.from_numpy(column) for column in _list_pairs(*self, anchors))
        return BatchPairs(len(anchors), anchor, positive, place, own, None, bool((self.n_negatives > 0).any()))


def class_order(labels: torch.Tensor) -> ClassOrder:
    """Return the order of a batch, in O(n log n)."""
    names = labels.numpy()
    rows = np.argsort(names, kind="stable")
    ordered = names[rows]
    return ClassOrder(rows, np.searchsorted(ordered, names), np.searchsorted(ordered, names, side="right"))


class BatchPairs(NamedTuple):
    """`anchor`, `positive` (k,): ordered positive pairs. `place` (k,): where each stands in the flattened matrix.

    `own` holds the places of all that are not negatives: the diagonal and all pairs of one class, also of those that
    `where` has left out.
    `log_counts` (n, n) holds, for pairs chosen by a miner, the logarithm of how often each negative pair was chosen,
    minus infinity for never; None when every sample of another class is a negative.
    """

    n: int
    anchor: torch.Tensor
    positive: torch.Tensor
    place: torch.Tensor
    own: torch.Tensor
    log_counts: torch.Tensor | None
    has_negatives: bool

    @property
    def are_complete(self) -> bool:
        """Whether there is a positive pair and a negative pair."""
        return self.has_negatives and len(self.anchor) > 0

    def where(self, chosen: torch.Tensor) -> "BatchPairs":
        """Return the same with only the marked positive pairs, or those at these numbers."""
        numbers = chosen.nonzero().squeeze(1) if chosen.dtype == torch.bool else chosen
        anchor, positive, place = (index.take(numbers) for index in (self.anchor, self.positive, self.place))
        return self._replace(anchor=anchor, positive=positive, place=place)

    def keep_negatives_(self, logits: torch.Tensor) -> torch.Tensor:
        """Set all but negative pairs to minus infinity in place; a pair chosen c times gains log c, to count as c."""
        if self.log_counts is not None:
            return logits.add_(self.log_counts)
        logits.view(-1).index_fill_(0, self.own, -torch.inf)
        return logits

    def keep_pairs_(self, logits: torch.Tensor) -> torch.Tensor:
        """Set all but positive and negative pairs to minus infinity in place."""
        if self.log_counts is None:
            return logits.fill_diagonal_(-torch.inf)
        positives = logits.take(self.place)
        return logits.add_(self.log_counts).put_(self.place, positives)

    def per_anchor(self, values: torch.Tensor) -> torch.Tensor:
        """Return the sums (n,) of values (k,) of positive pairs over each anchor."""
        return values.new_zeros(self.n).index_add_(0, self.anchor, values)

    def n_positives(self, like: torch.Tensor) -> torch.Tensor:
        """Return how many positive pairs (n,) each row anchors, in the type of `like`."""
        return torch.bincount(self.anchor, minlength=self.n).to(like.dtype)


def batch_pairs(inputs: LossInputs, *, repeats: bool = False) -> BatchPairs:
    """Return all pairs of a batch, or those a miner chose; a pair chosen twice counts twice only with `repeats`."""
    if inputs.tuples is None:
        order = class_order(inputs.labels)
        return order.pairs_of(order.rows)
    n, chosen = len(inputs.labels), as_pairs(inputs.tuples)
    place = chosen.positive_anchor * n + chosen.positive
    if not repeats:
        place = torch.unique(place)
    counts = torch.bincount(chosen.negative_anchor * n + chosen.negative, minlength=n * n)
    counts = counts if repeats else counts.clamp_max_(1)
    log_counts = counts.to(inputs.embeddings.dtype).log_().view(n, n)
    return BatchPairs(n, place // n, place % n, place, place, log_counts, chosen.negative.numel() > 0)


@numba.njit(nogil=True, cache=True)
def _list_pairs(
    rows: np.ndarray, start: np.ndarray, stop: np.ndarray, anchors: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return every pair of an anchor with another row of its class, its place, and the places of all of its class."""
    n, count = len(rows), 0
    for i in anchors:
        count += stop[i] - start[i]
    pairs = np.empty((3, count - len(anchors)), np.int64)
    own = np.empty(count, np.int64)
    pair, seat = 0, 0
    for i in anchors:
        for k in range(start[i], stop[i]):
            j = rows[k]
            own[seat] = i * n + j
            seat += 1
            if i != j:
                pairs[0, pair], pairs[1, pair], pairs[2, pair] = i, j, i * n + j
                pair += 1
    return pairs[0], pairs[1], pairs[2], own


def one_random_positive(pairs: BatchPairs, generator: torch.Generator | None) -> BatchPairs:
    """Return the pairs with one positive left to each anchor that has any: the one that the formula draws."""
    counts = torch.bincount(pairs.anchor, minlength=pairs.n)
    number = draw_below(counts, generator)
    anchor = counts.nonzero().squeeze(1)
    first = counts.cumsum(0) - counts
    return pairs.where(pairs.place.argsort()[(first + number)[anchor]])


#: cosines (n, n) and the pairs of the batch -> the loss, and its gradient (n, n)
PairRule = Callable[[torch.Tensor, BatchPairs], tuple[torch.Tensor, torch.Tensor]]


def kernel_of_pairs(
    inputs: LossInputs, rule: PairRule, *, repeats: bool = False, complete: bool = True
) -> KernelResult | None:
    """Return the rule's loss and its gradient; None where the formula works in blocks.

    And None where `complete` asks for positive and negative pairs and there are none.
    """
    if inputs.tuples is None and not is_held(len(inputs.labels), len(inputs.labels)):
        return None
    pairs = batch_pairs(inputs, repeats=repeats)
    if complete and not pairs.are_complete:
        return None
    return kernel_of_products(inputs.embeddings, lambda cosines: rule(cosines, pairs), normalise=True)
