"""Unit vectors, products and distances of a batch, and how gradients by them become gradients by the embeddings."""

from collections.abc import Callable, Sequence

import numba
import numpy as np
import torch
from numpy import ndarray
from torch import Tensor

from fairground.contracts.kernel_or_formula import KernelResult
from fairground.functional import SHORTEST, pair_distances

#: sums may be taken in any order; infinities and not-a-numbers keep their meaning
SUMS = {"reassoc", "contract"}
#: matrix (n, n) or vectors (n, d) -> the loss, and its gradient by them in their shape
Rule = Callable[[Tensor], tuple[Tensor, Tensor]]
#: the distances of each list -> the loss, and its gradient by the distances of each list
ListedRule = Callable[[list[ndarray]], tuple[float, list[ndarray]]]
#: the left and the right rows (t,) of some pairs
Listed = tuple[ndarray, ndarray]


def normalize_rows(vectors: Tensor) -> tuple[Tensor, Tensor]:
    """Return x / |x| for every row (..., d), and 1 / |x| as (..., 1); 0 for both where |x| is below 1e-12."""
    given = vectors.detach().contiguous()
    units, inverse = torch.empty_like(given), given.new_empty(*given.shape[:-1], 1)
    _normalize(_rows(given), _rows(units), _rows(inverse))
    return units, inverse


def _rows(tensor: Tensor) -> ndarray:
    return tensor.view(-1, tensor.shape[-1]).numpy()


@numba.njit(nogil=True, cache=True, fastmath=SUMS)
def _normalize(vectors: ndarray, units: ndarray, inverse: ndarray) -> None:
    kind = vectors.dtype.type
    for i in range(len(vectors)):
        row, unit = vectors[i], units[i]
        square = kind(0)
        for j in range(len(row)):
            square += row[j] * row[j]
        length = np.sqrt(square)
        if np.isinf(length):
            _normalize_large(row, unit, inverse[i])
            continue
        scale = kind(0) if length < kind(SHORTEST) else kind(1) / length
        inverse[i, 0] = scale
        for j in range(len(row)):
            unit[j] = row[j] * scale


@numba.njit(nogil=True, cache=True)
def _normalize_large(row: ndarray, unit: ndarray, inverse: ndarray) -> None:
    """Do the same for a row whose squares are too large for their type, its largest entry taken out first."""
    kind = row.dtype.type
    largest = kind(0)
    for j in range(len(row)):
        largest = max(largest, abs(row[j]))
    square = kind(0)
    for j in range(len(row)):
        unit[j] = row[j] / largest
        square += unit[j] * unit[j]
    length = np.sqrt(square)
    inverse[0] = kind(1) / length / largest
    for j in range(len(row)):
        unit[j] /= length


@numba.njit(nogil=True, cache=True, fastmath=SUMS)
def _project(gradient: ndarray, units: ndarray, inverse: ndarray) -> None:
    """Overwrite the gradient by x / |x| with that by x: without its part along x, over |x|."""
    for i in range(len(gradient)):
        row, unit = gradient[i], units[i]
        along = gradient.dtype.type(0)
        for j in range(len(row)):
            along += row[j] * unit[j]
        for j in range(len(row)):
            row[j] = (row[j] - along * unit[j]) * inverse[i, 0]


def normalize(vectors: Tensor) -> Tensor:
    """Return rows (n, d) scaled to length one; a row shorter than 1e-12 becomes zero."""
    return normalize_rows(vectors)[0] if vectors.is_cpu else pair_distances.normalize(vectors)


def squared_distances(points: Tensor) -> Tensor:
    """Return ||x_i - x_j||^2 as (n, n), never negative and exactly 0 on the diagonal."""
    lengths = points.square().sum(1)
    squares = (points @ points.T).mul_(-2)
    return squares.add_(lengths.unsqueeze(1)).add_(lengths).clamp_min_(0).fill_diagonal_(0)


def distances(points: Tensor) -> Tensor:
    """Return ||x_i - x_j|| as (n, n)."""
    return squared_distances(points).sqrt_()


@numba.njit(nogil=True, cache=True, fastmath=SUMS)
def distances_from_products(products: ndarray, squared: bool) -> None:
    """Overwrite x_i . x_j by the distance of x_i and x_j, or its square; exactly 0 on the diagonal."""
    zero = products.dtype.type(0)
    lengths = np.empty(len(products), products.dtype)
    for i in range(len(products)):
        lengths[i] = products[i, i]
    for i in range(len(products)):
        row = products[i]
        for j in range(len(row)):
            square = lengths[i] + lengths[j] - (row[j] + row[j])
            row[j] = zero if square < zero else square
        if not squared:
            for j in range(len(row)):
                row[j] = np.sqrt(row[j])
        row[i] = zero


@numba.njit(nogil=True, cache=True, fastmath=SUMS)
def gradient_by_products(gradient: ndarray, distances: ndarray, squared: bool) -> None:
    """Overwrite the gradient (n, n) by distance, or by its square, with that by product, both orders of a pair added.

    The distance is sqrt(|x|^2 + |y|^2 - 2 x.y), with derivative -1 / d by the product x.y; its square has -2. What is
    left of the gradient points along the vectors. Between identical vectors there is no direction to move in.
    """
    n = len(gradient)
    zero = gradient.dtype.type(0)
    factor = gradient.dtype.type(-2 if squared else -1)
    # In squares that stay in the nearest cache: the other half is read down the columns.
    for top in range(0, n, 16):
        for left in range(top, n, 16):
            for i in range(top, min(top + 16, n)):
                for j in range(max(left, i + 1), min(left + 16, n)):
                    both = (gradient[i, j] + gradient[j, i]) * factor
                    if not squared:
                        both = both / distances[i, j] if distances[i, j] > zero else zero
                    gradient[i, j] = both
                    gradient[j, i] = both
    for i in range(n):
        gradient[i, i] = zero


def kernel_of_products(embeddings: Tensor, rule: Rule, *, normalise: bool) -> KernelResult:
    """Return the rule's loss of x_i . x_j, the cosines if the embeddings are to be normalised, and its gradient."""

    def work(vectors: Tensor) -> tuple[Tensor, Tensor]:
        loss, by_product = rule(vectors @ vectors.T)
        # Transposing first, which goes block by block, is three times faster than adding down the columns.
        return loss, by_product.T.contiguous().add_(by_product) @ vectors

    return kernel_of_vectors(embeddings, work, normalise=normalise)


def kernel_of_distances(embeddings: Tensor, rule: Rule, *, normalise: bool, squared: bool = False) -> KernelResult:
    """Return the rule's loss of ||x_i - x_j||, which it must leave as they are, or of their squares.

    A distance of 0 has a gradient of 0.
    """

    def work(vectors: Tensor) -> tuple[Tensor, Tensor]:
        matrix = vectors @ vectors.T
        distances_from_products(matrix.numpy(), squared)
        loss, by_product = rule(matrix)
        gradient_by_products(by_product.numpy(), matrix.numpy(), squared)
        gradient = by_product @ vectors
        # The rest of it points along the vectors, where a unit vector cannot move.
        return loss, gradient if normalise else gradient.addcmul_(by_product.sum(1, keepdim=True), vectors, value=-1)

    return kernel_of_vectors(embeddings, work, normalise=normalise)


def kernel_of_vectors(embeddings: Tensor, work: Rule, *, normalise: bool) -> KernelResult:
    """Return the loss that `work` finds for the embeddings or for their unit vectors, and its gradient."""
    if not normalise:
        return KernelResult(*work(embeddings))
    units, inverse = normalize_rows(embeddings)
    value, gradient = work(units)
    gradient = gradient.contiguous()
    _project(_rows(gradient), _rows(units), _rows(inverse))
    return KernelResult(value, gradient)


def no_gradient(embeddings: Tensor) -> KernelResult:
    """Return 0 with a zero gradient: what a loss says when there is nothing to learn from."""
    return KernelResult(embeddings.new_zeros(()), torch.zeros_like(embeddings))


def kernel_of_listed_distances(
    embeddings: Tensor, lists: Sequence[tuple[Tensor, Tensor]], rule: ListedRule
) -> KernelResult:
    """Return the rule's loss of ||z_l - z_r|| for each list of pairs (l, r), and its gradient."""
    columns = [(left.long().contiguous().numpy(), right.long().contiguous().numpy()) for left, right in lists]
    longest = max(len(left) for left, _ in columns)
    # Differences take t * d numbers, the matrix of products n * n: whichever is less.
    work = _by_differences if longest * embeddings.shape[1] <= len(embeddings) ** 2 else _by_products
    return kernel_of_vectors(embeddings, lambda z: work(z, columns, rule), normalise=True)


def mean_hinge(excess: ndarray, over_active: bool) -> tuple[float, ndarray]:
    """Return the mean of [x]_+ over all x (t,) or over those above 0, and its gradient; NaN counts as above 0."""
    is_active = ~(excess <= 0)
    n = max(1, np.count_nonzero(is_active) if over_active else len(excess))
    return float(excess[is_active].sum(dtype=np.float64)) / n, is_active.astype(excess.dtype) / n


def _by_differences(z: Tensor, columns: list[Listed], rule: ListedRule) -> tuple[Tensor, Tensor]:
    found = [_differences(z.numpy(), left, right) for left, right in columns]
    loss, gradients = rule(found)
    gradient = torch.zeros_like(z)
    for (left, right), distances, by_distance in zip(columns, found, gradients, strict=True):
        _pull(gradient.numpy(), z.numpy(), left, right, distances, by_distance)
    return z.new_tensor(loss), gradient


def _by_products(z: Tensor, columns: list[Listed], rule: ListedRule) -> tuple[Tensor, Tensor]:
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


@numba.njit(nogil=True, cache=True, fastmath=SUMS)
def _differences(z: ndarray, left: ndarray, right: ndarray) -> ndarray:
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
    gradient: ndarray, z: ndarray, left: ndarray, right: ndarray, distances: ndarray, by_distance: ndarray
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
def _look_up(products: ndarray, lengths: ndarray, left: ndarray, right: ndarray) -> ndarray:
    zero = products.dtype.type(0)
    distances = np.empty(len(left), products.dtype)
    for t in range(len(left)):
        i, j = left[t], right[t]
        square = lengths[i] + lengths[j] - (products[i, j] + products[i, j])
        distances[t] = zero if square < zero or i == j else np.sqrt(square)
    return distances


@numba.njit(nogil=True, cache=True)
def _add(by_product: ndarray, left: ndarray, right: ndarray, distances: ndarray, by_distance: ndarray) -> None:
    """Add to the gradient (m, n) by the products; what is left of the gradient points along the vectors."""
    for t in range(len(left)):
        if distances[t] > 0:
            by_product[left[t], right[t]] -= by_distance[t] / distances[t]
