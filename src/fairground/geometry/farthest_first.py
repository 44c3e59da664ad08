"""Farthest-first traversal: picks that cover a set of points, each as far as possible from those before it."""

from math import ceil

import numpy as np
import torch
from torch import Tensor


def farthest_first(points: Tensor, k: int, generator: torch.Generator, *, softness: float = 0.0) -> Tensor:
    """Return k different picks (k,) out of `points` (n, d): a random one, then one far from its nearest pick.

    That is the farthest point or, with a `softness` in (0, 1), any of that share of the points that are farthest, drawn
    uniformly.
    """
    # Numpy's calls cost a fraction of torch's, and there are five for every pick.
    array = np.ascontiguousarray(points.numpy(force=True))
    uniform = torch.rand(k, generator=generator, device=generator.device, dtype=torch.float64).numpy(force=True)
    half_squares = np.einsum("ij,ij->i", array, array) / 2
    rank = ceil((1 - softness) * (len(array) - 1))
    picks = np.empty(k, dtype=np.int64)
    # Half of each point's squared distance to its nearest pick; picks themselves are out of the race.
    nearest = np.full(len(array), np.inf, dtype=array.dtype)
    pick = int(uniform[0] * len(array))
    for i in range(k):
        if i > 0:
            pick = int(nearest.argmax()) if softness == 0 else _far_one(nearest, rank, uniform[i])
        picks[i] = pick
        np.fmin(nearest, half_squares + half_squares[pick] - array @ array[pick], out=nearest)
        nearest[pick] = -np.inf
    return torch.from_numpy(picks).to(points.device)


def _far_one(nearest: np.ndarray, rank: int, uniform: float) -> int:
    """Return one of the points from `rank` upwards in order of distance."""
    threshold = np.partition(nearest, rank)[rank]
    far = np.flatnonzero((nearest >= threshold) & (nearest > -np.inf))
    return int(far[int(uniform * len(far))])
