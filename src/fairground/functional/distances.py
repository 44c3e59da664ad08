"""Distances and similarities whose derivatives are finite everywhere, even between identical embeddings."""

import torch
from torch import Tensor

#: shorter rows have no direction: they are taken as 0, and so is their gradient
SHORTEST = 1e-12


def normalize(vectors: Tensor) -> Tensor:
    """Return rows (..., d) scaled to length one; a row shorter than 1e-12 becomes zero, with gradient 0."""
    rows, _, is_short = _in_range(vectors)
    return rows * (rows.square().sum(-1, keepdim=True).rsqrt() * ~is_short)


def norms(vectors: Tensor) -> Tensor:
    """Return the lengths (..., 1) of rows (..., d); a length below 1e-12 becomes zero, with gradient 0."""
    rows, scale, is_short = _in_range(vectors)
    return rows.square().sum(-1, keepdim=True).sqrt() * (~is_short / scale)


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


def _in_range(vectors: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return rows whose squares can be summed, by what they were multiplied (..., 1), and which are too short.

    The squares of float32 numbers above 2e19 are infinite: rows that long are made shorter. A length of 0 has no
    derivative: short rows become ones, which keeps finite what the caller then leaves out.
    """
    lengths = torch.linalg.vector_norm(vectors.detach(), dim=-1, keepdim=True)
    is_short = lengths < SHORTEST
    scale = torch.ones_like(lengths).masked_fill(lengths.isinf(), torch.finfo(vectors.dtype).max ** -0.625)
    return vectors * scale + is_short, scale, is_short
