"""Scores to count above: sorted best first for each query, with a table that finds a score's place among many."""

from typing import NamedTuple

import numba
import numpy as np

#: from this many thresholds a query on, looking a score's place up beats comparing it with every threshold
MANY = 36
#: entries of a query's look-up table for each of its thresholds
FINENESS = 8
#: entries a table has at most: a longer one would not stay in the nearest cache
LONGEST = 8192
#: length of the stretches sorted by insertion before they are merged
RUN = 24


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
def sort_thresholds(offsets: np.ndarray, scores: np.ndarray, where: np.ndarray, start: int, stop: int) -> None:
    """Put the thresholds of queries start..stop best first, in place; equal scores keep their order.

    A merge sort written out: the library's own takes seconds to compile.
    """
    most = 0
    for query in range(start, stop):
        most = max(most, offsets[query + 1] - offsets[query])
    spare_scores = np.empty(most, scores.dtype)
    spare_where = np.empty(most, where.dtype)
    for query in range(start, stop):
        mine = scores[offsets[query] : offsets[query + 1]]
        places = where[offsets[query] : offsets[query + 1]]
        _insert(mine, places)
        width = RUN
        while width < len(mine):
            for low in range(0, len(mine), 2 * width):
                _merge(
                    mine,
                    places,
                    low,
                    min(low + width, len(mine)),
                    min(low + 2 * width, len(mine)),
                    spare_scores,
                    spare_where,
                )
            width *= 2


@numba.njit(nogil=True, cache=True)
def _insert(scores: np.ndarray, where: np.ndarray) -> None:
    """Sort each run of `RUN` by insertion."""
    for i in range(len(scores)):
        score, place = scores[i], where[i]
        j = i
        while j % RUN > 0 and scores[j - 1] < score:
            scores[j], where[j] = scores[j - 1], where[j - 1]
            j -= 1
        scores[j], where[j] = score, place


@numba.njit(nogil=True, cache=True)
def _merge(
    scores: np.ndarray, where: np.ndarray, low: int, middle: int, high: int, left: np.ndarray, left_where: np.ndarray
) -> None:
    """Merge the sorted stretches low..middle and middle..high; of equal scores the earlier stays first."""
    n = middle - low
    for i in range(n):
        left[i], left_where[i] = scores[low + i], where[low + i]
    i, j = 0, middle
    for out in range(low, high):
        if i == n:
            return
        if j == high or left[i] >= scores[j]:
            scores[out], where[out] = left[i], left_where[i]
            i += 1
        else:
            scores[out], where[out] = scores[j], where[j]
            j += 1


@numba.njit(nogil=True, cache=True)
def table_length(n: int) -> int:
    """Return how many entries the table of `n` thresholds has."""
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
