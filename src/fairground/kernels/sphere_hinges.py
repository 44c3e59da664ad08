"""Losses of unit vectors that are means of hinges of their distances, each with its gradient by the vectors.

What is returned here is what `slopes.with_gradient` asks for: a gradient without its part along the vectors will do.
In main memory compiled loops do the work; elsewhere the same is done by tensor operations. Both are exact and take
O(n^2) memory.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from fairground.functional.distances import distances, squared_distances
from fairground.functional.pairs import list_positives
from fairground.kernels import compiled_hinges
from fairground.kernels.hinges import pair_hinges, triplet_hinges

#: from this class size on, searching among the sorted positives beats comparing every negative with each
MANY = 128

#: a number, as it is or as a tensor of one entry
Number = float | Tensor


class PairTotals(NamedTuple):
    """Sums of the hinges of positive (`near`) and negative pairs (`far`), and how many of them are above 0.

    `n_either` is how many triplets have a hinge above 0; `n_positive` and `n_negative` how many pairs there are.
    """

    near: Number
    far: Number
    n_near: Number
    n_far: Number
    n_either: Number
    n_positive: Number
    n_negative: Number


class PairShares(NamedTuple):
    """A loss, and what a hinge of a positive and of a negative pair weighs in it."""

    loss: Number
    pull: Number
    push: Number


class PairLoss(NamedTuple):
    """A loss, its gradient (n, d) by the vectors, and its slopes (n,) when both borders of a row move outwards."""

    loss: Tensor
    gradient: Tensor
    border: Tensor


def mean_over_triplets(
    vectors: Tensor, labels: Tensor, *, margin: float, squared: bool, over_active: bool
) -> tuple[Tensor, Tensor]:
    """Return the mean of [d_ap - d_an + margin]_+ over all triplets, or those above 0, and its gradient (n, d).

    d is the distance, or its square. Without a triplet the loss is 0.
    """
    work = _compiled_triplets if vectors.is_cpu else _triplets
    return work(vectors, labels, margin, squared, over_active)


def over_pairs(
    vectors: Tensor,
    labels: Tensor,
    upper: Tensor | float,
    lower: Tensor | float,
    share: Callable[[PairTotals], PairShares],
    *,
    by_triplets: bool,
) -> PairLoss:
    """Return the loss that `share` makes of [d - upper]_+ at positive and [lower - d]_+ at negative pairs.

    `upper` and `lower` are numbers, or one (n,) for each row. With `by_triplets` a positive pair counts once for each
    negative of its anchor, a negative pair once for each positive.
    """
    work = _compiled_pairs if vectors.is_cpu else _pairs
    return work(vectors, labels, upper, lower, share, by_triplets)


def _compiled_triplets(
    vectors: Tensor, labels: Tensor, margin: float, squared: bool, over_active: bool
) -> tuple[Tensor, Tensor]:
    order = labels.argsort().numpy()
    start, stop, largest = compiled_hinges.class_bounds(labels.long().numpy(), order)
    if largest > MANY:
        return _triplets(vectors, labels, margin, squared, over_active)
    products = (vectors @ vectors.T).numpy()
    loss, slopes = compiled_hinges.mean_triplets(products, order, start, stop, margin, squared, over_active)
    return vectors.new_full((), loss), torch.from_numpy(slopes) @ vectors


def _triplets(
    vectors: Tensor, labels: Tensor, margin: float, squared: bool, over_active: bool
) -> tuple[Tensor, Tensor]:
    matrix = _distances(vectors, squared)
    positives = list_positives(labels)
    n = None if over_active else (positives.counts * (len(labels) - 1 - positives.counts)).sum()
    loss, slopes = triplet_hinges(matrix, positives, margin).mean(n)
    return loss, _gradient(vectors, slopes, matrix, squared)


def _compiled_pairs(
    vectors: Tensor,
    labels: Tensor,
    upper: Tensor | float,
    lower: Tensor | float,
    share: Callable[[PairTotals], PairShares],
    by_triplets: bool,
) -> PairLoss:
    matrix = (vectors @ vectors.T).numpy()
    borders = _for_rows(upper, matrix), _for_rows(lower, matrix)
    order = labels.argsort().numpy()
    totals, found = compiled_hinges.sum_pairs(matrix, labels.long().numpy(), order, *borders, by_triplets)
    loss, pull, push = share(PairTotals(*totals))
    slopes, border = compiled_hinges.pair_slopes(matrix, order, found, *borders, float(pull), float(push), by_triplets)
    return PairLoss(vectors.new_full((), float(loss)), torch.from_numpy(slopes) @ vectors, torch.from_numpy(border))


def _pairs(
    vectors: Tensor,
    labels: Tensor,
    upper: Tensor | float,
    lower: Tensor | float,
    share: Callable[[PairTotals], PairShares],
    by_triplets: bool,
) -> PairLoss:
    matrix = _distances(vectors, False)
    positives = list_positives(labels)
    upper, lower = (_column(border, matrix) for border in (upper, lower))
    near, far = hinges = pair_hinges(matrix, positives, upper, lower)
    n_own = positives.counts.to(matrix.dtype)
    n_other = len(labels) - 1 - n_own
    pulls, pushes = (n_other, n_own) if by_triplets else (torch.ones_like(n_own), torch.ones_like(n_own))
    n_near, n_far = near.count_nonzero(1), far.count_nonzero(1)
    n_either = n_own * n_other - (n_own - n_near) * (n_other - n_far)
    rows = (pulls * near.sum(1), pushes * far.sum(1), pulls * n_near, pushes * n_far, n_either)
    totals = [row.sum() for row in (*rows, pulls * n_own, pushes * n_other)]
    shares = share(PairTotals(*totals))
    loss, pull, push = (torch.as_tensor(value, dtype=matrix.dtype, device=matrix.device) for value in shares)
    pulls, pushes = pulls * pull, pushes * push
    slopes = hinges.slopes(positives, pulls.unsqueeze(1), pushes.unsqueeze(1))
    return PairLoss(loss, _gradient(vectors, slopes, matrix, False), pushes * n_far - pulls * n_near)


def _for_rows(values: Tensor | float, like: np.ndarray) -> np.ndarray:
    if isinstance(values, Tensor):
        return values.detach().contiguous().numpy()
    return np.full(len(like), values, like.dtype)


def _column(values: Tensor | float, like: Tensor) -> Tensor:
    return torch.as_tensor(values, dtype=like.dtype, device=like.device).view(-1, 1)


def _distances(vectors: Tensor, squared: bool) -> Tensor:
    return squared_distances(vectors, vectors) if squared else distances(vectors, vectors)


def _gradient(vectors: Tensor, slopes: Tensor, matrix: Tensor, squared: bool) -> Tensor:
    """Return the gradient (n, d), given the slopes at every entry of the matrix of distances or their squares."""
    # Between identical vectors there is no direction to move in.
    slopes = slopes.mul_(2) if squared else slopes.mul_(matrix.reciprocal().nan_to_num_(posinf=0))
    return -(slopes.T.contiguous().add_(slopes) @ vectors)
