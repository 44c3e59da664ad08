"""Losses of the distances of listed pairs of unit vectors, such as a miner gives; repeats count again.

A *rule* takes the distances (t,) of each list and returns the loss and its gradients (t,) by them. Equals
`functional.distances.distances_of_pairs`. Memory is O(n^2) plus the lists.
"""

from collections.abc import Callable, Sequence

import numba
import numpy as np
import torch
from torch import Tensor

from fairground.contracts.loss import KernelResult
from fairground.kernels.gradients import kernel_of_vectors

#: the distances of each list -> the loss, and its gradient by the distances of each list
Rule = Callable[[list[np.ndarray]], tuple[float, list[np.ndarray]]]
#: the left and the right rows (t,) of some pairs
Listed = tuple[np.ndarray, np.ndarray]


def kernel_of_listed_distances(embeddings: Tensor, lists: Sequence[tuple[Tensor, Tensor]], rule: Rule) -> KernelResult:
    """Return the rule's loss of ||z_l - z_r|| for each list of pairs (l, r), and its gradient."""
    columns = [(_array(left), _array(right)) for left, right in lists]
    longest = max(len(left) for left, _ in columns)
    # Differences take t * d numbers, the matrix of products n * n: whichever is less.
    work = _by_differences if longest * embeddings.shape[1] <= len(embeddings) ** 2 else _by_products
    return kernel_of_vectors(embeddings, lambda z: work(z, columns, rule), normalise=True)


def mean_hinge(excess: np.ndarray, over_active: bool) -> tuple[float, np.ndarray]:
    """Return the mean of [x]_+ over all x (t,) or over those above 0, and its gradient; NaN counts as above 0."""
    is_active = ~(excess <= 0)
    n = max(1, np.count_nonzero(is_active) if over_active else len(excess))
    return float(excess[is_active].sum(dtype=np.float64)) / n, is_active.astype(excess.dtype) / n


def _by_differences(z: Tensor, columns: list[Listed], rule: Rule) -> tuple[Tensor, Tensor]:
    found = [_differences(z.numpy(), left, right) for left, right in columns]
    loss, gradients = rule(found)
    gradient = torch.zeros_like(z)
    for (left, right), distances, by_distance in zip(columns, found, gradients, strict=True):
        _pull(gradient.numpy(), z.numpy(), left, right, distances, by_distance)
    return z.new_tensor(loss), gradient


def _by_products(z: Tensor, columns: list[Listed], rule: Rule) -> tuple[Tensor, Tensor]:
    # Where only the first rows are anchors, a batch before its memory, only the first rows of the matrix are wanted.
    m = max(int(left.max(initial=-1)) + 1 for left, _ in columns)
    m = len(z) if 2 * m > len(z) else m
    products = z[:m] @ z.T
    lengths = products.diagonal().contiguous() if m == len(z) else z.square().sum(1)
    found = [_look_up(products.numpy(), lengths.numpy(), left, right) for left, right in columns]
    loss, gradients = rule(found)
    by_product = torch.zeros_like(products)
    for (left, right), distances, by_distance in zip(columns, found, gradients, strict=True):
        _add(by_product.numpy(), left, right, distances, by_distance)
    gradient = by_product.T @ z[:m]
    gradient[:m] += by_product @ z
    return z.new_tensor(loss), gradient


def _array(column: Tensor) -> np.ndarray:
    return column.long().contiguous().numpy()


@numba.njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def _differences(z: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    distances = np.empty(len(left), z.dtype)
    for t in range(len(left)):
        one, other = z[left[t]], z[right[t]]
        square = z.dtype.type(0)
        for j in range(len(one)):
            square += (one[j] - other[j]) * (one[j] - other[j])
        distances[t] = np.sqrt(square)
    return distances


@numba.njit(nogil=True, cache=True)
def _pull(
    gradient: np.ndarray,
    z: np.ndarray,
    left: np.ndarray,
    right: np.ndarray,
    distances: np.ndarray,
    by_distance: np.ndarray,
) -> None:
    """Add to the gradient (n, d) by the vectors; between identical vectors there is no direction to move in."""
    for t in range(len(left)):
        if distances[t] > 0 and by_distance[t] != 0:
            one, other = z[left[t]], z[right[t]]
            of_one, of_other = gradient[left[t]], gradient[right[t]]
            weight = z.dtype.type(by_distance[t] / distances[t])
            for j in range(len(one)):
                pull = weight * (one[j] - other[j])
                of_one[j] += pull
                of_other[j] -= pull


@numba.njit(nogil=True, cache=True)
def _look_up(products: np.ndarray, lengths: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    zero = products.dtype.type(0)
    distances = np.empty(len(left), products.dtype)
    for t in range(len(left)):
        i, j = left[t], right[t]
        square = lengths[i] + lengths[j] - (products[i, j] + products[i, j])
        distances[t] = zero if square < zero or i == j else np.sqrt(square)
    return distances


@numba.njit(nogil=True, cache=True)
def _add(
    by_product: np.ndarray, left: np.ndarray, right: np.ndarray, distances: np.ndarray, by_distance: np.ndarray
) -> None:
    """Add to the gradient (m, n) by the products; what is left of the gradient lies along the vectors."""
    for t in range(len(left)):
        if distances[t] > 0:
            by_product[left[t], right[t]] -= by_distance[t] / distances[t]
