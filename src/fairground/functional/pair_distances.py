"""Unit vectors, lengths, and distances of rows two by two; derivatives are finite, even between identical rows.

Also the weights of distance-weighted sampling, which make distances of negatives equally likely.
"""

from collections.abc import Iterator

import numpy as np
import torch

#: shorter rows have no direction: they are taken as 0, and so is their gradient
SHORTEST = 1e-12


def normalize(vectors: torch.Tensor) -> torch.Tensor:
    """Return rows (..., d) scaled to length one; a row shorter than 1e-12 becomes zero, with gradient 0."""
    rows, _, is_short = _in_range(vectors)
    return rows * (rows.square().sum(-1, keepdim=True).rsqrt() * ~is_short)


def norms(vectors: torch.Tensor) -> torch.Tensor:
    """Return the lengths (..., 1) of rows (..., d); a length below 1e-12 becomes zero, with gradient 0."""
    rows, scale, is_short = _in_range(vectors)
    return rows.square().sum(-1, keepdim=True).sqrt() * (~is_short / scale)


def squared_distances(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
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


def distances(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """Return ||left_i - right_j|| as (n, m), with gradient 0 where it is 0."""
    return safe_sqrt(squared_distances(left, right))


def distances_of_pairs(points: torch.Tensor, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """Return ||points_l - points_r|| as (t,) for index vectors (t,), in memory O(n^2 + t)."""
    # Gathering rows takes t * d numbers, the matrix n * n: whichever is less.
    if left.numel() * points.shape[1] <= len(points) ** 2:
        return safe_sqrt((points[left] - points[right]).square().sum(1))
    return distances(points, points)[left, right]


def safe_sqrt(squares: torch.Tensor) -> torch.Tensor:
    """Return the square root, with slope 0 instead of infinity at 0."""
    is_zero = squares <= 0
    return torch.where(is_zero, 1, squares).sqrt() * ~is_zero


def _in_range(vectors: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return rows whose squares can be summed, by what they were multiplied (..., 1), and which are too short.

    The squares of float32 numbers above 2e19 are infinite: rows that long are made shorter. A length of 0 has no
    derivative: short rows become ones, which keeps finite what the caller then leaves out.
    """
    lengths = torch.linalg.vector_norm(vectors.detach(), dim=-1, keepdim=True)
    is_short = lengths < SHORTEST
    scale = torch.ones_like(lengths).masked_fill(lengths.isinf(), torch.finfo(vectors.dtype).max ** -0.625)
    return vectors * scale + is_short, scale, is_short


def spaced_rows(n: int, at_most: int) -> np.ndarray:
    """Return at most `at_most` of the row numbers 0..n-1, evenly spaced."""
    return np.arange(n) if n <= at_most else np.linspace(0, n - 1, at_most).round().astype(np.int64)


def pair_blocks(rows: np.ndarray, classes: np.ndarray, *, block: int = 1024) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the squared distances of all pairs i < j of `rows` (n, d, float64), and whether each is of one class.

    In blocks of at most `block` squared.
    """
    halves = np.einsum("ij,ij->i", rows, rows) / 2
    for i in range(0, len(rows), block):
        left = slice(i, i + block)
        for j in range(i, len(rows), block):
            right = slice(j, j + block)
            squared = 2 * (halves[left, None] + halves[right] - rows[left] @ rows[right].T)
            is_same = classes[left, None] == classes[right]
            if i == j:
                above = np.triu_indices(len(squared), 1)
                squared, is_same = squared[above], is_same[above]
            yield np.maximum(squared, 0).ravel(), is_same.ravel()


def inverse_density(squares: torch.Tensor, dimension: int) -> torch.Tensor:
    """Return -log q(d), up to a constant, of squared distances between random points of the sphere in R^dimension.

    q(d) is proportional to d^(D-2) (1 - d^2/4)^((D-3)/2).
    """
    return (1 - dimension / 2) * squares.log() - (dimension - 3) / 2 * torch.log1p(-squares / 4)


def distance_weights(embeddings: torch.Tensor, negative: torch.Tensor, *, lo: float, hi: float | None) -> torch.Tensor:
    """Return 1/q(d) for the negatives (n, n) of every row, scaled by the row's largest; 0 elsewhere and from `hi` on.

    Distances count as at least `lo`. The scale is the row's own: under one scale for all rows a single near-duplicate
    would make every other row vanish.
    """
    z = normalize(embeddings)
    # The density is 0 or infinite at the antipode itself.
    squares = squared_distances(z, z).clamp_(lo**2, 4 - 1e-6)
    allowed = negative if hi is None else negative & (squares < hi**2)
    logarithms = inverse_density(squares, embeddings.shape[1]).masked_fill_(~allowed, -torch.inf)
    largest = logarithms.amax(1, keepdim=True).clamp_min(torch.finfo(squares.dtype).min)
    return logarithms.sub_(largest).exp_()
