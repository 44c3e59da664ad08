"""Distances and similarities whose gradients are finite everywhere, even between identical embeddings."""

import torch
from torch import Tensor
from torch.nn import functional


def unit(vectors: Tensor) -> Tensor:
    """Return rows scaled to length one; a zero row stays zero."""
    return functional.normalize(vectors, dim=-1, eps=1e-12)


def squared_distances(left: Tensor, right: Tensor) -> Tensor:
    """Return ||left_i - right_j||^2 as (n, m), never negative."""
    products = left @ right.T
    lengths = left.square().sum(1, keepdim=True) + right.square().sum(1)
    return (lengths - 2 * products).clamp_min(0)


def safe_sqrt(squares: Tensor) -> Tensor:
    """Return the square root, with slope 0 instead of infinity at 0."""
    is_zero = squares <= 0
    return torch.where(is_zero, 1, squares).sqrt() * ~is_zero


def distances(left: Tensor, right: Tensor) -> Tensor:
    """Return ||left_i - right_j|| as (n, m), with gradient 0 where it is 0."""
    return safe_sqrt(squared_distances(left, right))
