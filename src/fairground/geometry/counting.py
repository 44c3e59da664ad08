"""Compiled loops over one tile of scores: read off thresholds, forbid pairs, count what stands above a threshold.

Each loop runs over contiguous scores with 32-bit counters, which the compiler turns into vector comparisons; none holds
the interpreter's lock. Order among equal scores is the order of the references' own numbers (`index`).
"""

import numba
import numpy as np

#: from this many thresholds a query on, one binary search per score beats one comparison per score and threshold
MANY = 128


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
def _search(thresholds: np.ndarray, numbers: np.ndarray, score: float, number: int) -> int:
    """Return the first threshold that a reference stands above; thresholds are in ranking order."""
    low = 0
    high = len(thresholds)
    while low < high:
        middle = (low + high) >> 1
        below = (thresholds[middle] < score) | ((thresholds[middle] == score) & (numbers[middle] > number))
        if below:
            high = middle
        else:
            low = middle + 1
    return low


@numba.njit(nogil=True, cache=True)
def count_tile(
    tile: np.ndarray,
    query: int,
    n_queries: int,
    column: int,
    index: np.ndarray,
    offsets: np.ndarray,
    thresholds: np.ndarray,
    where: np.ndarray,
    numbers: np.ndarray,
    counts: np.ndarray,
) -> None:
    """Add to `counts` what this tile holds above each threshold of its queries.

    `index` numbers the tile's real columns; `where` and `numbers` are the place and number of each threshold's own
    reference. Queries with many thresholds count where each score falls between them instead; `accumulate` sums up.
    """
    n_columns = len(index)
    for i in range(n_queries):
        scores = tile[i, :n_columns]
        start = offsets[query + i]
        stop = offsets[query + i + 1]
        if stop - start < MANY:
            for k in range(start, stop):
                is_here = 0 <= where[k] - column < n_columns
                counts[k] += _count_above(scores, thresholds[k], index, numbers[k], is_here)
        else:
            lowest = thresholds[stop - 1]
            for j in range(n_columns):
                if scores[j] >= lowest:
                    k = start + _search(thresholds[start:stop], numbers[start:stop], scores[j], index[j])
                    if k < stop:
                        counts[k] += 1


@numba.njit(nogil=True, cache=True)
def accumulate(offsets: np.ndarray, counts: np.ndarray) -> None:
    """Turn the counts between thresholds of queries with many thresholds into counts above each."""
    for query in range(len(offsets) - 1):
        if offsets[query + 1] - offsets[query] >= MANY:
            for k in range(offsets[query] + 1, offsets[query + 1]):
                counts[k] += counts[k - 1]
