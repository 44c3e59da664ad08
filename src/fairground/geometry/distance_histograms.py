"""Histograms of the pairwise distances of a set of points and of parts of it, on the same bins."""

import math
from typing import Any, NamedTuple

import numba
import numpy as np
import torch
from torch import Tensor

from fairground.geometry.scratch import scratch
from fairground.geometry.side_by_side import side_by_side

#: rows of a block, where only the upper half of a symmetric matrix is wanted
_BLOCK = 128
# Embeddings are finite, and the compiler may compare and add in any order, or it could not use vector instructions.
_FINITE = {"reassoc", "contract", "nsz", "nnan", "ninf"}
#: farther than anything; infinity would break the promise above
_FAR = 1e308


class DistanceHistograms(NamedTuple):
    """`whole` (n_bins,) and `parts` (m, n_bins) in float64, each with sum 1, and the `width` of a bin.

    A part without any distance has nothing but zeros.
    """

    whole: Tensor
    parts: Tensor
    width: float


def distance_histograms(points: Tensor, subsets: Tensor, n_bins: int) -> DistanceHistograms:
    """Return the histograms of the distances among `points` (n, d), and among each subset (m, b) of them.

    The bins, at most 256, divide the range from the smallest to the largest distance among the points. A point that a
    subset holds twice has no distance to itself: that pair is left out.
    """
    array = np.ascontiguousarray(points.numpy(force=True))
    n, kind = len(array), array.dtype.type
    lengths = np.einsum("ij,ij->i", array, array)
    products, bins = scratch(((n, n), array.dtype), ((n, n), np.uint8))
    starts = range(0, n, _BLOCK)
    ends = side_by_side(lambda block: _ends_of(array, lengths, products, starts[block]), len(starts))
    high = math.sqrt(max(end[1] for end in ends))
    low = min(math.sqrt(max(min(end[0] for end in ends), 0.0)), high)
    width = (high - low) / n_bins
    scale = kind(1 / width if width > 0 else 0.0)
    counts = side_by_side(
        lambda block: _bin(products, lengths, starts[block], kind(low), scale, n_bins, bins), len(starts)
    )
    parts = _count_parts(bins, subsets.numpy(force=True), n_bins)
    return DistanceHistograms(_shares(np.sum(counts, axis=0), points), _shares(parts, points), width)


def wasserstein(left: Tensor, right: Tensor, width: float) -> Tensor:
    """Return the first Wasserstein distance between histograms on the same bins of `width`."""
    return (left.cumsum(-1) - right.cumsum(-1)).abs().sum(-1) * width


def _ends_of(points: np.ndarray, lengths: np.ndarray, products: np.ndarray, start: int) -> tuple[float, float]:
    """Write the products right of the diagonal in a block of rows; return the ends of their squared distances."""
    rows = slice(start, start + _BLOCK)
    np.matmul(points[rows], points[start:].T, out=products[rows, start:])
    low, high = _ends(products, lengths, start)
    return low, high


@numba.njit(nogil=True, cache=True, fastmath=_FINITE)
def _ends(products: np.ndarray, lengths: np.ndarray, start: int) -> Any:
    n = len(products)
    low, high = _FAR, 0.0
    for i in range(start, min(start + _BLOCK, n - 1)):
        row = products[i]
        least = most = lengths[n - 1] - (row[n - 1] + row[n - 1])
        for j in range(i + 1, n):
            # Not 2 * row[j]: a whole number would make it float64, and half as many fit a vector.
            square = lengths[j] - (row[j] + row[j])
            least, most = min(least, square), max(most, square)
        low, high = min(low, lengths[i] + least), max(high, lengths[i] + most)
    return low, high


@numba.njit(nogil=True, cache=True, fastmath=_FINITE)
def _bin(
    products: np.ndarray,
    lengths: np.ndarray,
    start: int,
    low: float,
    scale: float,
    n_bins: int,
    bins: np.ndarray,
) -> np.ndarray:
    """Write the bins of the distances right of the diagonal in a block of rows, and return their counts."""
    n = len(products)
    last, zero = np.int32(n_bins - 1), low - low
    # Four counters a bin: an increment need not wait for the one before it in the same bin.
    counts = np.zeros((4, 256), dtype=np.int32)
    for i in range(start, min(start + _BLOCK, n)):
        row, out, length = products[i], bins[i], lengths[i]
        for j in range(i + 1, n):
            square = max(length + lengths[j] - (row[j] + row[j]), zero)
            out[j] = min(np.int32((math.sqrt(square) - low) * scale), last)
        even = n - (n - i - 1) % 4
        for j in range(i + 1, even, 4):
            counts[0, out[j]] += 1
            counts[1, out[j + 1]] += 1
            counts[2, out[j + 2]] += 1
            counts[3, out[j + 3]] += 1
        for j in range(even, n):
            counts[0, out[j]] += 1
    total: np.ndarray = counts.sum(axis=0)[:n_bins]
    return total


@numba.njit(nogil=True, cache=True)
def _count_parts(bins: np.ndarray, subsets: np.ndarray, n_bins: int) -> np.ndarray:
    m, b = subsets.shape
    counts = np.zeros((m, n_bins), dtype=np.int64)
    for part in range(m):
        for p in range(b):
            for q in range(p):
                i, j = subsets[part, p], subsets[part, q]
                if i != j:
                    counts[part, bins[min(i, j), max(i, j)]] += 1
    return counts


def _shares(counts: np.ndarray, points: Tensor) -> Tensor:
    shares: np.ndarray = counts / np.maximum(counts.sum(-1, keepdims=True), 1)
    return torch.from_numpy(shares).to(points.device)
