"""Thresholds (scores to count above), and the compiled loops that count what stands above each in a tile of scores.

The thresholds of a query are sorted best first; a table finds a score's place among many. Each loop runs over
contiguous scores with 32-bit counters, which the compiler turns into vector comparisons; none holds the interpreter's
lock. Order among equal scores is the order of the references' own numbers.
"""

from typing import NamedTuple

import numba
import numpy as np

#: from this many thresholds per query on, searching for a score's place beats comparing it with every threshold
MANY = 36


class Thresholds(NamedTuple):
    """Scores to count above, best first for each query: `scores[offsets[q]:offsets[q + 1]]`.

    `where` and `numbers` are the place and the number of the reference each came from.
    """

    offsets: np.ndarray
    scores: np.ndarray
    where: np.ndarray
    numbers: np.ndarray


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
def _count_earlier(scores: np.ndarray, threshold: float, index: np.ndarray, own: int) -> int:
    """Count scores equal to the threshold whose number comes before `own`."""
    earlier = 0
    for j in range(len(scores)):
        earlier += int((scores[j] == threshold) & (index[j] < own))
    return earlier


@numba.njit(nogil=True, cache=True)
def _count_above(
    scores: np.ndarray,
    index: np.ndarray,
    column: int,
    thresholds: Thresholds,
    start: int,
    stop: int,
    counts: np.ndarray,
) -> None:
    """Compare every score with every threshold from `start` to `stop`; each is worth one pass of vector comparisons."""
    for k in range(start, stop):
        threshold = thresholds.scores[k]
        above = np.int32(0)
        at_least = np.int32(0)
        for j in range(len(scores)):
            above = np.int32(above + np.int32(scores[j] > threshold))
            at_least = np.int32(at_least + np.int32(scores[j] >= threshold))
        is_here = 0 <= thresholds.where[k] - column < len(scores)
        counts[k] += above
        if at_least - above > np.int32(is_here):
            counts[k] += _count_earlier(scores, threshold, index, thresholds.numbers[k])


@numba.njit(nogil=True, cache=True)
def _count_between(
    scores: np.ndarray,
    index: np.ndarray,
    thresholds: np.ndarray,
    numbers: np.ndarray,
    kept: np.ndarray,
    counts: np.ndarray,
) -> None:
    """Count every score at the first threshold it stands above; `accumulate` sums up.

    Scores below all thresholds, often the most, are set aside first and without a branch, which would go wrong too
    often. All indices are unsigned: a signed one would cost a test for wrapping around at every access.
    """
    one, n = np.uint64(1), np.uint64(len(thresholds))
    lowest, n_kept = thresholds[n - one], np.uint64(0)
    for j in range(np.uint64(len(scores))):
        kept[n_kept] = np.uint32(j)
        n_kept = np.uint64(n_kept + np.uint64(scores[j] >= lowest))
    for k in range(n_kept):
        j = kept[k]
        low, high = np.uint64(0), n
        while low < high:
            middle = np.uint64((low + high) >> one)
            if (thresholds[middle] < scores[j]) | ((thresholds[middle] == scores[j]) & (numbers[middle] > index[j])):
                high = middle
            else:
                low = np.uint64(middle + one)
        if low < n:
            counts[low] += np.int32(1)


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
    kept = np.empty(len(index), np.uint32)
    for i in range(n_queries):
        scores = tile[i, : len(index)]
        start, stop = offsets[query + i], offsets[query + i + 1]
        if stop - start < MANY:
            _count_above(scores, index, column, thresholds, start, stop, counts)
        else:
            some = thresholds.scores[start:stop], thresholds.numbers[start:stop]
            _count_between(scores, index, some[0], some[1], kept, counts[start:stop])


@numba.njit(nogil=True, cache=True)
def accumulate(offsets: np.ndarray, counts: np.ndarray) -> None:
    """Turn the counts between thresholds of queries with many thresholds into counts above each."""
    for query in range(len(offsets) - 1):
        if offsets[query + 1] - offsets[query] >= MANY:
            for k in range(offsets[query] + 1, offsets[query + 1]):
                counts[k] += counts[k - 1]
