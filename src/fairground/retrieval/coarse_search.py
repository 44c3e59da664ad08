"""Counting with coarse scores where that pays: tiles in short numbers, chosen by a sample, equal to the plain way.

The plain way multiplies every tile in full. Here a tile is multiplied in short numbers (`coarse_rows`), most
comparisons are decided by a bound, and only doubtful pairs are computed in full (`coarse_counts`). The ranks are the
same, bit for bit. How much is doubtful depends on the spectrum of the embeddings and on how far down the relevant
references stand, and how fast short numbers are on the processor: one tile is timed both ways before a choice is made.
"""

import time
from collections.abc import Callable
from functools import cache, partial

import numpy as np
import torch

from fairground.retrieval import tile_loops
from fairground.retrieval.coarse_counts import CoarseComparison, CoarseSide, add_scaled, count_coarse_tile
from fairground.retrieval.coarse_rows import (
    CoarseRows,
    CoarseWorker,
    coarse_rows,
    principal_axes,
    rounding_margin,
    spread_axes,
)
from fairground.retrieval.rank_thresholds import MANY, Thresholds
from fairground.retrieval.search_plan import SearchPlan
from fairground.retrieval.summation_order import summation_order
from fairground.retrieval.tiles import HeldTiles

#: tiles there must be for the preparation to pay, and coordinates for the products to be what takes the time
FEWEST_TILES = 100
FEWEST_COORDINATES = 192
#: numbers of principal coordinates to try
FIRST = (32, 64)
#: the part of the plain way's time the coarse way may take on the sample to be chosen
WORTHWHILE = 0.9


class CoarseSearch:
    """Queries and references in short numbers, ready to be counted tile by tile."""

    def __init__(
        self,
        plan: SearchPlan,
        thresholds: Thresholds,
        start: int,
        cuts: np.ndarray,
        *,
        axes: np.ndarray,
        n_first: int,
        threads: int,
        tiles: tuple[range, range] | None = None,
    ) -> None:
        self.plan, self.start = plan, start
        self.rows, self.columns = tiles or (range(plan.queries.n_tiles), range(plan.references.n_tiles))
        spread = spread_axes(axes, n_first)
        self.right = coarse_rows(plan.references, spread, n_first, self.columns, threads=threads)
        is_shared = plan.is_one_set and self.rows == self.columns
        self.left = self.right if is_shared else coarse_rows(plan.queries, spread, n_first, self.rows, threads=threads)
        margin = np.float32(rounding_margin(axes.shape[0], n_first))
        self.comparison = CoarseComparison(thresholds, cuts, margin)

    def count(self, row: int, column: int, is_mirrored: bool, worker: CoarseWorker, counts: np.ndarray) -> None:
        """Add to `counts` what a tile holds above the thresholds of its rows and, if mirrored, of its columns."""
        left, right = self._stretch(row, self.rows), self._stretch(column, self.columns)
        np.matmul(self.left.first[left], self.right.first[right].T, out=worker.scores)
        torch._int_mm(self.left.rest[left], self.right.rest[right].T, out=worker.rest)
        add_scaled(worker.scores, worker.rest.numpy(), self.left.scale[left], self.right.scale[right])
        rows = _side(self.left, left, self.plan.queries.tile(row))
        columns = _side(self.right, right, self.plan.references.tile(column))
        self._count(worker.scores, rows, columns, row, column, counts)
        if is_mirrored:
            tile_loops.transpose(worker.scores, worker.transposed)
            self._count(worker.transposed, columns, rows, column, row, counts)

    def _stretch(self, tile: int, tiles: range) -> slice:
        begin = (tile - tiles.start) * self.plan.edge
        return slice(begin, begin + self.plan.edge)

    def _count(
        self, scores: np.ndarray, left: CoarseSide, right: CoarseSide, row: int, column: int, counts: np.ndarray
    ) -> None:
        edge = self.plan.edge
        numbers = self.plan.references.index[column * edge : (column + 1) * edge]
        query = row * edge - self.start
        count_coarse_tile(scores, left, right, query, column * edge, numbers, self.comparison, counts)


def _side(rows: CoarseRows, here: slice, full: np.ndarray) -> CoarseSide:
    return CoarseSide(full, rows.order[here], rows.length[here], rows.error[here])


def chosen_search(
    plan: SearchPlan,
    thresholds: Thresholds,
    start: int,
    count_plainly: Callable[[int, int], None],
    *,
    is_mirrored: bool,
    threads: int,
) -> CoarseSearch | None:
    """Return the coarse search that a sample shows to be faster than the plain way, or None.

    `count_plainly` counts one tile (row, column) the plain way and forgets the counts.
    """
    cuts = exact_order(plan)
    most = int(np.diff(thresholds.offsets).max(initial=0))
    if cuts is None or most >= MANY or not are_short_products_exact():
        return None
    row = min(start // plan.edge, plan.queries.n_tiles - 1)
    column = plan.references.n_tiles - 2
    count_plainly(row, column)
    times = {0: _seconds(lambda: count_plainly(row, column)) * WORTHWHILE}
    worker, counts = CoarseWorker(plan.edge), np.zeros(len(thresholds.scores), np.int32)
    make = partial(CoarseSearch, plan, thresholds, start, cuts, axes=principal_axes(plan.references))
    for n_first in FIRST:
        tiles = (range(row, row + 1), range(column, column + 1))
        sample = make(n_first=n_first, threads=1, tiles=tiles)
        sample.count(row, column, is_mirrored, worker, counts)
        times[n_first] = _seconds(
            lambda sample=sample: sample.count(row, column, is_mirrored, worker, counts)  # type: ignore[misc]
        )
    best = min(times, key=lambda n_first: times[n_first])
    return make(n_first=best, threads=threads) if best else None


def exact_order(plan: SearchPlan) -> np.ndarray | None:
    """Return the order in which the plan's products are summed, where one pair alone may stand for its tile's."""
    is_simple = plan.half_lengths is None and plan.query_groups is None and plan.queries.dtype == np.float32
    is_held = isinstance(plan.queries, HeldTiles) and isinstance(plan.references, HeldTiles)
    d = plan.references.source.shape[1]
    n_tiles = plan.queries.n_tiles * plan.references.n_tiles
    if not is_simple or not is_held or d < FEWEST_COORDINATES or n_tiles < FEWEST_TILES:
        return None
    return summation_order(plan.edge, d)


@cache
def are_short_products_exact() -> bool:
    """Whether 8-bit products come out right at their largest: some processors add them up in 16 bits."""
    largest = torch.full((32, 512), 127, dtype=torch.int8)
    try:
        product = torch._int_mm(largest, -largest.T)
    except RuntimeError:
        return False
    return bool((product == -127 * 127 * 512).all())


def _seconds(work: Callable[[], None]) -> float:
    """Return the least processor time of this thread over three calls."""
    times = []
    for _ in range(3):
        begun = time.thread_time()
        work()
        times.append(time.thread_time() - begun)
    return min(times)
