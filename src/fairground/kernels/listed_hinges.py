"""[d - upper]_+ and [lower - d]_+ at listed pairs of unit vectors, such as a miner gives; repeats count again.

Equals the hinges in the formula of the contrastive loss. Memory is O(n^2) plus the list.
"""

from typing import NamedTuple

import numba
import numpy as np
import torch
from torch import Tensor


class ListedHinges(NamedTuple):
    """`total`: the sum of hinges. `n_active`: how many are above 0. `distances` (t,) of the listed pairs."""

    total: float
    n_active: float
    distances: np.ndarray


def products_and_lengths(points: Tensor, anchors: tuple[Tensor, ...]) -> tuple[Tensor, Tensor]:
    """Return the products (m, n) of the first m rows, among which are all anchors, with all; and all squared lengths.

    Where only the first rows are anchors, a batch before its memory, only the first rows of the matrix are wanted.
    """
    m = max((int(anchor.max()) + 1 for anchor in anchors if len(anchor)), default=0)
    if 2 * m > len(points):
        products = points @ points.T
        return products, products.diagonal().contiguous()
    return points[:m] @ points.T, points.square().sum(1)


def sum_hinges(
    products: np.ndarray, lengths: np.ndarray, left: np.ndarray, right: np.ndarray, border: float, *, is_upper: bool
) -> ListedHinges:
    """Return the hinges beyond an upper border, or below a lower one, of the pairs (left, right).

    `products` (m, n) are those of the first m rows with all, `lengths` (n,) the squared lengths of all rows.
    """
    return ListedHinges(*_sum(products, lengths, left, right, border, 1 if is_upper else -1))


def add_gradient(
    gradient: Tensor,
    hinges: ListedHinges,
    left: np.ndarray,
    right: np.ndarray,
    border: float,
    weight: float,
    *,
    is_upper: bool,
) -> None:
    """Add to the gradient (m, n) by product that of hinges which weigh `weight` each; repeats count again."""
    _add(gradient.numpy(), hinges.distances, left, right, border, 1 if is_upper else -1, weight)


def as_arrays(columns: tuple[Tensor, ...]) -> list[np.ndarray]:
    """Return index vectors for compiled loops."""
    return [column.to(torch.long).contiguous().numpy() for column in columns]


@numba.njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def _sum(
    products: np.ndarray, lengths: np.ndarray, left: np.ndarray, right: np.ndarray, border: float, sign: int
) -> tuple[float, float, np.ndarray]:
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
def _add(
    gradient: np.ndarray,
    distances: np.ndarray,
    left: np.ndarray,
    right: np.ndarray,
    border: float,
    sign: int,
    weight: float,
) -> None:
    zero = distances.dtype.type(0)
    edge = distances.dtype.type(border)
    pull = distances.dtype.type(-sign * weight)
    for t in range(len(left)):
        distance = distances[t]
        hinge = distance - edge if sign > 0 else edge - distance
        if hinge > zero and distance > zero:
            gradient[left[t], right[t]] += pull / distance
