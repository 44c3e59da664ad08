"""Count by comparing every coarse score with every threshold of its query: right where thresholds stand anywhere.

Most comparisons are clear. Pairs that are not are marked, computed, and counted at the thresholds that were left open.
"""

import numba
import numpy as np

from fairground.retrieval.coarse_counts import CoarseComparison, CoarseSide, Standing, multiply_listed
from fairground.retrieval.summation_order import dot_in_order

#: columns of a tile counted at a time: they share a bound, and their rows stay in the second cache
COLUMNS = 256


@numba.njit(nogil=True, cache=True)
def add_scaled(first: np.ndarray, codes: np.ndarray, row_scale: np.ndarray, column_scale: np.ndarray) -> None:
    """Add the scaled 8-bit products to the products of the first coordinates, in place."""
    for i in range(first.shape[0]):
        for j in range(first.shape[1]):
            first[i, j] += (row_scale[i] * column_scale[j]) * np.float32(codes[i, j])


@numba.njit(nogil=True, cache=True)
def count_comparisons(
    scores: np.ndarray, left: CoarseSide, right: CoarseSide, comparison: CoarseComparison, standing: Standing
) -> np.int64:
    """Add to the counts what this tile of coarse scores holds above each threshold of its rows.

    Returns how many pairs were computed. Thresholds that are open stay so.
    """
    thresholds, counts = comparison.thresholds, standing.counts
    offsets, levels, doubt = thresholds.offsets, thresholds.scores, np.float32(2 * comparison.margin)
    rows, others = left.rows, right.rows
    words = np.zeros(COLUMNS // 8, np.uint64)
    is_doubtful = words.view(np.uint8)
    places = np.empty(COLUMNS + 8, np.uint64)
    products = np.empty(COLUMNS + 8, np.float32)
    n_computed = np.int64(0)
    n_columns = len(right.numbers)
    for begin in range(0, n_columns, COLUMNS):
        end = min(begin + COLUMNS, n_columns)
        length, error = right.middle.length[begin:end].max(), right.middle.error[begin:end].max()
        rest, order = right.rest.length[begin:end].max(), right.order[begin:end]
        for i in range(len(left.numbers)):
            own = left.order[i]
            query = left.query + own
            if query < 0 or query >= len(offsets) - 1:
                continue
            start, stop = offsets[query], standing.stops[query]
            lost = left.middle.error[i] * length + left.middle.length[i] * error
            reach = np.float32(lost + left.rest.length[i] * rest + comparison.margin)
            some = scores[i, begin:end]
            if _count_clear(some, levels, start, stop, reach, is_doubtful, counts):
                n = _gather_marked(is_doubtful, words, places)
                multiply_listed(rows[own], others, order, places, n, products)
                n_computed += n
                for at in range(n):
                    score, product = some[places[at]], products[at]
                    if not _count_open_if_clear(score, product, levels, start, stop, reach, doubt, counts):
                        other = order[places[at]]
                        _recount_exactly(score, reach, left, own, right, other, comparison, counts)
    return n_computed


@numba.njit(nogil=True, cache=True)
def _count_clear(
    scores: np.ndarray,
    levels: np.ndarray,
    start: int,
    stop: int,
    reach: np.float32,
    is_doubtful: np.ndarray,
    counts: np.ndarray,
) -> bool:
    """Count the scores that are above each threshold for certain; mark those that may be, and say whether any may."""
    is_open = False
    for k in range(stop - 1, start - 1, -1):
        high = np.float32(levels[k] + reach)
        low = np.float32(levels[k] - reach)
        above = np.int32(0)
        at_least = np.int32(0)
        for j in range(len(scores)):
            above = np.int32(above + np.int32(scores[j] > high))
            at_least = np.int32(at_least + np.int32(scores[j] >= low))
        if at_least == 0:
            break
        counts[k] += above
        if at_least > above:
            is_open = True
            for j in range(len(scores)):
                is_doubtful[j] |= (scores[j] >= low) & (scores[j] <= high)
    return is_open


@numba.njit(nogil=True, cache=True)
def _gather_marked(is_marked: np.ndarray, words: np.ndarray, places: np.ndarray) -> np.int64:
    """Write the places of marked columns and clear the marks; eight are looked at at once."""
    n = np.uint64(0)
    for word in range(np.uint64(len(words))):
        if words[word]:
            for b in range(np.uint64(8)):
                j = np.uint64(word * np.uint64(8) + b)
                places[n] = j
                n = np.uint64(n + np.uint64(is_marked[j]))
            words[word] = 0
    return np.int64(n)


@numba.njit(nogil=True, cache=True)
def _count_open_if_clear(
    score: np.float32,
    product: np.float32,
    levels: np.ndarray,
    start: int,
    stop: int,
    reach: np.float32,
    doubt: np.float32,
    counts: np.ndarray,
) -> bool:
    """Count a product at the thresholds its coarse score left open; say whether it could, being close to none."""
    for k in range(start, stop):
        is_left = (score >= np.float32(levels[k] - reach)) & (score <= np.float32(levels[k] + reach))
        if is_left & (abs(product - levels[k]) <= doubt):
            return False
    for k in range(start, stop):
        is_left = (score >= np.float32(levels[k] - reach)) & (score <= np.float32(levels[k] + reach))
        counts[k] += np.int32(is_left & (product > levels[k]))
    return True


@numba.njit(nogil=True, cache=True)
def _recount_exactly(
    score: np.float32,
    reach: np.float32,
    left: CoarseSide,
    own: int,
    right: CoarseSide,
    other: int,
    comparison: CoarseComparison,
    counts: np.ndarray,
) -> None:
    """Count a pair at the thresholds its coarse score left open, by the very bits of the plain way."""
    exact = dot_in_order(left.rows, own, right.rows, other, comparison.cuts)
    thresholds = comparison.thresholds
    query = left.query + own
    for k in range(thresholds.offsets[query], thresholds.offsets[query + 1]):
        level = thresholds.scores[k]
        if score >= np.float32(level - reach) and score <= np.float32(level + reach):
            is_earlier = right.numbers[other] < thresholds.numbers[k] and thresholds.where[k] != right.place + other
            counts[k] += np.int32(exact > level or (exact == level and is_earlier))
