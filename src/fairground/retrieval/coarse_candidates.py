"""Count by listing the pairs that can reach a query's lowest threshold: right where thresholds stand near the top.

Rows and columns of a tile are looked at in one go. A pair whose bound reaches neither its row's lowest open threshold
nor its column's is done; the others are few. The rest of their coordinates, in 8 bits, leaves fewer still, and those
are computed and counted.
"""

import numba
import numpy as np

from fairground.retrieval.coarse_counts import CoarseComparison, CoarseSide, Standing, multiply_listed
from fairground.retrieval.coarse_rows import ShortNumbers
from fairground.retrieval.summation_order import dot_in_order

#: columns whose bounds are looked at together
STRIP = 64


@numba.njit(nogil=True, cache=True)
def _lowest(
    order: np.ndarray, query: int, offsets: np.ndarray, levels: np.ndarray, stops: np.ndarray, reach: np.float32
) -> np.ndarray:
    """Return what a bound must reach to matter to each row of a side; infinity where nothing matters."""
    lowest = np.empty(len(order), np.float32)
    for i in range(len(order)):
        own = query + order[i]
        is_open = 0 <= own < len(stops) and stops[own] > offsets[own]
        lowest[i] = levels[stops[own] - 1] - reach if is_open else np.inf
    return lowest


@numba.njit(nogil=True, cache=True, fastmath={"contract"})
def _bound_row(
    first: np.ndarray,
    codes: np.ndarray,
    scale: np.float32,
    scales: np.ndarray,
    rest: np.float32,
    rests: np.ndarray,
    out: np.ndarray,
) -> None:
    """Write one row's coarse scores and what the part left out may add; `first` or `codes` may be empty."""
    if len(first) == 0:
        for j in range(np.uint64(len(scales))):
            out[j] = rest * rests[j] + (scale * scales[j]) * np.float32(codes[j])
    elif len(codes) == 0:
        for j in range(np.uint64(len(scales))):
            out[j] = rest * rests[j] + first[j]
    else:
        for j in range(np.uint64(len(scales))):
            out[j] = rest * rests[j] + (first[j] + (scale * scales[j]) * np.float32(codes[j]))


@numba.njit(nogil=True, cache=True)
def _find_reached(bounds: np.ndarray, lowest: np.float32, columns: np.ndarray, places: np.ndarray) -> np.int64:
    """Write the places whose bound reaches the row's lowest threshold or that of their column; return how many."""
    n = np.uint64(0)
    for begin in range(np.uint64(0), np.uint64(len(bounds)), np.uint64(STRIP)):
        end = min(np.uint64(begin + np.uint64(STRIP)), np.uint64(len(bounds)))
        is_any = np.int32(0)
        for j in range(begin, end):
            is_any |= np.int32((bounds[j] >= lowest) | (bounds[j] >= columns[j]))
        if is_any:
            for j in range(begin, end):
                places[n] = j
                n = np.uint64(n + np.uint64((bounds[j] >= lowest) | (bounds[j] >= columns[j])))
    return np.int64(n)


@numba.njit(nogil=True, cache=True)
def _largest_loss(left: ShortNumbers, right: ShortNumbers) -> np.float32:
    """Return what rounding to 8 bits may have moved any product of two rows by."""
    return np.float32(left.error.max() * right.length.max() + left.length.max() * right.error.max())


@numba.njit(nogil=True, cache=True)
def _narrow(
    left: ShortNumbers,
    i: int,
    right: ShortNumbers,
    reach: np.float32,
    lowest: np.float32,
    columns: np.ndarray,
    bounds: np.ndarray,
    places: np.ndarray,
    n: np.int64,
) -> np.int64:
    """Put the product of the rest, in 8 bits, in the place of its bound; keep the places that still reach."""
    mine, theirs = left.codes[i], right.codes
    kept = np.int64(0)
    for at in range(n):
        j = places[at]
        product = np.int32(0)
        for k in range(np.uint64(len(mine))):
            product = np.int32(product + np.int32(mine[k]) * np.int32(theirs[j, k]))
        most = left.length[i] * right.length[j]
        exact = left.scale[i] * right.scale[j] * np.float32(product) + reach
        bounds[j] += min(exact - most, np.float32(0))
        if bounds[j] >= lowest or bounds[j] >= columns[j]:
            places[kept] = j
            kept = np.int64(kept + 1)
    return kept


@numba.njit(nogil=True, cache=True)
def _count_if_clear(
    product: np.float32,
    query: int,
    doubt: np.float32,
    offsets: np.ndarray,
    levels: np.ndarray,
    room: np.ndarray,
    counts: np.ndarray,
    stops: np.ndarray,
) -> bool:
    """Count a product at the open thresholds it stands above; say whether it could, being close to none of them."""
    start, stop = offsets[query], stops[query]
    k = stop
    while k > start and product - levels[k - 1] > doubt:
        k -= 1
    if k > start and levels[k - 1] - product <= doubt:
        return False
    for above in range(k, stop):
        counts[above] += np.int32(1)
    while stop > start and counts[stop - 1] >= room[stop - 1]:
        stop -= 1
    stops[query] = stop
    return True


@numba.njit(nogil=True, cache=True)
def _count_exactly(
    left: CoarseSide, own: int, right: CoarseSide, other: int, comparison: CoarseComparison, standing: Standing
) -> None:
    """Count a pair at the open thresholds of the row `own` by the very bits of the plain way."""
    exact = dot_in_order(left.rows, own, right.rows, other, comparison.cuts)
    query = left.query + own
    thresholds, counts = comparison.thresholds, standing.counts
    start, stop = thresholds.offsets[query], standing.stops[query]
    for k in range(start, stop):
        level = thresholds.scores[k]
        is_earlier = right.numbers[other] < thresholds.numbers[k] and thresholds.where[k] != right.place + other
        counts[k] += np.int32(exact > level or (exact == level and is_earlier))
    while stop > start and counts[stop - 1] >= comparison.room[stop - 1]:
        stop -= 1
    standing.stops[query] = stop


@numba.njit(nogil=True, cache=True)
def count_candidates(
    first: np.ndarray,
    codes: np.ndarray,
    left: CoarseSide,
    right: CoarseSide,
    is_mirrored: bool,
    comparison: CoarseComparison,
    standing: Standing,
) -> np.int64:
    """Add to the counts what this tile holds above each open threshold of its rows and, if mirrored, of its columns.

    `first` and `codes` are the tile's products in float32 and in 8 bits; the rows of either may be empty. Returns how
    many pairs were computed.
    """
    thresholds, counts, stops, room = comparison.thresholds, standing.counts, standing.stops, comparison.room
    offsets, levels, doubt = thresholds.offsets, thresholds.scores, np.float32(2 * comparison.margin)
    rows, others, order = left.rows, right.rows, right.order
    row_groups, column_groups = left.groups, right.groups
    reach = _largest_loss(left.middle, right.middle) + comparison.margin
    rest_reach = _largest_loss(left.rest, right.rest)
    row_lowest = _lowest(left.order, left.query, offsets, levels, stops, np.float32(reach))
    columns = np.full(len(order), np.inf, np.float32)
    if is_mirrored:
        columns = _lowest(order, right.query, offsets, levels, stops, np.float32(reach))
    bounds = np.empty(len(order), np.float32)
    places = np.empty(len(order) + 1, np.uint64)
    products = np.empty(len(order), np.float32)
    n_computed = np.int64(0)
    for i in range(len(left.numbers)):  # padding comes last in coarse order too
        own, lowest = left.order[i], row_lowest[i]
        scale, length = left.middle.scale[i], left.rest.length[i]
        _bound_row(first[i], codes[i], scale, right.middle.scale, length, right.rest.length, bounds)
        n = _find_reached(bounds[: len(right.numbers)], lowest, columns, places)
        if n > 0 and left.rest.codes.shape[1] > 0:
            n = _narrow(left.rest, i, right.rest, rest_reach, lowest, columns, bounds, places, n)
        multiply_listed(rows[own], others, order, places, n, products)
        n_computed += n
        for at in range(n):
            j = places[at]
            other = order[j]
            if len(row_groups) > 0 and row_groups[own] == column_groups[other]:
                continue
            product, bound = products[at], bounds[j]
            if bound >= lowest:
                query = left.query + own
                if not _count_if_clear(product, query, doubt, offsets, levels, room, counts, stops):
                    _count_exactly(left, own, right, other, comparison, standing)
            if bound >= columns[j]:
                query = right.query + other
                if not _count_if_clear(product, query, doubt, offsets, levels, room, counts, stops):
                    _count_exactly(right, other, left, own, comparison, standing)
    return n_computed
