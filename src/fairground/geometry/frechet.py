"""Fréchet distance between the Gaussians fitted to parts of a set of points and to all of it."""

import torch
from torch import Tensor

from fairground.geometry.covariance import scatter_factor, times_lower


def frechet_distances(points: Tensor, subsets: Tensor) -> Tensor:
    """Return for every subset (m, b) of `points` (n, d) its Fréchet distance to all the points, as (m,) in float64.

    ||mu - mu*||^2 + tr(S + S* - 2 (S S*)^(1/2)), with unbiased covariances S of the subset and S* of the points.

    With S = A'A and S* = BB', the trace of the root is the sum of the singular values of AB. B is found once for all
    subsets, and what is left is a (b, b) matrix a subset. For float32 points the values are within 1e-5 (tr S + tr S*)
    of the exact ones.
    """
    n, b = len(points), subsets.shape[1]
    centred = points - points.mean(0)
    # Every row times B, so that AB of a subset is its rows of this, less their mean.
    carried = times_lower(centred, scatter_factor(centred))
    parts = carried[subsets].double()
    parts -= parts.mean(1, keepdim=True)
    # Squaring singular values halves their digits: float64 from here on.
    squares = torch.linalg.eigvalsh(parts @ parts.mT if b <= points.shape[1] else parts.mT @ parts)
    root_trace = squares.clamp_min(0).sqrt().sum(1) / ((n - 1) * (b - 1)) ** 0.5

    lengths = centred.double().square().sum(1)
    shift = centred[subsets].mean(1, dtype=torch.float64).square().sum(1)
    trace = (lengths[subsets].sum(1) - b * shift) / (b - 1)
    distances: Tensor = shift + trace + lengths.sum() / (n - 1) - 2 * root_trace
    return distances
