"""Histograms of the pairwise distances of a set of points and of parts of it, on the same bins."""

import math
from typing import Any, NamedTuple

import numba
import numpy as np
import torch
from torch import Tensor

from fairground.geometry.side_by_side import side_by_side

#: rows of a block, where only the upper half of a symmetric matrix is wanted
_BLOCK = 128
# Embeddings are finite, and the compiler may compare and add in any order, or it could not use vector instructions.
_FINITE = {"reassoc", "contract", "nsz", "nnan", "ninf"}


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
    n = len(points)
    starts = range(0, n, _BLOCK)
    squares = _upper_squares(points)
    ends = side_by_side(lambda block: _ends(squares, starts[block], _BLOCK), len(starts))
    low, high = (math.sqrt(max(end, 0.0)) for end in (min(e[0] for e in ends), max(e[1] for e in ends)))
    scale = n_bins / (high - low) if high > low else 0.0

    bins = np.empty((n, n), dtype=np.uint8)
    kind = squares.dtype.type
    counts = side_by_side(
        lambda block: _bin(squares, starts[block], _BLOCK, kind(low), kind(scale), n_bins, bins), len(starts)
    )
    parts = _count_parts(bins, subsets.numpy(force=True), n_bins)
    return DistanceHistograms(
        _shares(np.sum(counts, axis=0), points), _shares(parts, points), (high - low) / n_bins if high > low else 0.0
    )


def wasserstein(left: Tensor, right: Tensor, width: float) -> Tensor:
    """Return the first Wasserstein distance between histograms on the same bins of `width`."""
    return (left.cumsum(-1) - right.cumsum(-1)).abs().sum(-1) * width


def _upper_squares(points: Tensor) -> np.ndarray:
    """Return squared distances (n, n), of which only those right of the diagonal mean anything."""
    n = len(points)
    lengths, ones = points.square().sum(1, keepdim=True), points.new_ones(n, 1)
    # Two more columns make the product the squared distance itself: |x|^2 + |y|^2 - 2xy.
    left = torch.cat([-2 * points, lengths, ones], dim=1)
    right = torch.cat([points, ones, lengths], dim=1)
    squares = points.new_empty(n, n)
    for start in range(0, n, _BLOCK):
        rows = slice(start, start + _BLOCK)
        torch.mm(left[rows], right[start:].T, out=squares[rows, start:])
    return squares.numpy(force=True)


@numba.njit(nogil=True, cache=True, fastmath=_FINITE)
def _ends(squares: np.ndarray, start: int, size: int) -> Any:
    """Return the smallest and the largest entry right of the diagonal in some rows."""
    n = len(squares)
    low, high = np.inf, 0.0
    for i in range(start, min(start + size, n - 1)):
        row = squares[i]
        row_low, row_high = row[n - 1], row[n - 1]
        for j in range(i + 1, n):
            row_low = row[j] if row[j] < row_low else row_low
            row_high = row[j] if row[j] > row_high else row_high
        low, high = min(low, row_low), max(high, row_high)
    return low, high


@numba.njit(nogil=True, cache=True, fastmath=_FINITE)
def _bin(
    squares: np.ndarray, start: int, size: int, low: float, scale: float, n_bins: int, bins: np.ndarray
) -> np.ndarray:
    """Write the bins of the distances right of the diagonal in some rows, and return their counts."""
    n = len(squares)
    last = np.int32(n_bins - 1)
    # Four counters a bin: an increment need not wait for the one before it in the same bin.
    counts = np.zeros((4, 256), dtype=np.int32)
    for i in range(start, min(start + size, n)):
        row, out = squares[i], bins[i]
        for j in range(i + 1, n):
            square = row[j] if row[j] > 0 else row[j] * 0
            place = np.int32((math.sqrt(square) - low) * scale)
            out[j] = place if place < last else last
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
