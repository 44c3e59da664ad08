"""Losses of unit vectors that are means of hinges at listed pairs, such as a miner gives; repeats count again.

In main memory compiled loops do the work; elsewhere tensor operations do. Memory is O(n^2) plus the list.
"""

from collections.abc import Callable

import numba
import numpy as np
import torch
from torch import Tensor

from fairground.contracts.tuples import Pairs
from fairground.functional.distances import distances_of_pairs, normalize
from fairground.kernels.gradients import with_gradient
from fairground.kernels.sphere_hinges import PairShares, PairTotals

#: how a loss is made of sums of hinges
Share = Callable[[PairTotals], PairShares]


def over_listed_pairs(embeddings: Tensor, pairs: Pairs, upper: float, lower: float, share: Share) -> Tensor:
    """Return the loss that `share` makes of [d - upper]_+ at positive and [lower - d]_+ at negative pairs.

    d is the distance on the sphere. `n_either`, which is about triplets, is 0.
    """
    if embeddings.is_cpu:
        return with_gradient(embeddings, lambda z: _compiled(z, pairs, upper, lower, share), normalise=True)
    return _by_operations(embeddings, pairs, upper, lower, share)


def _by_operations(embeddings: Tensor, pairs: Pairs, upper: float, lower: float, share: Share) -> Tensor:
    z = normalize(embeddings)
    near = (distances_of_pairs(z, pairs.positive_anchor, pairs.positive) - upper).relu()
    far = (lower - distances_of_pairs(z, pairs.negative_anchor, pairs.negative)).relu()
    counts = near.count_nonzero(), far.count_nonzero(), 0.0, near.numel(), far.numel()
    return torch.as_tensor(share(PairTotals(near.sum(), far.sum(), *counts)).loss)


def _compiled(vectors: Tensor, pairs: Pairs, upper: float, lower: float, share: Share) -> tuple[Tensor, Tensor]:
    # Where only the first rows are anchors, a batch before its memory, only the first rows of the matrix are wanted.
    anchors = (pairs.positive_anchor, pairs.negative_anchor)
    m = max((int(anchor.max()) + 1 for anchor in anchors if len(anchor)), default=0)
    products = (vectors[:m] @ vectors.T).numpy()
    lengths = vectors.square().sum(1).numpy()
    a, p, b, n = (column.long().numpy() for column in pairs)
    near, n_near, near_distances = _sum_hinges(products, lengths, a, p, upper, 1)
    far, n_far, far_distances = _sum_hinges(products, lengths, b, n, lower, -1)
    shares = share(PairTotals(near, far, n_near, n_far, 0.0, len(a), len(b)))
    slopes = np.zeros_like(products)
    _add_slopes(slopes, near_distances, a, p, upper, 1, float(shares.pull))
    _add_slopes(slopes, far_distances, b, n, lower, -1, float(shares.push))
    weights = torch.from_numpy(slopes)
    gradient = weights.T @ vectors[:m]
    gradient[:m] += weights @ vectors
    return vectors.new_full((), float(shares.loss)), gradient


@numba.njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def _sum_hinges(
    products: np.ndarray, lengths: np.ndarray, left: np.ndarray, right: np.ndarray, border: float, sign: int
) -> tuple[float, float, np.ndarray]:
    """Return the sum of [sign * (d - border)]_+ over listed pairs, how many are above 0, and the distances (t,).

    `products` (m, n) are those of the first m rows with all, `lengths` (n,) the squared lengths of all rows.
    """
    zero = products.dtype.type(0)
    edge = products.dtype.type(border)
    distances = np.empty(len(left), products.dtype)
    total, n_active = 0.0, 0.0
    for t in range(len(left)):
        i, j = left[t], right[t]
        square = lengths[i] + lengths[j] - (products[i, j] + products[i, j])
        distance = zero if square < zero or i == j else np.sqrt(square)
        hinge = distance - edge if sign > 0 else edge - distance
        if not hinge <= zero:
            total += hinge
            n_active += 1
        distances[t] = distance
    return total, n_active, distances


@numba.njit(nogil=True, cache=True)
def _add_slopes(
    slopes: np.ndarray,
    distances: np.ndarray,
    left: np.ndarray,
    right: np.ndarray,
    border: float,
    sign: int,
    weight: float,
) -> None:
    """Add to `slopes` (m, n), by product, those of hinges that weigh `weight` each; pairs listed twice count twice."""
    zero = distances.dtype.type(0)
    edge = distances.dtype.type(border)
    pull = distances.dtype.type(-sign * weight)
    for t in range(len(left)):
        distance = distances[t]
        hinge = distance - edge if sign > 0 else edge - distance
        if hinge > zero and distance > zero:
            slopes[left[t], right[t]] += pull / distance
