"""Farthest-first traversal: picks that cover a set of points, each as far as possible from those before it."""

from math import ceil
from typing import Any

import numba
import numpy as np
import torch
from torch import Tensor

from fairground.retrieval.threads import single_threaded_blas

# The compiler may add in any order, or it could not use vector instructions.
_SUMS = {"reassoc", "contract", "nsz"}


def farthest_first(points: Tensor, k: int, generator: torch.Generator, *, softness: float = 0.0) -> Tensor:
    """Return k different picks (k,) out of `points` (n, d): a random one, then one far from its nearest pick.

    That is the farthest point or, with a `softness` in (0, 1), any of that share of the points that are farthest, drawn
    uniformly.
    """
    array = np.ascontiguousarray(points.numpy(force=True))
    uniform = torch.rand(k, generator=generator, device=generator.device, dtype=torch.float64).numpy(force=True)
    picks = _softly(array, softness, uniform) if softness else _exactly(array, k, int(uniform[0] * len(array)))
    return torch.from_numpy(picks).to(points.device)


def _exactly(points: np.ndarray, k: int, first: int) -> np.ndarray:
    halves, nearest = _measure(points, first)
    # Points that were far from the first pick are the likeliest to be the next: seen early, they spare the others.
    order = np.argsort(-nearest)
    picks: np.ndarray = _traverse(points, halves, order, nearest[order], k, first)
    return picks


@numba.njit(nogil=True, cache=True, fastmath=_SUMS)
def _measure(points: np.ndarray, first: int) -> Any:
    """Return half of each point's squared length, and half of its squared distance to the first pick."""
    n, pick = len(points), points[first]
    halves, nearest = np.empty(n, dtype=points.dtype), np.empty(n, dtype=points.dtype)
    for i in range(n):
        row = points[i]
        square = product = pick[0] - pick[0]
        for j in range(len(row)):
            square += row[j] * row[j]
            product += row[j] * pick[j]
        halves[i], nearest[i] = square / 2, -product
    for i in range(n):
        nearest[i] += halves[i] + halves[first]
    # Picks themselves are out of the race.
    nearest[first] = -np.inf
    return halves, nearest


@numba.njit(nogil=True, cache=True, fastmath=_SUMS)
def _traverse(
    points: np.ndarray, halves: np.ndarray, order: np.ndarray, nearest: np.ndarray, k: int, first: int
) -> np.ndarray:
    """Return the picks, given the points' `order` and, in that order, their distances to the first pick.

    Distances to the nearest pick can only shrink. A point is told of another pick only while, by what it has been told
    so far, it could still be the farthest of all.
    """
    n_told = np.ones(len(points), dtype=np.int32)
    picks = np.empty(k, dtype=np.int64)
    picks[0] = first
    for i in range(1, k):
        far, farthest = -np.inf, 0
        for place in range(len(points)):
            while nearest[place] > far and n_told[place] < i:
                pick = picks[n_told[place]]
                nearest[place] = min(nearest[place], _half_square(points, halves, order[place], pick))
                n_told[place] += 1
            if nearest[place] > far:
                far, farthest = nearest[place], place
        picks[i] = order[farthest]
        nearest[farthest] = -np.inf
    return picks


@numba.njit(nogil=True, cache=True, fastmath=_SUMS)
def _half_square(points: np.ndarray, halves: np.ndarray, i: int, j: int) -> Any:
    """Return half of the squared distance between two points."""
    left, right = points[i], points[j]
    product = halves[i] - halves[i]
    for c in range(len(left)):
        product += left[c] * right[c]
    return halves[i] + halves[j] - product


def _softly(points: np.ndarray, softness: float, uniform: np.ndarray) -> np.ndarray:
    halves = np.einsum("ij,ij->i", points, points) / 2
    rank = ceil((1 - softness) * (len(points) - 1))
    picks = np.empty(len(uniform), dtype=np.int64)
    nearest = np.full(len(points), np.inf, dtype=points.dtype)
    with single_threaded_blas():
        for i, number in enumerate(uniform):
            far = np.flatnonzero((nearest >= np.partition(nearest, rank)[rank]) & (nearest > -np.inf))
            pick = picks[i] = far[int(number * len(far))]
            np.minimum(nearest, halves + halves[pick] - points @ points[pick], out=nearest)
            nearest[pick] = -np.inf
    return picks
