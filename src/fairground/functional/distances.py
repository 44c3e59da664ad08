"""Distances and similarities whose gradients are finite everywhere, even between identical embeddings.

Of a batch with itself, `products(z, z)`, `squared_distances(z, z)` and `distances(z, z)` are worth asking for with the
same tensor twice: their gradients are written out, and take one matrix product instead of two. Written-out gradients
cannot be differentiated a second time.

Rows scaled to length one, and the way of a gradient back through that.

For the batch sizes of metric learning this is a handful of calls around no work at all, in every loss. In main memory
one compiled loop does each half; elsewhere tensor operations do.
"""

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


def normalize(vectors: Tensor) -> Tensor:
    """Return rows scaled to length one; a row shorter than 1e-12 becomes zero, with gradient 0."""
    return _unit(vectors)


def products(left: Tensor, right: Tensor) -> Tensor:
    """Return left_i . right_j as (n, m): on the unit sphere, cosines."""
    return _own_products(left) if left is right else left @ right.T


def squared_distances(left: Tensor, right: Tensor) -> Tensor:
    """Return ||left_i - right_j||^2 as (n, m), never negative; exactly 0 for a row of a batch with itself."""
    if left is right:
        return _own_squared_distances(left)
    lengths = left.square().sum(1, keepdim=True) + right.square().sum(1)
    return torch.addmm(lengths, left, right.T, alpha=-2).clamp_min(0)


def safe_sqrt(squares: Tensor) -> Tensor:
    """Return the square root, with slope 0 instead of infinity at 0."""
    is_zero = squares <= 0
    return torch.where(is_zero, 1, squares).sqrt() * ~is_zero


def distances(left: Tensor, right: Tensor) -> Tensor:
    """Return ||left_i - right_j|| as (n, m), with gradient 0 where it is 0."""
    return _own_distances(left) if left is right else safe_sqrt(squared_distances(left, right))


def distances_of_pairs(points: Tensor, left: Tensor, right: Tensor) -> Tensor:
    """Return ||points_l - points_r|| as (t,) for index vectors (t,), in memory O(n^2 + t)."""
    # Gathering rows takes t * d numbers, the matrix n * n: whichever is less.
    if left.numel() * points.shape[1] <= len(points) ** 2:
        return safe_sqrt((points[left] - points[right]).square().sum(1))
    n_left = int(left.max()) + 1
    if 2 * n_left > len(points):
        return distances(points, points)[left, right]
    # Where only the first rows are anchors, a batch before its memory, only the first rows of the matrix are wanted.
    between = distances(points[:n_left], points).flatten().index_select(0, left * len(points) + right)
    return torch.where(left == right, 0, between)


class _Unit(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, vectors: Tensor) -> Tensor:
        units, inverse = normalize_rows(vectors)
        ctx.save_for_backward(units, inverse)
        return units

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        return tangent_projection(gradients[0].clone(), *ctx.saved_tensors)


class _OwnProducts(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, points: Tensor) -> Tensor:
        ctx.save_for_backward(points)
        return points @ points.T

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        (points,) = ctx.saved_tensors
        return torch.mm(_symmetric(gradients[0]), points)


class _OwnSquaredDistances(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, points: Tensor) -> Tensor:
        ctx.save_for_backward(points)
        return _squares_of(points)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        (points,) = ctx.saved_tensors
        return _pull(points, _symmetric(gradients[0]), 2)


class _OwnDistances(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, points: Tensor) -> Tensor:
        lengths = _squares_of(points).sqrt_()
        ctx.save_for_backward(points, lengths)
        return lengths

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        points, lengths = ctx.saved_tensors
        # The slope of sqrt is infinite at 0; between identical points there is no direction to move in.
        weights = lengths.reciprocal().nan_to_num_(posinf=0).mul_(gradients[0])
        return _pull(points, _symmetric(weights), 1)


def _squares_of(points: Tensor) -> Tensor:
    lengths = points.square().sum(1)
    squares = torch.addmm(lengths, points, points.T, beta=0, alpha=-2)
    return squares.add_(lengths.unsqueeze(1)).add_(lengths).clamp_min_(0).fill_diagonal_(0)


def _symmetric(weights: Tensor) -> Tensor:
    # Copying the transpose first goes by blocks; adding it as it stands walks across the rows, five times slower.
    return weights.T.contiguous().add_(weights)


def _pull(points: Tensor, weights: Tensor, factor: float) -> Tensor:
    """Return factor * sum_j weights_ij (points_i - points_j)."""
    return torch.addmm(points * weights.sum(1, keepdim=True), weights, points, beta=factor, alpha=-factor)


# `apply` has no types of its own.
_unit: Callable[[Tensor], Tensor] = _Unit.apply
_own_products: Callable[[Tensor], Tensor] = _OwnProducts.apply
_own_squared_distances: Callable[[Tensor], Tensor] = _OwnSquaredDistances.apply
_own_distances: Callable[[Tensor], Tensor] = _OwnDistances.apply


#: shorter rows have no direction: they are taken as 0, and so is their gradient
SHORTEST = 1e-12


def normalize_rows(vectors: Tensor) -> tuple[Tensor, Tensor]:
    """Return x / |x| for every row (..., d), and 1 / |x| as (..., 1); 0 for both where |x| is below 1e-12."""
    if not vectors.is_cpu:
        lengths = torch.linalg.vector_norm(vectors, dim=-1, keepdim=True)
        inverse = lengths.reciprocal().masked_fill_(lengths < SHORTEST, 0)
        return vectors * inverse, inverse
    given = vectors.detach().contiguous()
    units, inverse = torch.empty_like(given), given.new_empty(*given.shape[:-1], 1)
    _normalise(_rows(given), _rows(units), _rows(inverse))
    return units, inverse


def tangent_projection(gradient: Tensor, units: Tensor, inverse: Tensor) -> Tensor:
    """Return the gradient by x, given the one by x / |x|: without its part along x, over |x|. Overwrites it."""
    if not gradient.is_cpu:
        along = (gradient * units).sum(-1, keepdim=True)
        return gradient.addcmul_(units, along, value=-1).mul_(inverse)
    gradient = gradient.contiguous()
    _take_across(_rows(gradient), _rows(units), _rows(inverse))
    return gradient


def _rows(tensor: Tensor) -> np.ndarray:
    return tensor.view(-1, tensor.shape[-1]).numpy()


@numba.njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def _normalise(vectors: np.ndarray, units: np.ndarray, inverse: np.ndarray) -> None:
    kind = vectors.dtype.type
    for i in range(len(vectors)):
        row, unit = vectors[i], units[i]
        square = kind(0)
        for j in range(len(row)):
            square += row[j] * row[j]
        length = np.sqrt(square)
        scale = kind(0) if length < kind(SHORTEST) else kind(1) / length
        inverse[i, 0] = scale
        for j in range(len(row)):
            unit[j] = row[j] * scale


@numba.njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def _take_across(gradient: np.ndarray, units: np.ndarray, inverse: np.ndarray) -> None:
    for i in range(len(gradient)):
        row, unit = gradient[i], units[i]
        along = gradient.dtype.type(0)
        for j in range(len(row)):
            along += row[j] * unit[j]
        for j in range(len(row)):
            row[j] = (row[j] - along * unit[j]) * inverse[i, 0]
