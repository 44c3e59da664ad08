"""Draws from a set of points that favour points far from those drawn before."""

from typing import Any

import numba
import numpy as np
import torch
from torch import Tensor

from fairground.geometry.covariance import divide_lower, scatter_factor
from fairground.geometry.scratch import scratch
from fairground.geometry.threads import single_threaded_blas

# The compiler may add in any order, or it could not use vector instructions.
_SUMS = {"reassoc", "contract", "nsz"}


def draw_spread(points: Tensor, k: int, generator: torch.Generator, *, spread: float, density: bool) -> Tensor:
    """Return k different picks (k,) out of `points` (n, d).

    A point's chance grows with the sum of its squared distances to the picks so far, to the power `spread`, and, with
    `density`, in proportion to its density under the Gaussian fitted to the points. The first pick is then the point
    nearest to a draw from that Gaussian; without, any.
    """
    array = np.ascontiguousarray(points.numpy(force=True))
    uniform = torch.rand(k, generator=generator, device=generator.device, dtype=torch.float64).numpy(force=True)
    log_density, first = np.zeros(len(array)), int(uniform[0] * len(array))
    if density:
        log_density, first = _gaussian(array, generator)
    return torch.from_numpy(_pick(array, log_density, spread, first, uniform)).to(points.device)


@numba.njit(nogil=True, cache=True, fastmath=_SUMS)
def _pick(points: np.ndarray, log_density: np.ndarray, spread: float, pick: int, uniform: np.ndarray) -> np.ndarray:
    n = len(points)
    squares = np.empty(n, dtype=points.dtype)
    for i in range(n):
        squares[i] = _product(points, i, i)
    # A sum of zero, for copies of the only pick, must leave them a chance if there is nothing else.
    sums = np.full(n, np.finfo(np.float64).tiny)
    density = np.exp(log_density - log_density.max())
    heights = np.empty(n)
    picks = np.empty(len(uniform), dtype=np.int64)
    for i in range(len(uniform)):
        if i > 0:
            _stack(heights, density, sums, spread)
            if heights[-1] == 0:
                # All that is left is so unlikely that it was rounded to nothing: weigh it by itself.
                log_density[picks[:i]] = -np.inf
                density = np.exp(log_density - log_density.max())
                _stack(heights, density, sums / sums.max(), spread)
            # Rounding up the last height must not give the place after the last.
            pick = min(np.searchsorted(heights, uniform[i] * heights[-1], side="right"), n - 1)
        picks[i] = pick
        density[pick] = 0
        for j in range(n):
            sums[j] += max(squares[j] + squares[pick] - 2 * _product(points, j, pick), 0)
    return picks


@numba.njit(nogil=True, cache=True)
def _stack(heights: np.ndarray, density: np.ndarray, sums: np.ndarray, spread: float) -> None:
    """Write the running totals of the points' chances."""
    total = 0.0
    for i in range(len(heights)):
        total += density[i] * (sums[i] if spread == 1 else sums[i] ** spread)
        heights[i] = total


@numba.njit(nogil=True, cache=True, fastmath=_SUMS)
def _product(points: np.ndarray, i: int, j: int) -> Any:
    left, right = points[i], points[j]
    product = left[0] - left[0]
    for c in range(len(left)):
        product += left[c] * right[c]
    return product


def _gaussian(points: np.ndarray, generator: torch.Generator) -> tuple[np.ndarray, int]:
    """Return each point's log density, up to a constant, and the point nearest to a draw from the Gaussian."""
    n, d = points.shape
    centred, whitened = scratch((points.shape, points.dtype), (points.shape, points.dtype))
    np.subtract(points, points.mean(0), out=centred)
    normal = torch.randn(d, generator=generator, device=generator.device, dtype=torch.float64).numpy(force=True)
    with single_threaded_blas():
        factor = scatter_factor(centred)
        np.copyto(whitened, centred)
        divide_lower(whitened, factor)
        drawn = factor @ (normal / np.sqrt(n - 1)).astype(points.dtype)
        nearest = (np.einsum("ij,ij->i", centred, centred) / 2 - centred @ drawn).argmin()
    log_density = np.einsum("ij,ij->i", whitened, whitened).astype(np.float64) * (n - 1) / -2
    return log_density, int(nearest)
