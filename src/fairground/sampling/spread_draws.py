"""Draws from a set of points that favour points far from those drawn before."""

import math
from typing import Any

import numba
import numpy as np
import torch
from torch import Tensor

from fairground.retrieval.threads import single_threaded_blas
from fairground.sampling.covariance import divide_lower, scatter_factor
from fairground.sampling.parallel import scratch

# The compiler may add in any order, or it could not use vector instructions.
_SUMS = {"reassoc", "contract", "nsz"}
#: proposals of one pick before all chances are worked out
_TRIALS = 8


def draw_spread(points: Tensor, k: int, generator: torch.Generator, *, spread: float, density: bool) -> Tensor:
    """Return k different picks (k,) out of `points` (n, d).

    A point's chance grows with the sum of its squared distances to the picks so far, to the power `spread`, and, with
    `density`, in proportion to its density under the Gaussian fitted to the points. The first pick is then the point
    nearest to a draw from that Gaussian; without, any.
    """
    array = np.ascontiguousarray(points.numpy(force=True))
    shape = (k, 2 * _TRIALS + 1)
    uniform = torch.rand(shape, generator=generator, device=generator.device, dtype=torch.float64).numpy(force=True)
    log_density, first = np.zeros(len(array)), int(uniform[0, 0] * len(array))
    if density:
        log_density, first = _gaussian(array, generator)
    return torch.from_numpy(_pick(array, log_density, spread, first, uniform)).to(points.device)


@numba.njit(nogil=True, cache=True, fastmath=_SUMS)
def _pick(points: np.ndarray, log_density: np.ndarray, spread: float, pick: int, uniform: np.ndarray) -> np.ndarray:
    """Return the first `pick` and those after it, a row of `uniform` numbers (k, 2 _TRIALS + 1) for each.

    The squared distances from x to i picks sum to i ||x||^2 + sum ||p||^2 - 2 x'(sum p): a point is proposed by its
    density alone, and taken with the chance its sum has beside the greatest possible. Only if that fails time and again
    are the sums of all the points worked out; either way the chances are the same.
    """
    n, d = points.shape
    squares = np.empty(n)
    for i in range(n):
        squares[i] = _product(points[i], points[i])
    longest = squares.max()
    density = np.exp(log_density - log_density.max())
    heights = np.empty(n)
    total, total_square = np.zeros(d, dtype=points.dtype), 0.0
    picks = np.empty(len(uniform), dtype=np.int64)
    for i in range(len(uniform)):
        if i > 0:
            if not _stack(heights, density):
                # All that is left is so unlikely that it was rounded to nothing: weigh it by itself.
                log_density[picks[:i]] = -np.inf
                density = np.exp(log_density - log_density.max())
                _stack(heights, density)
            greatest = i * longest + total_square + 2 * math.sqrt(longest * _product(total, total))
            pick = -1
            for trial in range(_TRIALS):
                proposed = _place(heights, uniform[i, 2 * trial])
                sum_of_squares = i * squares[proposed] + total_square - 2 * _product(points[proposed], total)
                if density[proposed] > 0 and uniform[i, 2 * trial + 1] < _share(sum_of_squares, greatest, spread):
                    pick = proposed
                    break
            if pick < 0:
                sums = i * squares + total_square - 2 * _products(points, total)
                # A sum of zero, for copies of the only pick, must leave them a chance if there is nothing else.
                sums = np.maximum(sums, greatest * np.finfo(points.dtype).eps ** 2)
                _stack(heights, density * (sums / sums.max()) ** spread)
                pick = _place(heights, uniform[i, 2 * _TRIALS])
        picks[i] = pick
        density[pick] = 0
        total += points[pick]
        total_square += squares[pick]
    return picks


@numba.njit(nogil=True, cache=True)
def _share(part: float, whole: float, spread: float) -> float:
    """Return the chance of a proposal: how much of the greatest possible sum its own is, to the power `spread`."""
    if spread == 0:
        return 1.0
    if part <= 0:
        return 0.0
    return part / whole if spread == 1 else (part / whole) ** spread


@numba.njit(nogil=True, cache=True)
def _stack(heights: np.ndarray, chances: np.ndarray) -> bool:
    """Write the running totals of the points' chances; say whether there is any."""
    total = 0.0
    for i in range(len(heights)):
        total += chances[i]
        heights[i] = total
    return total > 0


@numba.njit(nogil=True, cache=True)
def _place(heights: np.ndarray, uniform: float) -> Any:
    # Rounding up the last height must not give the place after the last.
    return min(np.searchsorted(heights, uniform * heights[-1], side="right"), len(heights) - 1)


@numba.njit(nogil=True, cache=True, fastmath=_SUMS)
def _product(left: np.ndarray, right: np.ndarray) -> Any:
    product = left[0] - left[0]
    for c in range(len(left)):
        product += left[c] * right[c]
    return product


@numba.njit(nogil=True, cache=True)
def _products(points: np.ndarray, other: np.ndarray) -> np.ndarray:
    products = np.empty(len(points))
    for i in range(len(points)):
        products[i] = _product(points[i], other)
    return products


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
