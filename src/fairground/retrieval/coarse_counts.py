"""Compiled loops that count with coarse scores what is clear, and compute only the doubtful pairs.

The exact product of a pair lies within a bound of its coarse score. A threshold outside that interval is decided; the
pairs with one inside are few, and their products are computed: first in any order, which rounding leaves a little off,
and where even that is too close to call in the order the BLAS sums (`summation_order`), which gives its very bits.
"""

from typing import NamedTuple

import numba
import numpy as np

from fairground.retrieval.rank_thresholds import Thresholds
from fairground.retrieval.summation_order import dot_in_order

#: columns of a tile counted at a time: they share a bound, and their rows stay in the second cache
COLUMNS = 256


class CoarseSide(NamedTuple):
    """One side of a tile: its rows in full and, in coarse order, which of them each is, and what bounds its error."""

    rows: np.ndarray
    order: np.ndarray
    length: np.ndarray
    error: np.ndarray


class CoarseComparison(NamedTuple):
    """What products are compared with: thresholds, the order of exact sums, and the most that rounding does."""

    thresholds: Thresholds
    cuts: np.ndarray
    margin: np.float32


@numba.njit(nogil=True, cache=True)
def read_products(
    left: np.ndarray,
    right: np.ndarray,
    first: int,
    offsets: np.ndarray,
    where: np.ndarray,
    cuts: np.ndarray,
    begin: int,
    end: int,
    out: np.ndarray,
) -> None:
    """Write the exact product of each query begin..end (row `first` + query of `left`) and its listed references."""
    for query in range(begin, end):
        for k in range(offsets[query], offsets[query + 1]):
            out[k] = dot_in_order(left, first + query, right, where[k], cuts)


@numba.njit(nogil=True, cache=True)
def add_scaled(first: np.ndarray, rest: np.ndarray, row_scale: np.ndarray, column_scale: np.ndarray) -> None:
    """Add the scaled 8-bit products to the products of the first coordinates, in place."""
    for i in range(first.shape[0]):
        for j in range(first.shape[1]):
            first[i, j] += (row_scale[i] * column_scale[j]) * np.float32(rest[i, j])


@numba.njit(nogil=True, cache=True)
def count_coarse_tile(
    scores: np.ndarray,
    left: CoarseSide,
    right: CoarseSide,
    query: int,
    column: int,
    index: np.ndarray,
    comparison: CoarseComparison,
    counts: np.ndarray,
) -> np.int64:
    """Add to `counts` what this tile holds above each threshold of its queries; return how many pairs were doubtful.

    Row i of the tile holds query `query` + left.order[i]; `index` numbers the real columns in their own order.
    """
    offsets, levels = comparison.thresholds.offsets, comparison.thresholds.scores
    where, numbers = comparison.thresholds.where, comparison.thresholds.numbers
    left_rows, left_order, left_length, left_error = left.rows, left.order, left.length, left.error
    right_rows, right_order, right_length, right_error = right.rows, right.order, right.length, right.error
    n_columns, n_queries, margin, cuts = len(index), len(offsets) - 1, comparison.margin, comparison.cuts
    words = np.zeros(COLUMNS // 8, np.uint64)
    is_doubtful = words.view(np.uint8)
    places = np.empty(COLUMNS + 8, np.uint64)
    products = np.empty(COLUMNS + 8, np.float32)
    n_doubtful = np.int64(0)
    for begin in range(0, n_columns, COLUMNS):
        end = min(begin + COLUMNS, n_columns)
        length, error = right_length[begin:end].max(), right_error[begin:end].max()
        order = right_order[begin:end]
        for i in range(scores.shape[0]):
            own = query + left_order[i]
            if own < 0 or own >= n_queries:
                continue
            start, stop = offsets[own], offsets[own + 1]
            bound = np.float32(left_error[i] * length + left_length[i] * error + margin)
            some = scores[i, begin:end]
            if _count_clear(some, levels, start, stop, bound, is_doubtful, counts):
                n = _gather_marked(is_doubtful, words, places)
                n_doubtful += n
                _multiply_listed(left_rows, left_order[i], right_rows, order, places, n, products)
                for at in range(n):
                    score, product = some[places[at]], products[at]
                    if _count_open(score, product, levels, start, stop, bound, 2 * margin, counts):
                        j = order[places[at]]
                        exact = dot_in_order(left_rows, left_order[i], right_rows, j, cuts)
                        _recount(
                            score,
                            product,
                            exact,
                            levels,
                            where,
                            numbers,
                            start,
                            stop,
                            bound,
                            j + column,
                            index[j],
                            counts,
                        )
    return n_doubtful


@numba.njit(nogil=True, cache=True)
def _count_clear(
    scores: np.ndarray,
    thresholds: np.ndarray,
    start: int,
    stop: int,
    bound: np.float32,
    is_doubtful: np.ndarray,
    counts: np.ndarray,
) -> bool:
    """Count the scores that are above each threshold for certain; mark those that may be, and say whether any may."""
    is_open = False
    for k in range(start, stop):
        high = np.float32(thresholds[k] + bound)
        low = np.float32(thresholds[k] - bound)
        above = np.int32(0)
        at_most = np.int32(0)
        for j in range(len(scores)):
            above = np.int32(above + np.int32(scores[j] > high))
            at_most = np.int32(at_most + np.int32(scores[j] >= low))
        counts[k] += above
        if at_most > above:
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


@numba.njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def _multiply_listed(
    left: np.ndarray,
    row: int,
    rows: np.ndarray,
    order: np.ndarray,
    places: np.ndarray,
    n: np.int64,
    products: np.ndarray,
) -> None:
    """Write the products of one row with the listed others, summed in any order."""
    i = np.uint64(row)
    for at in range(np.uint64(n)):
        j = np.uint64(order[places[at]])
        total = np.float32(0)
        for k in range(np.uint64(left.shape[1])):
            total += left[i, k] * rows[j, k]
        products[at] = total


@numba.njit(nogil=True, cache=True)
def _count_open(
    score: np.float32,
    product: np.float32,
    thresholds: np.ndarray,
    start: int,
    stop: int,
    bound: np.float32,
    margin: np.float32,
    counts: np.ndarray,
) -> bool:
    """Count a product at the thresholds its coarse score left open; say whether it is too close to one to trust."""
    is_close = False
    for k in range(start, stop):
        is_open = (score >= np.float32(thresholds[k] - bound)) & (score <= np.float32(thresholds[k] + bound))
        counts[k] += np.int32(is_open & (product > thresholds[k]))
        is_close |= is_open & (abs(product - thresholds[k]) <= margin)
    return is_close


@numba.njit(nogil=True, cache=True)
def _recount(
    score: np.float32,
    product: np.float32,
    exact: np.float32,
    thresholds: np.ndarray,
    where: np.ndarray,
    numbers: np.ndarray,
    start: int,
    stop: int,
    bound: np.float32,
    place: int,
    number: int,
    counts: np.ndarray,
) -> None:
    """Count the exact product instead; a reference never stands above itself."""
    for k in range(start, stop):
        if (score >= np.float32(thresholds[k] - bound)) & (score <= np.float32(thresholds[k] + bound)):
            counts[k] -= np.int32(product > thresholds[k])
            is_above = (exact > thresholds[k]) | ((exact == thresholds[k]) & (number < numbers[k]))
            counts[k] += np.int32(is_above & (where[k] != place))
