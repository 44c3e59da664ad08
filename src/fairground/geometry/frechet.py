"""Fréchet distance between the Gaussians fitted to parts of a set of points and to all of it."""

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from fairground.geometry.covariance import scatter_factor, times_lower
from fairground.geometry.root_trace import root_trace
from fairground.geometry.side_by_side import side_by_side


def frechet_distances(points: Tensor, subsets: Tensor) -> Tensor:
    """Return for every subset (m, b) of `points` (n, d) its Fréchet distance to all the points, as (m,) in float64.

    ||mu - mu*||^2 + tr(S + S* - 2 (S S*)^(1/2)), with unbiased covariances S of the subset and S* of the points.

    For float32 points the values are within 1e-5 (tr S + tr S*) of the exact ones.
    """
    n, b = len(points), subsets.shape[1]
    centred = points - points.mean(0)
    lengths = torch.linalg.vector_norm(centred, dim=1).double().square()
    shift = functional.embedding_bag(subsets, centred, mode="mean").double().square().sum(1)
    trace = (lengths[subsets].sum(1) - b * shift) / (b - 1)
    roots = _singular_sums(centred.numpy(force=True), subsets.numpy(force=True)) / ((n - 1) * (b - 1)) ** 0.5
    distances: Tensor = shift + trace + lengths.sum() / (n - 1) - 2 * torch.from_numpy(roots).to(points.device)
    return distances


def _singular_sums(centred: np.ndarray, subsets: np.ndarray) -> np.ndarray:
    """Return tr (S S*)^(1/2) of every subset, with scatters for covariances.

    With S = A'A and S* = BB' that is the sum of the singular values of AB, and B is found once for all subsets.
    """
    carried = times_lower(centred, scatter_factor(centred))
    return np.array(side_by_side(lambda i: root_trace(_own_products(carried[subsets[i]])), len(subsets)))


def _own_products(part: np.ndarray) -> np.ndarray:
    """Return the smaller of AA' and A'A, for A the rows of `part` less their mean."""
    # Squaring singular values halves their digits: float64 from here on.
    wide = part.astype(np.float64)
    wide -= wide.mean(0)
    products: np.ndarray = wide @ wide.T if len(wide) <= wide.shape[1] else wide.T @ wide
    return products
