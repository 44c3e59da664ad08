"""Exact places of every query's relevant references, without sorting and without the whole matrix of scores.

A reference's place is one plus the number of references that score higher, or equal with a smaller number. So it is
enough to read each relevant reference's score (its threshold) out of the tile that holds it, and then to count, tile by
tile, the scores above each threshold. Both passes use the same products (`tiles`), so that a reference never stands
above itself. When queries and references are one set, a tile serves its rows and, transposed, its columns.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from fairground.contracts.metric import Reach
from fairground.retrieval import rank_thresholds, tile_loops
from fairground.retrieval.coarse_counts import CoarseComparison, Standing, open_stops
from fairground.retrieval.coarse_search import NO_LIMIT, CoarseWorker, Task, chosen_search, exact_order
from fairground.retrieval.rank_thresholds import Thresholds
from fairground.retrieval.search_plan import SearchPlan, TileWorker
from fairground.retrieval.threads import share_out, share_stretches, single_threaded_blas, single_threaded_openmp

#: bytes of products kept from the first pass for the second
KEPT_BYTES = 2**28
#: queries sorted by one thread at a time
STEP = 256
#: tiles of a sample's row, and of its column, counted before it
N_AROUND = 4


class Relevant(NamedTuple):
    """Relevant references of queries start..: places `where[offsets[q]:offsets[q + 1]]` in the references' order.

    Within a query they are in the order of their numbers.
    """

    start: int
    offsets: np.ndarray
    where: np.ndarray


class Ranked(NamedTuple):
    """For queries start..: the places in the ranking of their relevant references, best first, and their scores."""

    start: int
    offsets: np.ndarray
    ranks: np.ndarray
    scores: np.ndarray


def blocks(n_relevant: np.ndarray, limit: int) -> Iterator[tuple[int, int]]:
    """Yield stretches of queries that have at most `limit` relevant references together, or are a single query."""
    ends = np.cumsum(n_relevant)
    start = 0
    while start < len(ends):
        done = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, done + limit, side="right")))
        yield start, stop
        start = stop


def rank(plan: SearchPlan, relevant: Relevant, reach: Reach | None = None, *, threads: int) -> Ranked:
    """Return the ranked relevant references of the queries `relevant` speaks of.

    Places beyond the `reach` of a query are not told apart: they read one more than there are references.
    """
    work = _Block(plan, relevant, threads, reach)
    work.read()
    work.sort()
    counts = work.count()
    counts[counts >= work.limits] = plan.references.n
    return Ranked(relevant.start, relevant.offsets, counts + 1, work.scores)


def limits_of(relevant: Relevant, reach: Reach | None) -> np.ndarray:
    """Return how many references above each relevant one, best first, are told apart."""
    offsets = relevant.offsets
    limits = np.full(len(relevant.where), NO_LIMIT, np.int32)
    if reach is not None:
        queries = slice(relevant.start, relevant.start + len(offsets) - 1)
        others = np.minimum(reach.others[queries], NO_LIMIT)
        limits[:] = np.repeat(others, np.diff(offsets))
        some = np.diff(offsets) > 0
        limits[offsets[:-1][some]] = np.maximum(others, np.minimum(reach.first[queries], NO_LIMIT))[some]
    return limits


def relevant_scores(plan: SearchPlan, relevant: Relevant, *, threads: int) -> np.ndarray:
    """Return the score of every relevant reference, in the order listed."""
    work = _Block(plan, relevant, threads)
    work.read()
    return work.scores


class _Block:
    """A block of queries on its way from lists of relevant references to their places."""

    def __init__(self, plan: SearchPlan, relevant: Relevant, threads: int, reach: Reach | None = None) -> None:
        self.plan = plan
        self.limits = limits_of(relevant, reach)
        self.threads = threads
        self.start = relevant.start
        self.offsets = relevant.offsets
        self.n_queries = len(relevant.offsets) - 1
        self.where = relevant.where.copy()
        self.scores = np.empty(len(relevant.where), plan.queries.dtype)
        self.kept: dict[tuple[int, int], np.ndarray] = {}

    def read(self) -> None:
        """Fill in the scores of the relevant references."""
        edge, n_columns = self.plan.edge, self.plan.references.n_tiles
        rows = np.repeat((self.start + np.arange(self.n_queries)) // edge, np.diff(self.offsets))
        is_wanted = np.zeros((self.plan.queries.n_tiles, n_columns), bool)
        is_wanted[rows, self.where // edge] = True
        wanted: list[int] = np.flatnonzero(is_wanted).tolist()
        n_kept = KEPT_BYTES // (edge * edge * self.scores.itemsize)

        def work(task: int, workspace: TileWorker) -> None:
            row, column = divmod(task, n_columns)
            tile, first, last = self._tile(row, column, workspace, n_kept=n_kept)
            tile_loops.read_thresholds(tile, first, last - first, column * edge, self.offsets, self.where, self.scores)

        share_out(wanted, self.plan.workspace, work, self.threads)

    def sort(self) -> None:
        """Put each query's references best first; equal ones stay in the order of their numbers."""

        def work(begin: int, end: int) -> None:
            rank_thresholds.sort_thresholds(self.offsets, self.scores, self.where, begin, end)

        share_stretches(self.n_queries, STEP, work, self.threads)

    def count(self) -> np.ndarray:
        """Return how many references stand above each relevant one; where that reaches the limit, at least as many."""
        with single_threaded_blas(), single_threaded_openmp():
            tasks, above = self._tasks(), self._thresholds()
            cuts = exact_order(self.plan, above, len(tasks), is_unlimited=self._is_unlimited)
            if cuts is None:
                counts = self._count_plainly(tasks, above)
            else:
                known = self._known_tiles()
                sample = _spread([task for task in tasks if task not in known])
                known |= self._around(sample)
                counts = self._count_plainly([task for task in tasks if task in known], above)
                self.kept.clear()
                others = [task for task in tasks if task not in known]
                comparison = CoarseComparison(above, self.limits - counts, cuts, np.float32(0))
                counts += self._count_others(others, sample, comparison)
        tile_loops.accumulate(self.offsets, counts)
        return counts

    @property
    def _is_unlimited(self) -> bool:
        """Whether no threshold has a limit."""
        return bool((self.limits == NO_LIMIT).all())

    @property
    def _is_mirrored(self) -> bool:
        return self.plan.is_mirrored and self.n_queries == self.plan.queries.n

    def _tasks(self) -> list[Task]:
        """Return the tiles to be counted; where they are mirrored, one of each two."""
        edge, n_columns = self.plan.edge, self.plan.references.n_tiles
        rows = range(self.start // edge, (self.start + self.n_queries - 1) // edge + 1)
        return [(row, column) for row in rows for column in range(row if self._is_mirrored else 0, n_columns)]

    def _known_tiles(self) -> set[Task]:
        """Return the tiles that are multiplied already or hold a query and itself, to be counted the plain way."""
        edge, own = self.plan.edge, self.plan.own
        places = np.flatnonzero(own >= 0)
        tiles = set(zip((places // edge).tolist(), (own[places] // edge).tolist(), strict=True))
        return tiles.union(self.kept, ((column, row) for row, column in self.kept if self.plan.is_one_set))

    def _around(self, sample: Sequence[Task]) -> set[Task]:
        """Return some tiles of the sample's rows and columns: counted first, they make it like those counted later."""
        near = {(row, column + step) for row, column in sample for step in range(1, N_AROUND + 1)}
        near |= {(row + step, column) for row, column in sample for step in range(1, N_AROUND + 1)}
        return near.difference(sample)

    def _count_plainly(self, tasks: Iterable[Task], above: Thresholds) -> np.ndarray:
        """Return what these tiles hold above each threshold."""

        def work(task: Task, workspace: TileWorker) -> None:
            self._count_tile(task, above, workspace)

        workspaces = share_out(tasks, self._workspace, work, self.threads)
        return _summed([workspace.counts for workspace in workspaces])

    def _count_others(self, tasks: Sequence[Task], sample: Sequence[Task], comparison: CoarseComparison) -> np.ndarray:
        """Return what these tiles hold above each threshold, counted the coarse way if that pays on the sample."""
        stops, spare = open_stops(self.offsets, comparison.room), self._workspace()
        search = chosen_search(
            self.plan,
            comparison,
            self.start,
            stops,
            sample,
            lambda task: self._count_tile(task, comparison.thresholds, spare),
            is_unlimited=self._is_unlimited,
            is_mirrored=self._is_mirrored,
            threads=self.threads,
        )
        if search is None:
            return self._count_plainly(tasks, comparison.thresholds)

        def work(task: Task, workspace: tuple[CoarseWorker, Standing]) -> None:
            search.count(task, self._is_mirrored, *workspace)

        def make_workspace() -> tuple[CoarseWorker, Standing]:
            # Threads share `stops`: a threshold that one of them has closed is closed, whoever writes last.
            return CoarseWorker(self.plan.edge), Standing(np.zeros(len(self.where), np.int32), stops)

        done = share_out(tasks, make_workspace, work, self.threads)
        return _summed([standing.counts for _, standing in done])

    def _workspace(self) -> TileWorker:
        return self.plan.workspace(len(self.where))

    def _count_tile(self, task: Task, above: Thresholds, workspace: TileWorker) -> None:
        """Add what a tile holds above the thresholds of its rows and, if mirrored, of its columns."""
        row, column = task
        self._count_rows(row, column, above, workspace, None)
        if self._is_mirrored and row != column:
            self._count_rows(column, row, above, workspace, self.kept.pop((row, column), workspace.product))

    def _count_rows(
        self, row: int, column: int, above: Thresholds, workspace: TileWorker, product: np.ndarray | None
    ) -> None:
        edge = self.plan.edge
        tile, first, last = self._tile(row, column, workspace, product)
        numbers = self.plan.references.index[column * edge : (column + 1) * edge]
        tile_loops.count_tile(tile, first, last - first, column * edge, numbers, above, workspace.counts)

    def _thresholds(self) -> Thresholds:
        most = int(np.diff(self.offsets).max(initial=0))
        n_entries = len(self.where) * rank_thresholds.FINENESS if most >= rank_thresholds.MANY else 0
        table = np.empty(n_entries, np.uint16 if most < 2**16 else np.uint32)

        def work(begin: int, end: int) -> None:
            rank_thresholds.fill_table(self.offsets, self.scores, table, begin, end)

        if n_entries:
            share_stretches(self.n_queries, STEP, work, self.threads)
        numbers = self.plan.references.index[self.where]
        return Thresholds(self.offsets, self.scores, self.where, numbers, table)

    def _tile(
        self, row: int, column: int, workspace: TileWorker, product: np.ndarray | None = None, *, n_kept: int = 0
    ) -> tuple[np.ndarray, int, int]:
        """Return the block's scores in a tile, and its first and last + 1 query there, from the block's start."""
        key = self.plan.canonical(row, column)
        product = self.kept.get(key) if product is None else product
        if product is None:
            is_kept = len(self.kept) < n_kept
            product = np.empty_like(workspace.product) if is_kept else workspace.product
            self.plan.multiply(*key, product)
            if is_kept:
                self.kept[key] = product
        scores = self.plan.scores(row, column, product, workspace)
        begin = row * self.plan.edge
        first = max(begin - self.start, 0)
        last = min(begin + self.plan.queries.length(row) - self.start, self.n_queries)
        return scores[first + self.start - begin :], first, last


def _spread(tasks: Sequence[Task]) -> Sequence[Task]:
    """Return two of the tiles, apart from each other."""
    return tasks[len(tasks) // 4 :: max(len(tasks) // 2, 1)][:2]


def _summed(counts: Sequence[np.ndarray]) -> np.ndarray:
    total: np.ndarray = sum(counts[1:], counts[0])
    return total
