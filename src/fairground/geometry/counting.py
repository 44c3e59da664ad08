"""Compiled loops over one tile of scores: read off thresholds, leave pairs out, count what stands above a threshold.

Each loop runs over contiguous scores with 32-bit counters, which the compiler turns into vector comparisons; none holds
the interpreter's lock. Order among equal scores is the order of the references' own numbers.
"""

import numba
import numpy as np

from fairground.geometry.thresholds import FINENESS, MANY, Thresholds, table_scale


@numba.njit(nogil=True, cache=True)
def transpose(tile: np.ndarray, out: np.ndarray) -> None:
    """Write the transposed tile, in squares of 8 that stay in the nearest cache."""
    for i in range(0, tile.shape[0], 8):
        for j in range(0, tile.shape[1], 8):
            for b in range(8):
                for a in range(8):
                    out[j + b, i + a] = tile[i + a, j + b]


@numba.njit(nogil=True, cache=True)
def forbid_groups(tile: np.ndarray, row_group: np.ndarray, column_group: np.ndarray) -> None:
    """Set the score of every pair of one group to minus infinity."""
    for i in range(len(row_group)):
        for j in range(len(column_group)):
            if row_group[i] == column_group[j]:
                tile[i, j] = -np.inf


@numba.njit(nogil=True, cache=True)
def read_thresholds(
    tile: np.ndarray, query: int, n_queries: int, column: int, offsets: np.ndarray, where: np.ndarray, out: np.ndarray
) -> None:
    """Copy the scores of relevant references out of a tile that starts at (`query`, `column`)."""
    for i in range(n_queries):
        for k in range(offsets[query + i], offsets[query + i + 1]):
            j = where[k] - column
            if 0 <= j < tile.shape[1]:
                out[k] = tile[i, j]


@numba.njit(nogil=True, cache=True)
def _count_above(scores: np.ndarray, threshold: float, index: np.ndarray, own: int, is_here: bool) -> int:
    """Count scores above the threshold, and equal ones whose number comes before `own`."""
    above = np.int32(0)
    at_least = np.int32(0)
    for j in range(len(scores)):
        above = np.int32(above + np.int32(scores[j] > threshold))
        at_least = np.int32(at_least + np.int32(scores[j] >= threshold))
    if at_least - above > np.int32(is_here):
        earlier = np.int32(0)
        for j in range(len(scores)):
            earlier = np.int32(earlier + np.int32((scores[j] == threshold) & (index[j] < own)))
        above = np.int32(above + earlier)
    return int(above)


@numba.njit(nogil=True, cache=True)
def _count_between(
    scores: np.ndarray,
    index: np.ndarray,
    thresholds: np.ndarray,
    numbers: np.ndarray,
    table: np.ndarray,
    stretch: np.ndarray,
    counts: np.ndarray,
) -> None:
    """Count every score at the first threshold it stands above; `accumulate` sums up.

    `thresholds` end with two of minus infinity and `counts` with one place for scores above none. All indices are
    unsigned: a signed one would cost a test for wrapping around at every access.
    """
    n = np.uint64(len(thresholds) - 2)
    lowest = thresholds[n - np.uint64(1)]
    scale = thresholds.dtype.type(table_scale(thresholds[0], lowest, len(table)))
    last = thresholds.dtype.type(len(table) - 1)
    zero = thresholds.dtype.type(0)
    for j in range(len(scores)):
        stretch[j] = np.uint32(np.int32(max(min((scores[j] - lowest) * scale, last), zero)))
    for j in range(np.uint64(len(scores))):
        score = scores[j]
        place = np.uint64(table[stretch[j]])
        # Most stretches hold no threshold or one, and one step without a branch settles both.
        place = np.uint64(place + np.uint64(thresholds[place] > score))
        if thresholds[place] >= score:
            while place < n and (
                (thresholds[place] > score) | ((thresholds[place] == score) & (numbers[place] <= index[j]))
            ):
                place = np.uint64(place + np.uint64(1))
        counts[place] += np.uint32(1)


@numba.njit(nogil=True, cache=True)
def count_tile(
    tile: np.ndarray,
    query: int,
    n_queries: int,
    column: int,
    index: np.ndarray,
    thresholds: Thresholds,
    counts: np.ndarray,
) -> None:
    """Add to `counts` what this tile holds above each threshold of its queries; `index` numbers its real columns."""
    offsets = thresholds.offsets
    n_columns = len(index)
    most = 0
    for i in range(n_queries):
        most = max(most, offsets[query + i + 1] - offsets[query + i])
    stretch = np.empty(n_columns, np.uint32)
    padded = np.empty(most + 2, thresholds.scores.dtype)
    between = np.empty(most + 1, np.uint32)
    for i in range(n_queries):
        scores = tile[i, :n_columns]
        start = offsets[query + i]
        stop = offsets[query + i + 1]
        n = stop - start
        if n < MANY:
            for k in range(start, stop):
                is_here = 0 <= thresholds.where[k] - column < n_columns
                counts[k] += _count_above(scores, thresholds.scores[k], index, thresholds.numbers[k], is_here)
        else:
            for k in range(n):
                padded[k] = thresholds.scores[start + k]
                between[k] = 0
            padded[n] = -np.inf
            padded[n + 1] = -np.inf
            table = thresholds.table[start * FINENESS : stop * FINENESS]
            numbers = thresholds.numbers[start:stop]
            _count_between(scores, index, padded[: n + 2], numbers, table, stretch, between)
            for k in range(n):
                counts[start + k] += between[k]


@numba.njit(nogil=True, cache=True)
def accumulate(offsets: np.ndarray, counts: np.ndarray) -> None:
    """Turn the counts between thresholds of queries with many thresholds into counts above each."""
    for query in range(len(offsets) - 1):
        if offsets[query + 1] - offsets[query] >= MANY:
            for k in range(offsets[query] + 1, offsets[query + 1]):
                counts[k] += counts[k - 1]
