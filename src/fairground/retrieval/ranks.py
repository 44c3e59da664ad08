"""Exact places of every query's relevant references, without sorting and without the whole matrix of scores.

A first pass reads each relevant reference's score (its threshold) out of the tile that holds it, a second counts, tile
by tile, the scores above it. Both use the same products (`Tiles`), so that a reference never stands above itself.
"""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from fairground.retrieval import SearchPlan, Thresholds, TileWorker, share_out, share_stretches, threshold_counts

#: bytes of products kept from the first pass for the second
KEPT_BYTES = 2**28
#: queries sorted by one thread at a time
STEP = 256


class Relevant(NamedTuple):
    """Relevant references of queries start..: places `where[offsets[q]:offsets[q + 1]]`, in order of their numbers.

    `grades` says how relevant each is, where that is more than yes or no.
    """

    start: int
    offsets: np.ndarray
    where: np.ndarray
    grades: np.ndarray | None = None


class Ranked(NamedTuple):
    """For queries start..: the places in the ranking of their relevant references, best first, and their scores."""

    start: int
    offsets: np.ndarray
    ranks: np.ndarray
    scores: np.ndarray
    grades: np.ndarray | None = None


def blocks(n_relevant: np.ndarray, limit: int) -> Iterator[tuple[int, int]]:
    """Yield stretches of queries that have at most `limit` relevant references together, or are a single query."""
    ends = np.cumsum(n_relevant)
    start = 0
    while start < len(ends):
        done = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, done + limit, side="right")))
        yield start, stop
        start = stop


def rank(plan: SearchPlan, relevant: Relevant, *, threads: int) -> Ranked:
    work = _Block(plan, relevant, threads)
    work.read()
    work.sort()
    return Ranked(relevant.start, relevant.offsets, work.count() + 1, work.scores, work.grades)


def relevant_scores(plan: SearchPlan, relevant: Relevant, *, threads: int) -> np.ndarray:
    work = _Block(plan, relevant, threads)
    work.read()
    return work.scores


class _Block:
    """A block of queries, from lists of relevant references to their places."""

    def __init__(self, plan: SearchPlan, relevant: Relevant, threads: int) -> None:
        self.plan, self.threads = plan, threads
        self.start, self.offsets, self.where = relevant.start, relevant.offsets, relevant.where.copy()
        self.grades = None if relevant.grades is None else relevant.grades.copy()
        self.n_queries = len(relevant.offsets) - 1
        self.scores = np.empty(len(relevant.where), plan.queries.dtype)
        self.kept: dict[tuple[int, int], np.ndarray] = {}

    def read(self) -> None:
        edge, n_columns = self.plan.edge, self.plan.references.n_tiles
        rows = np.repeat((self.start + np.arange(self.n_queries)) // edge, np.diff(self.offsets))
        is_wanted = np.zeros((self.plan.queries.n_tiles, n_columns), bool)
        is_wanted[rows, self.where // edge] = True
        wanted: list[int] = np.flatnonzero(is_wanted).tolist()
        n_kept = KEPT_BYTES // (edge * edge * self.scores.itemsize)

        def work(task: int, worker: TileWorker) -> None:
            row, column = divmod(task, n_columns)
            tile, first, last = self._tile(row, column, worker, n_kept=n_kept)
            found = (self.offsets, self.where, self.scores)
            threshold_counts.read_thresholds(tile, first, last - first, column * edge, *found)

        share_out(wanted, self.plan.worker, work, self.threads)

    def sort(self) -> None:
        """Put each query's references best first; equal ones stay in the order of their numbers."""

        def work(begin: int, end: int) -> None:
            for query in range(begin, end):
                here = slice(self.offsets[query], self.offsets[query + 1])
                order = np.argsort(-self.scores[here], kind="stable")
                self.scores[here], self.where[here] = self.scores[here][order], self.where[here][order]
                if self.grades is not None:
                    self.grades[here] = self.grades[here][order]

        share_stretches(self.n_queries, STEP, work, self.threads)

    def count(self) -> np.ndarray:
        edge, n_columns = self.plan.edge, self.plan.references.n_tiles
        is_mirrored = self.plan.is_mirrored and self.n_queries == self.plan.queries.n
        rows = range(self.start // edge, (self.start + self.n_queries - 1) // edge + 1)
        # Where tiles are mirrored, one of each two is enough.
        tasks = ((row, column) for row in rows for column in range(row if is_mirrored else 0, n_columns))
        above = self._thresholds()

        def count(row: int, column: int, worker: TileWorker, product: np.ndarray | None) -> None:
            tile, first, last = self._tile(row, column, worker, product)
            numbers = self.plan.references.index[column * edge : (column + 1) * edge]
            threshold_counts.count_tile(tile, first, last - first, column * edge, numbers, above, worker.counts)

        def work(task: tuple[int, int], worker: TileWorker) -> None:
            row, column = task
            count(row, column, worker, None)
            if is_mirrored and row != column:
                count(column, row, worker, self.kept.pop(task, worker.product))

        workers = share_out(tasks, lambda: self.plan.worker((len(self.where),)), work, self.threads)
        counts: np.ndarray = sum((other.counts for other in workers[1:]), workers[0].counts)
        threshold_counts.accumulate(self.offsets, counts)
        return counts

    def _thresholds(self) -> Thresholds:
        most = int(np.diff(self.offsets).max(initial=0))
        n_entries = len(self.where) * threshold_counts.FINENESS if most >= threshold_counts.MANY else 0
        table = np.empty(n_entries, np.uint16 if most < 2**16 else np.uint32)
        if n_entries:
            fill = partial(threshold_counts.fill_table, self.offsets, self.scores, table)
            share_stretches(self.n_queries, STEP, fill, self.threads)
        numbers = self.plan.references.index[self.where]
        return Thresholds(self.offsets, self.scores, self.where, numbers, table)

    def _tile(
        self, row: int, column: int, worker: TileWorker, product: np.ndarray | None = None, *, n_kept: int = 0
    ) -> tuple[np.ndarray, int, int]:
        """Return the block's scores in a tile, and its first and last + 1 query there, from the block's start."""
        key = self.plan.canonical(row, column)
        product = self.kept.get(key) if product is None else product
        if product is None:
            is_kept = len(self.kept) < n_kept
            product = np.empty_like(worker.product) if is_kept else worker.product
            self.plan.multiply(*key, product)
            if is_kept:
                self.kept[key] = product
        scores = self.plan.scores(row, column, product, worker)
        begin = row * self.plan.edge
        first = max(begin - self.start, 0)
        last = min(begin + self.plan.queries.length(row) - self.start, self.n_queries)
        return scores[first + self.start - begin :], first, last
