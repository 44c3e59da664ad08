"""Farthest-first traversal: picks that cover a set of points, each as far as possible from those before it."""

from math import ceil

import numba
import numpy as np
import torch
from torch import Tensor

from fairground.geometry.scratch import scratch
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
        if softness:
            picks = _softly(array, halves, softness, uniform)
        else:
            picks = _exactly(array, halves, k, uniform[0], *scratch((array.shape, array.dtype)))
    return torch.from_numpy(picks).to(points.device)


@numba.njit(nogil=True, cache=True)
def _exactly(points: np.ndarray, halves: np.ndarray, k: int, uniform: float, ordered: np.ndarray) -> np.ndarray:
    """Return the picks: a quarter by measuring every point, the rest by blocks. `ordered` is overwritten."""
    n, n_first = len(points), max(1, k // 4)
    # Half of each point's squared distance to its nearest pick; picks themselves are out of the race.
    nearest = np.full(n, np.inf, dtype=points.dtype)
    picks = np.empty(k, dtype=np.int64)
    for i in range(n_first):
        picks[i] = np.argmax(nearest) if i > 0 else int(uniform * n)
        _shrink(nearest, halves + halves[picks[i]], np.dot(points, points[picks[i]]))
        nearest[picks[i]] = -np.inf
    order = np.argsort(-nearest)
    for i in range(n):
        ordered[i] = points[order[i]]
    _by_blocks(points, halves, ordered, order, nearest[order], picks, n_first)
    return picks


@numba.njit(nogil=True, cache=True)
def _by_blocks(
    points: np.ndarray,
    halves: np.ndarray,
    ordered: np.ndarray,
    order: np.ndarray,
    nearest: np.ndarray,
    picks: np.ndarray,
    n_first: int,
) -> None:
    """Write the picks from `n_first` on, given the points in `order` of their distances `nearest`.

    A block of points is told of picks only when it may hold the next one: distances to the nearest pick can only
    shrink, so that a block whose farthest point was nearer than another's can wait. It then takes several picks at
    once, while it is in the nearest cache.
    """
    n_blocks = (len(order) + _BLOCK - 1) // _BLOCK
    own_halves, n_told = halves[order], np.full(n_blocks, n_first)
    farthest, far = np.empty(n_blocks, dtype=np.int64), np.empty(n_blocks, dtype=nearest.dtype)
    for block in range(n_blocks):
        _find_farthest(nearest, block, farthest, far)
    for i in range(n_first, len(picks)):
        block = int(np.argmax(far))
        while n_told[block] < i:
            stretch = slice(block * _BLOCK, (block + 1) * _BLOCK)
            for pick in picks[n_told[block] : i]:
                _shrink(nearest[stretch], own_halves[stretch] + halves[pick], np.dot(ordered[stretch], points[pick]))
            n_told[block] = i
            _find_farthest(nearest, block, farthest, far)
            block = int(np.argmax(far))
        picks[i] = order[farthest[block]]
        nearest[farthest[block]] = -np.inf
        _find_farthest(nearest, block, farthest, far)


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
