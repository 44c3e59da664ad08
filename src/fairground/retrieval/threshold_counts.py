"""Thresholds (scores to count above), and the compiled loops that count what stands above each in a tile of scores.

Each loop runs over contiguous scores with 32-bit counters, which the compiler turns into vector comparisons; none holds
the interpreter's lock. Order among equal scores is the order of the references' own numbers.
"""

from typing import NamedTuple

import numba
import numpy as np

#: from this many thresholds per query on, looking a score's place up beats comparing it with every threshold
MANY = 36
#: entries of a query's look-up table for each of its thresholds
FINENESS = 8
#: entries a table has at most: a longer one would not stay in the nearest cache
LONGEST = 8192


class Thresholds(NamedTuple):
    """Scores to count above, best first for each query: `scores[offsets[q]:offsets[q + 1]]`.

    `where` and `numbers` are the place and the number of the reference each came from. `table` maps a score, coarsely,
    to its place among the thresholds of a query that has many.
    """

    offsets: np.ndarray
    scores: np.ndarray
    where: np.ndarray
    numbers: np.ndarray
    table: np.ndarray


@numba.njit(nogil=True, cache=True)
def table_length(n: int) -> int:
    return min(n * FINENESS, LONGEST)


@numba.njit(nogil=True, cache=True)
def table_scale(best: float, lowest: float, n_entries: int) -> float:
    """Return how many table entries one unit of score covers: any number above 0 is right, a finite one is safe."""
    return min((n_entries - 1) / (best - lowest), 1e30) if best > lowest else 1.0


@numba.njit(nogil=True, cache=True)
def fill_table(offsets: np.ndarray, scores: np.ndarray, table: np.ndarray, start: int, stop: int) -> None:
    """Write, for each stretch of scores from a query's lowest to its best threshold, how many stand beyond it.

    A score's stretch is computed here exactly as in `_count_between`. Rounding keeps the order of scores, so that a
    threshold in a higher stretch than a score stands above it, whatever the rounding.
    """
    for query in range(start, stop):
        n = offsets[query + 1] - offsets[query]
        if n >= MANY:
            mine = scores[offsets[query] : offsets[query + 1]]
            begin = offsets[query] * FINENESS
            mine_table = table[begin : begin + table_length(n)]
            lowest = mine[n - 1]
            scale = mine.dtype.type(table_scale(mine[0], lowest, len(mine_table)))
            last = mine.dtype.type(len(mine_table) - 1)
            beyond = len(mine_table)
            for k in range(n):
                entry = int(min((mine[k] - lowest) * scale, last))
                for between in range(entry, beyond):
                    mine_table[between] = k
                beyond = entry
            for between in range(beyond):
                mine_table[between] = n


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
    table: np.ndarray,
    kept: np.ndarray,
    counts: np.ndarray,
) -> None:
    """Count every score at the first threshold it stands above; `accumulate` sums up.

    Scores below all thresholds, often the most, are set aside first and without a branch, which would go wrong too
    often. All indices are unsigned: a signed one would cost a test for wrapping around at every access.
    """
    one = np.uint64(1)
    n = np.uint64(len(thresholds))
    kind = thresholds.dtype.type
    lowest = thresholds[n - one]
    scale = kind(table_scale(thresholds[0], lowest, len(table)))
    last = kind(len(table) - 1)
    n_kept = np.uint64(0)
    for j in range(np.uint64(len(scores))):
        kept[n_kept] = np.uint32(j)
        n_kept = np.uint64(n_kept + np.uint64(scores[j] >= lowest))
    for k in range(n_kept):
        j = kept[k]
        score = scores[j]
        entry = np.uint64(np.int32(min((score - lowest) * scale, last)))
        # Most stretches of the table hold no threshold or one, and one step without a branch settles both.
        low = np.uint64(table[entry])
        low = np.uint64(low + np.uint64((thresholds[min(low, n - one)] > score) & (low < n)))
        if low < n and thresholds[low] >= score:
            high = np.uint64(table[entry - one]) if entry > 0 else n
            while low < high:
                middle = np.uint64((low + high) >> one)
                if (thresholds[middle] < score) | ((thresholds[middle] == score) & (numbers[middle] > index[j])):
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
            table = thresholds.table[start * FINENESS : start * FINENESS + table_length(stop - start)]
            some = thresholds.scores[start:stop], thresholds.numbers[start:stop]
            _count_between(scores, index, some[0], some[1], table, kept, counts[start:stop])


@numba.njit(nogil=True, cache=True)
def accumulate(offsets: np.ndarray, counts: np.ndarray) -> None:
    """Turn the counts between thresholds of queries with many thresholds into counts above each."""
    for query in range(len(offsets) - 1):
        if offsets[query + 1] - offsets[query] >= MANY:
            for k in range(offsets[query] + 1, offsets[query + 1]):
                counts[k] += counts[k - 1]
