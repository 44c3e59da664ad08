"""Fréchet distance between the Gaussians fitted to parts of a set of points and to all of it."""

from typing import Any

import numba
import numpy as np
import torch
from torch import Tensor

from fairground.retrieval.threads import single_threaded_blas
from fairground.sampling.covariance import scatter_factor, times_lower
from fairground.sampling.parallel import run_parallel, scratch
from fairground.sampling.trace_sqrt import trace_sqrt


def frechet_distances(points: Tensor, subsets: Tensor) -> Tensor:
    """Return for every subset (m, b) of `points` (n, d) its Fréchet distance to all the points, as (m,) in float64.

    ||mu - mu*||^2 + tr(S + S* - 2 (S S*)^(1/2)), with unbiased covariances S of the subset and S* of the points.

    With S = A'A and S* = BB', the trace of the root is the sum of the singular values of AB; B is found once for all
    subsets. For float32 points the values are within 1e-5 (tr S + tr S*) of the exact ones.
    """
    chosen = subsets.numpy(force=True)
    n, b = len(points), chosen.shape[1]
    if n == 1:
        # Copies of a single point are all there can be.
        return torch.zeros(len(chosen), dtype=torch.float64, device=points.device)
    array = points.numpy(force=True)
    used, places = _used(n, chosen)
    centred, carried = scratch((array.shape, array.dtype), ((len(used), array.shape[1]), array.dtype))
    with single_threaded_blas():
        np.subtract(array, array.mean(0), out=centred)
        # Every point of a subset times B.
        np.take(centred, used, axis=0, out=carried)
        times_lower(carried, scatter_factor(centred))
        terms = run_parallel(
            lambda i: (_square_of_mean(centred, chosen[i]), trace_sqrt(_own_products(carried[places[i]]))), len(chosen)
        )
    lengths = np.einsum("ij,ij->i", centred, centred).astype(np.float64)
    shift, roots = np.array(terms).T
    trace = (lengths[chosen].sum(1) - b * shift) / (b - 1)
    roots = roots / ((n - 1) * (b - 1)) ** 0.5
    return torch.from_numpy(shift + trace + lengths.sum() / (n - 1) - 2 * roots).to(points.device)


def _used(n: int, subsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the points that are in any subset, and the subsets as places among these."""
    is_used = np.zeros(n, dtype=bool)
    is_used[subsets] = True
    return np.flatnonzero(is_used), (is_used.cumsum() - 1)[subsets]


@numba.njit(nogil=True, cache=True)
def _square_of_mean(points: np.ndarray, subset: np.ndarray) -> Any:
    """Return the squared length of the mean of some of the points."""
    total = np.zeros(points.shape[1])
    for i in subset:
        for j in range(len(total)):
            total[j] += points[i, j]
    return np.sum(total * total) / len(subset) ** 2


def _own_products(part: np.ndarray) -> np.ndarray:
    """Return the smaller of AA' and A'A, for A the rows of `part` less their mean."""
    # Squaring singular values halves their digits: float64 from here on.
    wide = part.astype(np.float64)
    wide -= wide.mean(0)
    products: np.ndarray = wide @ wide.T if len(wide) <= wide.shape[1] else wide.T @ wide
    return products
