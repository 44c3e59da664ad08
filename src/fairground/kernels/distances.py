"""Distances of a batch with itself, in place and without a gradient, for miners; equals `functional.distances`."""

from torch import Tensor

from fairground.functional import distances as formula
from fairground.kernels.normalize import normalize_rows


def normalize(vectors: Tensor) -> Tensor:
    """Return rows (n, d) scaled to length one; a row shorter than 1e-12 becomes zero."""
    return normalize_rows(vectors)[0] if vectors.is_cpu else formula.normalize(vectors)


def squared_distances(points: Tensor) -> Tensor:
    """Return ||x_i - x_j||^2 as (n, n), never negative and exactly 0 on the diagonal."""
    lengths = points.square().sum(1)
    squares = (points @ points.T).mul_(-2)
    return squares.add_(lengths.unsqueeze(1)).add_(lengths).clamp_min_(0).fill_diagonal_(0)


def distances(points: Tensor) -> Tensor:
    """Return ||x_i - x_j|| as (n, n)."""
    return squared_distances(points).sqrt_()
