"""Distances and similarities whose derivatives are finite everywhere, even between identical embeddings."""

import torch
from torch import Tensor

#: shorter rows have no direction: they are taken as 0, and so is their gradient
SHORTEST = 1e-12


def normalize(vectors: Tensor) -> Tensor:
    """Return rows (..., d) scaled to length one; a row shorter than 1e-12 becomes zero, with gradient 0."""
    scaled, _, is_short = _by_largest(vectors)
    return scaled / torch.linalg.vector_norm(scaled, dim=-1, keepdim=True) * ~is_short


def norms(vectors: Tensor) -> Tensor:
    """Return the lengths (..., 1) of rows (..., d); a length below 1e-12 becomes zero, with gradient 0."""
    scaled, largest, is_short = _by_largest(vectors)
    return torch.linalg.vector_norm(scaled, dim=-1, keepdim=True) * (largest * ~is_short)


def squared_distances(left: Tensor, right: Tensor) -> Tensor:
    """Return ||left_i - right_j||^2 as (n, m), never negative; exactly 0 for a row of a batch with itself."""
    if left is not right:
        lengths = left.square().sum(1, keepdim=True) + right.square().sum(1)
        return torch.addmm(lengths, left, right.T, alpha=-2).clamp_min(0)
    products = left @ left.T
    # On the diagonal, so that identical rows are at a distance of 0 and not of what two orders of summing leave.
    lengths = products.diagonal()
    squares = lengths.unsqueeze(1) + lengths - 2 * products
    is_itself = torch.eye(len(left), dtype=torch.bool, device=left.device)
    return squares.clamp_min(0).masked_fill(is_itself, 0)


def distances(left: Tensor, right: Tensor) -> Tensor:
    """Return ||left_i - right_j|| as (n, m), with gradient 0 where it is 0."""
    return safe_sqrt(squared_distances(left, right))


def distances_of_pairs(points: Tensor, left: Tensor, right: Tensor) -> Tensor:
    """Return ||points_l - points_r|| as (t,) for index vectors (t,), in memory O(n^2 + t)."""
    # Gathering rows takes t * d numbers, the matrix n * n: whichever is less.
    if left.numel() * points.shape[1] <= len(points) ** 2:
        return safe_sqrt((points[left] - points[right]).square().sum(1))
    return distances(points, points)[left, right]


def safe_sqrt(squares: Tensor) -> Tensor:
    """Return the square root, with slope 0 instead of infinity at 0."""
    is_zero = squares <= 0
    return torch.where(is_zero, 1, squares).sqrt() * ~is_zero


def _by_largest(vectors: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return rows over their largest entry, that entry (..., 1), and which rows are short, replaced by ones.

    The squares of float32 numbers above 2e19 are infinite; over the largest entry, all squares are at most 1. A length
    of 0 has no derivative: short rows are left out by whoever asks, and ones keep what is left out finite.
    """
    fixed = vectors.detach()
    is_short = torch.linalg.vector_norm(fixed, dim=-1, keepdim=True) < SHORTEST
    largest = torch.where(is_short, 1, fixed.abs().amax(-1, keepdim=True))
    return vectors / largest + is_short, largest, is_short
