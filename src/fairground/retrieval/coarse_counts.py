"""What the compiled loops over coarse scores share: the sides of a tile, what they are compared with, and the counts.

The exact product of a pair lies within a bound of its coarse score. A threshold outside that interval is decided; the
pairs with one inside are computed: first in any order, which rounding leaves a little off, and where even that is too
close to call in the order the BLAS sums (`summation_order`), which gives its very bits.

A threshold is open while fewer references are counted above it than it has room for. A query's thresholds are best
first and their limits never rise, so the open ones are always the first ones, up to `Standing.stops`.
"""

from typing import NamedTuple

import numba
import numpy as np

from fairground.retrieval.coarse_rows import ShortNumbers
from fairground.retrieval.rank_thresholds import Thresholds


class CoarseSide(NamedTuple):
    """One side of a tile: `rows` in full and what bounds them; `order` says which row each is in coarse order.

    `numbers` are those of the real rows, `groups` theirs if pairs of one group are left out. Row 0 is query `query` of
    the block and stands at `place` in the order of its side.
    """

    rows: np.ndarray
    order: np.ndarray
    middle: ShortNumbers
    rest: ShortNumbers
    numbers: np.ndarray
    groups: np.ndarray
    query: int
    place: int


class CoarseComparison(NamedTuple):
    """What products are compared with: thresholds, how many more may stand above each, and how sums are rounded.

    `room` is what is left of each threshold's limit; `cuts` the order of exact sums; `margin` the most that rounding
    moves a product by.
    """

    thresholds: Thresholds
    room: np.ndarray
    cuts: np.ndarray
    margin: np.float32


class Standing(NamedTuple):
    """One thread's counts above each threshold, and where the open thresholds of each query end."""

    counts: np.ndarray
    stops: np.ndarray


@numba.njit(nogil=True, cache=True)
def open_stops(offsets: np.ndarray, room: np.ndarray) -> np.ndarray:
    """Return where the open thresholds of each query end."""
    stops = np.empty(len(offsets) - 1, np.int64)
    for query in range(len(stops)):
        stops[query] = offsets[query + 1]
        while stops[query] > offsets[query] and room[stops[query] - 1] <= 0:
            stops[query] -= 1
    return stops


@numba.njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def multiply_listed(
    row: np.ndarray, rows: np.ndarray, order: np.ndarray, places: np.ndarray, n: np.int64, products: np.ndarray
) -> None:
    """Write the products of one row with the listed others, summed in any order."""
    for at in range(np.uint64(n)):
        j = np.uint64(order[places[at]])
        total = np.float32(0)
        for k in range(np.uint64(len(row))):
            total += row[k] * rows[j, k]
        products[at] = total
