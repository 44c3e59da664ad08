"""Counting with coarse scores where that pays: fewer and shorter numbers, chosen by a sample, equal to the plain way.

The plain way multiplies every tile in full. Here a tile is multiplied in some principal coordinates (`coarse_rows`),
most comparisons are decided by a bound, and only doubtful pairs are computed in full, in one of two ways
(`coarse_candidates`, `coarse_comparisons`). The ranks are the same, bit for bit. How much is doubtful depends on the
spectrum of the embeddings and on how far down the list the metrics look, and the time of short numbers on the
processor: two tiles are timed each way before a choice is made.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
import torch

from fairground.retrieval import tile_loops
from fairground.retrieval.coarse_candidates import count_candidates
from fairground.retrieval.coarse_comparisons import add_scaled, count_comparisons
from fairground.retrieval.coarse_counts import CoarseComparison, CoarseSide, Standing
from fairground.retrieval.coarse_rows import Axes, CoarseRows, Widths, coarse_rows, principal_axes, rounding_margin
from fairground.retrieval.rank_thresholds import MANY, Thresholds
from fairground.retrieval.search_plan import SearchPlan
from fairground.retrieval.summation_order import summation_order
from fairground.retrieval.threads import single_threaded_openmp
from fairground.retrieval.tiles import HeldTiles, Tiles

#: tiles to be multiplied from which on the sample costs little beside them: it pays nearly always where lists are cut,
#: and seldom where they are whole
FEWEST_TILES = 400
FEWEST_TILES_UNLIMITED = 1500
#: coordinates from which on products are what takes the time
FEWEST_COORDINATES = 96
#: the part of the plain way's time the coarse way may take on the sample to be chosen
WORTHWHILE = 0.9
#: the share of the rows that may be left out where every threshold counts: more would leave too many pairs open
LEFT_OUT = 0.01
#: a limit that no count reaches
NO_LIMIT = 2**31 - 1

Task = tuple[int, int]


class CoarseWay(NamedTuple):
    """Which coordinates are multiplied, and whether pairs that reach a threshold are listed or all are compared."""

    widths: Widths
    is_listed: bool


class CoarseWorker:
    """One thread's scratch space for coarse products."""

    def __init__(self, edge: int) -> None:
        self.scores = np.empty((edge, edge), np.float32)
        self.transposed = np.empty((edge, edge), np.float32)
        self.codes = torch.empty((edge, edge), dtype=torch.int32)
        # Torch sets its number of threads when a thread first asks for it; ours work side by side.
        torch.get_num_threads()
        single_threaded_openmp()


class CoarseSearch:
    """Queries and references in short numbers, ready to be counted tile by tile; some `tiles` of each, or all."""

    def __init__(
        self,
        plan: SearchPlan,
        way: CoarseWay,
        axes: Axes,
        comparison: CoarseComparison,
        start: int,
        *,
        threads: int,
        tiles: tuple[range, range] | None = None,
    ) -> None:
        self.plan, self.way, self.start = plan, way, start
        self.rows, self.columns = tiles or (range(plan.queries.n_tiles), range(plan.references.n_tiles))
        spread = axes.spread(way.widths)
        self.right = coarse_rows(plan.references, spread, way.widths, self.columns, threads=threads)
        self.left = self.right
        if not plan.is_one_set or self.rows != self.columns:
            self.left = coarse_rows(plan.queries, spread, way.widths, self.rows, threads=threads)
        self.comparison = comparison._replace(margin=np.float32(rounding_margin(len(spread), way.widths.first)))

    def count(self, task: Task, is_mirrored: bool, worker: CoarseWorker, standing: Standing) -> None:
        """Add to the counts what a tile holds above the thresholds of its rows and, if mirrored, of its columns."""
        left = self._side(self.left, self.rows, self.plan.queries, self.plan.query_groups, task[0])
        right = self._side(self.right, self.columns, self.plan.references, self.plan.reference_groups, task[1])
        first, codes = self._multiply(task, worker)
        if self.way.is_listed:
            count_candidates(first, codes, left, right, is_mirrored, self.comparison, standing)
            return
        if first.shape[1] == 0:
            first = worker.scores
            first[:] = 0
        if codes.shape[1] > 0:
            add_scaled(first, codes, left.middle.scale, right.middle.scale)
        count_comparisons(first, left, right, self.comparison, standing)
        if is_mirrored:
            tile_loops.transpose(first, worker.transposed)
            count_comparisons(worker.transposed, right, left, self.comparison, standing)

    def _multiply(self, task: Task, worker: CoarseWorker) -> tuple[np.ndarray, np.ndarray]:
        """Return the tile's products in float32 and in 8 bits, rows of no length where there are none."""
        here, there = _stretch(task[0], self.rows, self.plan.edge), _stretch(task[1], self.columns, self.plan.edge)
        first, codes = worker.scores[:, :0], worker.codes[:, :0]
        if self.way.widths.first > 0:
            first = np.matmul(self.left.first[here], self.right.first[there].T, out=worker.scores)
        if self.way.widths.total > self.way.widths.first:
            left, right = (
                torch.from_numpy(side) for side in (self.left.middle.codes[here], self.right.middle.codes[there])
            )
            codes = torch._int_mm(left, right.T, out=worker.codes)
        return first, codes.numpy()

    def _side(self, rows: CoarseRows, tiles: range, full: Tiles, groups: np.ndarray | None, tile: int) -> CoarseSide:
        edge = self.plan.edge
        place, here = slice(tile * edge, (tile + 1) * edge), _stretch(tile, tiles, edge)
        return CoarseSide(
            rows=full.tile(tile),
            order=rows.order[here],
            middle=rows.middle.part(here),
            rest=rows.rest.part(here),
            numbers=full.index[place],
            groups=np.empty(0, np.int64) if groups is None else groups[place],
            query=tile * edge - self.start,
            place=tile * edge,
        )


def _stretch(tile: int, tiles: range, edge: int) -> slice:
    begin = (tile - tiles.start) * edge
    return slice(begin, begin + edge)


def exact_order(plan: SearchPlan, thresholds: Thresholds, n_tiles: int, *, is_unlimited: bool) -> np.ndarray | None:
    """Return the order in which the plan's products are summed, where coarse counting is right and may pay.

    Must be called with BLAS in one thread.
    """
    d = plan.references.source.shape[1]
    is_simple = plan.half_lengths is None and plan.queries.dtype == np.float32
    is_held = isinstance(plan.queries, HeldTiles) and isinstance(plan.references, HeldTiles)
    is_large = n_tiles >= (FEWEST_TILES_UNLIMITED if is_unlimited else FEWEST_TILES) and d >= FEWEST_COORDINATES
    if not (is_simple and is_held and is_large) or int(np.diff(thresholds.offsets).max(initial=0)) >= MANY:
        return None
    return summation_order(plan.edge, d)


def chosen_search(
    plan: SearchPlan,
    comparison: CoarseComparison,
    start: int,
    stops: np.ndarray,
    sample: Sequence[Task],
    count_plainly: Callable[[Task], None],
    *,
    is_unlimited: bool,
    is_mirrored: bool,
    threads: int,
) -> CoarseSearch | None:
    """Return the coarse search that some tiles show to be faster than the plain way, or None.

    `count_plainly` counts one tile the plain way and forgets the counts; `is_unlimited` says that no threshold has a
    limit. Must be called with BLAS and OpenMP in one thread.
    """
    axes = principal_axes(plan.references)
    worker, counts = CoarseWorker(plan.edge), np.zeros(len(comparison.room), np.int32)
    least = sum(_seconds(lambda task=task: count_plainly(task)) for task in sample) * WORTHWHILE  # type: ignore[misc]
    best = None
    for way in _ways(axes, is_unlimited=is_unlimited, has_groups=plan.query_groups is not None):
        seconds = 0.0
        for task in sample:
            tiles = (range(task[0], task[0] + 1), range(task[1], task[1] + 1))
            search = CoarseSearch(plan, way, axes, comparison, start, threads=1, tiles=tiles)

            def count(stops: np.ndarray, task: Task = task, search: CoarseSearch = search) -> None:
                counts[:] = 0
                search.count(task, is_mirrored, worker, Standing(counts, stops.copy()))

            # With every threshold closed: loops are compiled, or loaded, when they are first called.
            count(comparison.thresholds.offsets[:-1])
            seconds += _seconds(lambda count=count: count(stops), least)  # type: ignore[misc]
            if seconds >= least:
                break
        if seconds < least:
            least, best = seconds, way
    return None if best is None else CoarseSearch(plan, best, axes, comparison, start, threads=threads)


def _ways(axes: Axes, *, is_unlimited: bool, has_groups: bool) -> Iterator[CoarseWay]:
    """Yield the ways to be tried."""
    d = len(axes.shares)
    has_codes = are_short_products_exact()
    eighth, quarter, half = d // 8, d // 4, d // 2
    if not is_unlimited:
        for total in (quarter + eighth, half, d) if has_codes else ():
            yield CoarseWay(Widths(0, total), is_listed=True)
        for first in (quarter, half):
            yield CoarseWay(Widths(first, first), is_listed=True)
        return
    if has_codes:
        yield CoarseWay(Widths(0, d), is_listed=True)
    if has_groups:
        return
    if axes.shares[quarter:].sum() <= LEFT_OUT:
        yield CoarseWay(Widths(quarter, quarter), is_listed=False)
    for first in (eighth, quarter) if has_codes else ():
        yield CoarseWay(Widths(first, d), is_listed=False)


@cache
def are_short_products_exact() -> bool:
    """Whether 8-bit products come out right at their largest: some processors add them up in 16 bits."""
    largest = torch.full((32, 512), 127, dtype=torch.int8)
    try:
        product = torch._int_mm(largest, -largest.T)
    except RuntimeError:
        return False
    return bool((product == -127 * 127 * 512).all())


def _seconds(work: Callable[[], None], enough: float = float("inf")) -> float:
    """Return the least processor time of this thread over two calls; over one, where that takes more than `enough`."""
    times: list[float] = []
    while not times or (len(times) < 2 and times[0] < enough):
        begun = time.thread_time()
        work()
        times.append(time.thread_time() - begun)
    return min(times)
