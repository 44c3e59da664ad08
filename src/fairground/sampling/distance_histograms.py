"""Histograms of the pairwise distances of a set of points and of parts of it, on the same bins."""

import math
from typing import NamedTuple

import numba
import numpy as np
from torch import Tensor

from fairground.retrieval.threads import single_threaded_blas
from fairground.sampling.parallel import run_parallel, scratch

#: rows of a block, where only the upper half of a symmetric matrix is wanted; and of a task of binning them
_BLOCK, _BINNED = 96, 192
# Embeddings are finite, and the compiler may compare and add in any order, or it could not use vector instructions.
_FINITE = {"reassoc", "contract", "nsz", "nnan", "ninf"}


class DistanceHistograms(NamedTuple):
    """`whole` (n_bins,) and `parts` (m, n_bins) in float64, each with sum 1, and the `width` of a bin.

    A part without any distance has nothing but zeros.
    """

    whole: np.ndarray
    parts: np.ndarray
    width: float


def distance_histograms(points: Tensor, subsets: Tensor, n_bins: int) -> DistanceHistograms:
    """Return the histograms of the distances among `points` (n, d), and among each subset (m, b) of them.

    The bins, at most 256, divide the range from the smallest to the largest distance among the points. A point that a
    subset holds twice has no distance to itself: that pair is left out.
    """
    array = np.ascontiguousarray(points.numpy(force=True))
    n, kind = len(array), array.dtype.type
    lengths = np.einsum("ij,ij->i", array, array)
    squares, bins = scratch(((n, n), array.dtype), ((n, n), np.uint8))
    # The last point has nothing to its right.
    starts = range(0, max(n - 1, 1), _BLOCK)
    with single_threaded_blas():
        ends = run_parallel(lambda block: _measure(array, lengths, squares, starts[block]), len(starts))
        low, high = math.sqrt(max(min(end[0] for end in ends), 0.0)), math.sqrt(max(end[1] for end in ends))
        width = (high - low) / n_bins
        scale = kind(1 / width if width > 0 else 0.0)
        counts = run_parallel(
            lambda task: _bin(squares, task * _BINNED, kind(low), scale, kind(n_bins - 1), bins), -(-n // _BINNED)
        )
    # Without a sign, the compiler need not ask whether a place is counted from the end.
    found = _count_parts(bins, np.sort(subsets.numpy(force=True).astype(np.uint32)), np.array(counts))[:, :n_bins]
    shares = found / np.maximum(found.sum(axis=1, keepdims=True), 1)
    return DistanceHistograms(shares[0], shares[1:], width)


def wasserstein(left: np.ndarray, right: np.ndarray, width: float) -> np.ndarray:
    """Return the first Wasserstein distance between histograms on the same bins of `width`."""
    distance: np.ndarray = np.abs(np.cumsum(left - right, axis=-1)).sum(axis=-1) * width
    return distance


def _measure(points: np.ndarray, lengths: np.ndarray, squares: np.ndarray, start: int) -> np.ndarray:
    """Write the squared distances right of the diagonal in a block of rows; return the least and the greatest."""
    rows = slice(start, start + _BLOCK)
    np.matmul(points[rows], points[start:].T, out=squares[rows, start:])
    bits = squares.view(f"i{squares.itemsize}")
    ends: np.ndarray = _squares(squares, bits, lengths, start).view(squares.dtype)
    return ends


@numba.njit(nogil=True, cache=True, fastmath=_FINITE)
def _squares(products: np.ndarray, bits: np.ndarray, lengths: np.ndarray, start: int) -> np.ndarray:
    """Turn products into squared distances, and return the ends of their `bits`.

    Numbers from zero up are in the order of their bits taken for whole numbers, and of those the compiler finds the
    least and the greatest many at a time.
    """
    n, zero = len(products), lengths[0] - lengths[0]
    ends = np.zeros(2, dtype=bits.dtype)
    if start < n - 1:
        ends[:] = np.iinfo(bits.dtype).max, 0
    for i in range(start, min(start + _BLOCK, n - 1)):
        row, others, length = products[i, i + 1 :], lengths[i + 1 :], lengths[i]
        for j in range(len(row)):
            square = length + others[j] - (row[j] + row[j])
            row[j] = square if square > zero else zero
        whole = bits[i, i + 1 :]
        least = most = whole[0]
        for j in range(len(whole)):
            least, most = min(least, whole[j]), max(most, whole[j])
        ends[0], ends[1] = min(ends[0], least), max(ends[1], most)
    return ends


@numba.njit(nogil=True, cache=True, fastmath=_FINITE)
def _bin(squares: np.ndarray, start: int, low: float, scale: float, last: float, bins: np.ndarray) -> np.ndarray:
    """Write the bins, up to `last`, of the distances right of the diagonal in a block of rows; return their counts."""
    n = len(squares)
    counts = np.zeros((4, 256), dtype=np.int32)
    for i in range(start, min(start + _BINNED, n)):
        row, out = squares[i, i + 1 :], bins[i, i + 1 :]
        for j in range(len(row)):
            place = (math.sqrt(row[j]) - low) * scale
            # Not `min`, which looks for what is not a number and keeps the loop from taking several at once.
            out[j] = np.int32(place if place < last else last)
        _count(out, counts)
    total: np.ndarray = counts.sum(axis=0)
    return total


@numba.njit(nogil=True, cache=True)
def _count(places: np.ndarray, counts: np.ndarray) -> None:
    """Add one to a counter of each place: of four in turn, so that none need wait for the increment before it."""
    even = len(places) // 4 * 4
    for j in range(0, even, 4):
        counts[0, places[j]] += 1
        counts[1, places[j + 1]] += 1
        counts[2, places[j + 2]] += 1
        counts[3, places[j + 3]] += 1
    for j in range(even, len(places)):
        counts[0, places[j]] += 1


@numba.njit(nogil=True, cache=True)
def _count_parts(bins: np.ndarray, subsets: np.ndarray, counts_of_whole: np.ndarray) -> np.ndarray:
    """Return the counts (1 + m, 256) of the whole and of the distances within each subset (m, b), rows in order."""
    m, b = subsets.shape
    found = np.zeros((1 + m, 256))
    for counts in counts_of_whole:
        found[0] += counts
    places = np.empty(b, dtype=np.uint8)
    for part in range(m):
        subset, counters = subsets[part], np.zeros((4, 256), dtype=np.int32)
        for p in range(b):
            own, other = bins[subset[p]], p + 1
            while other < b and subset[other] == subset[p]:
                other += 1
            for q in range(other, b):
                places[q] = own[subset[q]]
            _count(places[other:], counters)
        for four in counters:
            found[1 + part] += four
    return found
