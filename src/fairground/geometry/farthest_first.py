"""Farthest-first traversal: picks that cover a set of points, each as far as possible from those before it."""

from math import ceil

import numba
import numpy as np
import torch
from torch import Tensor

from fairground.geometry.threads import single_threaded_blas

#: points of a block, small enough for the nearest cache
_BLOCK = 64


def farthest_first(points: Tensor, k: int, generator: torch.Generator, *, softness: float = 0.0) -> Tensor:
    """Return k different picks (k,) out of `points` (n, d): a random one, then one far from its nearest pick.

    That is the farthest point or, with a `softness` in (0, 1), any of that share of the points that are farthest, drawn
    uniformly.
    """
    array = np.ascontiguousarray(points.numpy(force=True))
    uniform = torch.rand(k, generator=generator, device=generator.device, dtype=torch.float64).numpy(force=True)
    halves = np.einsum("ij,ij->i", array, array) / 2
    with single_threaded_blas():
        picks = _softly(array, halves, softness, uniform) if softness else _exactly(array, halves, k, uniform[0])
    return torch.from_numpy(picks).to(points.device)


@numba.njit(nogil=True, cache=True)
def _exactly(points: np.ndarray, halves: np.ndarray, k: int, uniform: float) -> np.ndarray:
    """Return the picks, by blocks of points that were about equally far from the first.

    A block is told of the picks so far only when it may hold the next one: distances to the nearest pick can only
    shrink, so that a block whose old farthest point is nearer than another's can wait. It then takes several picks at
    once, while it is in the nearest cache.
    """
    n = len(points)
    first = int(uniform * n)
    # Half of each point's squared distance to its nearest pick; picks themselves are out of the race.
    nearest = halves + halves[first] - np.dot(points, points[first])
    nearest[first] = -np.inf
    order = np.argsort(-nearest)
    points, halves, nearest = points[order], halves[order], nearest[order]
    n_blocks = (n + _BLOCK - 1) // _BLOCK
    farthest, far = np.empty(n_blocks, dtype=np.int64), np.empty(n_blocks, dtype=nearest.dtype)
    for block in range(n_blocks):
        _find_farthest(nearest, block, farthest, far)
    n_told = np.ones(n_blocks, dtype=np.int64)
    picks = np.empty(k, dtype=np.int64)
    # The first pick stands last in the order.
    picks[0] = n - 1
    for i in range(1, k):
        block = int(np.argmax(far))
        while n_told[block] < i:
            stretch = slice(block * _BLOCK, (block + 1) * _BLOCK)
            for pick in picks[n_told[block] : i]:
                _shrink(nearest[stretch], halves[stretch] + halves[pick], np.dot(points[stretch], points[pick]))
            n_told[block] = i
            _find_farthest(nearest, block, farthest, far)
            block = int(np.argmax(far))
        picks[i] = farthest[block]
        nearest[picks[i]] = -np.inf
        _find_farthest(nearest, block, farthest, far)
    return order[picks]


@numba.njit(nogil=True, cache=True)
def _find_farthest(nearest: np.ndarray, block: int, farthest: np.ndarray, far: np.ndarray) -> None:
    farthest[block] = block * _BLOCK + np.argmax(nearest[block * _BLOCK : (block + 1) * _BLOCK])
    far[block] = nearest[farthest[block]]


@numba.njit(nogil=True, cache=True)
def _shrink(nearest: np.ndarray, halves: np.ndarray, products: np.ndarray) -> None:
    for j in range(len(nearest)):
        nearest[j] = min(nearest[j], halves[j] - products[j])


def _softly(points: np.ndarray, halves: np.ndarray, softness: float, uniform: np.ndarray) -> np.ndarray:
    rank = ceil((1 - softness) * (len(points) - 1))
    picks = np.empty(len(uniform), dtype=np.int64)
    nearest = np.full(len(points), np.inf, dtype=points.dtype)
    for i, number in enumerate(uniform):
        far = np.flatnonzero((nearest >= np.partition(nearest, rank)[rank]) & (nearest > -np.inf))
        pick = picks[i] = far[int(number * len(far))]
        np.minimum(nearest, halves + halves[pick] - points @ points[pick], out=nearest)
        nearest[pick] = -np.inf
    return picks
