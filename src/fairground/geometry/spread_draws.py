"""Draws from a set of points that favour points far from those drawn before."""

import numpy as np
import torch
from torch import Tensor

from fairground.geometry.covariance import divide_lower, scatter_factor
from fairground.geometry.scratch import scratch
from fairground.geometry.threads import single_threaded_blas


def draw_spread(points: Tensor, k: int, generator: torch.Generator, *, spread: float, density: bool) -> Tensor:
    """Return k different picks (k,) out of `points` (n, d).

    A point's chance grows with the sum of its squared distances to the picks so far, to the power `spread`, and, with
    `density`, in proportion to its density under the Gaussian fitted to the points. The first pick is then the point
    nearest to a draw from that Gaussian; without, any.
    """
    array = np.ascontiguousarray(points.numpy(force=True))
    uniform = torch.rand(k, generator=generator, device=generator.device, dtype=torch.float64).numpy(force=True)
    log_density, first = np.zeros(len(array)), int(uniform[0] * len(array))
    # Many short calls of BLAS: its threads would spend their time waiting for one another.
    with single_threaded_blas():
        if density:
            log_density, first = _gaussian(array, generator)
        picks = _pick(array, log_density, spread, first, uniform)
    return torch.from_numpy(picks).to(points.device)


def _pick(points: np.ndarray, log_density: np.ndarray, spread: float, pick: int, uniform: np.ndarray) -> np.ndarray:
    squares = np.einsum("ij,ij->i", points, points)
    # A sum of zero, for copies of the only pick, must leave them a chance if there is nothing else.
    sums = np.full(len(points), np.finfo(np.float64).tiny)
    density = np.exp(log_density - log_density.max())
    picks = np.empty(len(uniform), dtype=np.int64)
    for i, number in enumerate(uniform):
        if i > 0:
            heights = (density * sums**spread).cumsum()
            if heights[-1] == 0:
                # All that is left is so unlikely that it was rounded to nothing: weigh it by itself.
                log_density[picks[:i]] = -np.inf
                density = np.exp(log_density - log_density.max())
                heights = (density * (sums / sums.max()) ** spread).cumsum()
            # Rounding up the last height must not give the place after the last.
            pick = min(int(heights.searchsorted(number * heights[-1], side="right")), len(points) - 1)
        picks[i] = pick
        density[pick] = 0
        sums += np.maximum(squares + squares[pick] - 2 * (points @ points[pick]), 0)
    return picks


def _gaussian(points: np.ndarray, generator: torch.Generator) -> tuple[np.ndarray, int]:
    """Return each point's log density, up to a constant, and the point nearest to a draw from the Gaussian."""
    n, d = points.shape
    centred, whitened = scratch((points.shape, points.dtype), (points.shape, points.dtype))
    np.subtract(points, points.mean(0), out=centred)
    factor = scatter_factor(centred)
    divide_lower(centred, factor, out=whitened)
    log_density = np.einsum("ij,ij->i", whitened, whitened).astype(np.float64) * (n - 1) / -2
    normal = torch.randn(d, generator=generator, device=generator.device, dtype=torch.float64).numpy(force=True)
    drawn = factor @ (normal / np.sqrt(n - 1)).astype(points.dtype)
    nearest = (np.einsum("ij,ij->i", centred, centred) / 2 - centred @ drawn).argmin()
    return log_density, int(nearest)
