"""Triangular factors of covariances.

In NumPy, whose product of a matrix with its own transpose, like BLAS's product with a triangle, does half the work of a
general one.
"""

import numpy as np
import torch
from scipy.linalg.blas import get_blas_funcs


def scatter_factor(centred: np.ndarray) -> np.ndarray:
    """Return the lower triangular L (d, d) with LL' = centred' centred, for `centred` (n, d).

    Rounding, or fewer points than dimensions, leave the right side a little short of positive definite: its diagonal is
    lifted by as little as will do, a few roundings of its mean.
    """
    scatter = torch.from_numpy(centred.T @ centred)
    precision = np.finfo(centred.dtype)
    scale = max(float(scatter.diagonal().mean()), float(precision.tiny))
    diagonal = scatter.diagonal().clone()
    lift = 4 * float(precision.eps)
    while True:
        scatter.diagonal().copy_(diagonal + scale * lift)
        factor, failed = torch.linalg.cholesky_ex(scatter)
        if not failed:
            return np.asfortranarray(factor.numpy())
        lift *= 4


def times_lower(left: np.ndarray, lower: np.ndarray) -> np.ndarray:
    """Return left @ lower for a lower triangular matrix."""
    (multiply,) = get_blas_funcs(("trmm",), (left,))
    # BLAS counts by columns: it is given, and gives back, transposes.
    product: np.ndarray = multiply(1.0, lower, left.T, lower=1, trans_a=1).T
    return product


def divide_lower(left: np.ndarray, lower: np.ndarray) -> np.ndarray:
    """Return X with X lower' = left: rows of unit covariance, if `lower` is the factor of that of the rows `left`."""
    (solve,) = get_blas_funcs(("trsm",), (left,))
    quotient: np.ndarray = solve(1.0, lower, left.T, lower=1).T
    return quotient
