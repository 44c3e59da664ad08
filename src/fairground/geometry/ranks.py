"""Exact places of every query's relevant references, without sorting and without the whole matrix of scores.

A reference's place is one plus the number of references that score higher, or equal with a smaller number. So it is
enough to read each relevant reference's score (its threshold) out of the tile that holds it, and then to count, tile by
tile, the scores above each threshold. Both passes use the same products (`tiles`), so that a reference never stands
above itself. When queries and references are one set, a tile serves its rows and, transposed, its columns.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fairground.geometry import counting
from fairground.geometry.tiles import Tiles, multiply, share_out


class Relevant(NamedTuple):
    """Relevant references of queries start..: places `where[offsets[q]:offsets[q + 1]]` in the references' order."""

    start: int
    offsets: np.ndarray
    where: np.ndarray


class Ranked(NamedTuple):
    """For queries start..: scores of the relevant references, best first, their places, and where they were found."""

    start: int
    offsets: np.ndarray
    ranks: np.ndarray
    scores: np.ndarray
    where: np.ndarray


@dataclass(frozen=True, kw_only=True)
class Pairing:
    """Who is compared with whom.

    `own[q]` is the place of query q among the references, -1 if it is not one of them. `half_lengths` (of references,
    half their squared length) turns products into an order by Euclidean distance. Pairs of one group are forbidden.
    """

    queries: Tiles
    references: Tiles
    is_one_set: bool
    own: np.ndarray
    half_lengths: np.ndarray | None = None
    query_groups: np.ndarray | None = None
    reference_groups: np.ndarray | None = None


class Hand:
    """One thread's scratch space and counts."""

    def __init__(self, pairing: Pairing, n_counts: int) -> None:
        edge = pairing.queries.edge
        self.product = np.empty((edge, edge), pairing.queries.dtype)
        self.scores = np.empty_like(self.product)
        self.counts = np.zeros(n_counts, np.int32)


def scores(pairing: Pairing, row: int, column: int, hand: Hand, *, is_made: bool = False) -> np.ndarray:
    """Return the scores of query tile `row` against reference tile `column`; higher is nearer.

    Within one set the product is always made with the lower tile on the left, whichever of the two asks.
    """
    turned = pairing.is_one_set and row > column
    left, right = (column, row) if turned else (row, column)
    if not is_made:
        multiply(pairing.queries.tile(left), pairing.references.tile(right), hand.product)
    result = hand.product
    if turned:
        counting.transpose(hand.product, hand.scores)
        result = hand.scores
    edge = pairing.queries.edge
    if pairing.half_lengths is not None:
        lengths = pairing.half_lengths[column * edge : (column + 1) * edge]
        result = hand.scores
        n = len(lengths)
        np.subtract((hand.scores if turned else hand.product)[:, :n], lengths, out=result[:, :n])
    _forbid(pairing, row, column, result)
    return result


def _forbid(pairing: Pairing, row: int, column: int, result: np.ndarray) -> None:
    edge = pairing.queries.edge
    rows = slice(row * edge, (row + 1) * edge)
    own = pairing.own[rows] - column * edge
    here = np.flatnonzero((own >= 0) & (own < edge))
    result[here, own[here]] = -np.inf
    if pairing.query_groups is not None and pairing.reference_groups is not None:
        columns = slice(column * edge, (column + 1) * edge)
        counting.forbid_groups(result, pairing.query_groups[rows], pairing.reference_groups[columns])


def rank_blocks(
    pairing: Pairing,
    n_relevant: np.ndarray,
    relevant: Callable[[int, int], Relevant],
    *,
    threads: int,
    limit: int,
) -> Iterator[Ranked]:
    """Yield the ranked relevant references of all queries, in blocks of at most about `limit` relevant references.

    `n_relevant` (of each query) bounds a block's size; `relevant(start, stop)` lists those of a block.
    """
    for start, stop in _blocks(n_relevant, limit):
        yield rank(pairing, relevant(start, stop), threads=threads)


def _blocks(n_relevant: np.ndarray, limit: int) -> Iterator[tuple[int, int]]:
    ends = np.cumsum(n_relevant)
    start = 0
    while start < len(ends):
        done = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, done + limit, side="right")))
        yield start, stop
        start = stop


def rank(pairing: Pairing, relevant: Relevant, *, threads: int) -> Ranked:
    """Return the ranked relevant references of the block of queries `relevant` speaks of."""
    ranked = order(pairing, read_scores(pairing, relevant, threads=threads))
    counts = count_above(pairing, ranked, threads=threads)
    return ranked._replace(ranks=counts + 1)


def read_scores(pairing: Pairing, relevant: Relevant, *, threads: int) -> Ranked:
    """Return the scores of all relevant references, in the order given."""
    found = np.empty(len(relevant.where), pairing.queries.dtype)
    edge = pairing.queries.edge
    n_queries = len(relevant.offsets) - 1
    rows = np.repeat((relevant.start + np.arange(n_queries)) // edge, np.diff(relevant.offsets))
    wanted = np.unique(rows * pairing.references.n_tiles + relevant.where // edge)

    def work(task: int, hand: Hand) -> None:
        row, column = divmod(int(task), pairing.references.n_tiles)
        tile = scores(pairing, row, column, hand)
        first, last = _span(row, pairing, relevant.start, n_queries)
        tile = tile[first + relevant.start - row * edge :]
        counting.read_thresholds(tile, first, last - first, column * edge, relevant.offsets, relevant.where, found)

    share_out(wanted, lambda: Hand(pairing, 0), work, threads)
    return Ranked(relevant.start, relevant.offsets, np.empty(0, np.int32), found, relevant.where)


def order(pairing: Pairing, ranked: Ranked) -> Ranked:
    """Return the same with each query's references best first, equal scores by number."""
    numbers = pairing.references.index[ranked.where]
    query = np.repeat(np.arange(len(ranked.offsets) - 1), np.diff(ranked.offsets))
    best_first = np.lexsort((numbers, -ranked.scores, query))
    return ranked._replace(scores=ranked.scores[best_first], where=ranked.where[best_first])


def count_above(pairing: Pairing, ranked: Ranked, *, threads: int) -> np.ndarray:
    """Return how many references stand above each relevant one."""
    n_queries = len(ranked.offsets) - 1
    numbers = pairing.references.index[ranked.where]
    edge = pairing.queries.edge
    is_whole = pairing.is_one_set and n_queries == pairing.queries.n
    first_row, last_row = ranked.start // edge, (ranked.start + n_queries - 1) // edge
    rows = range(first_row, last_row + 1)
    n_columns = pairing.references.n_tiles
    tasks = [(row, column) for row in rows for column in range(row if is_whole else 0, n_columns)]

    def count(row: int, column: int, hand: Hand, *, is_made: bool) -> None:
        tile = scores(pairing, row, column, hand, is_made=is_made)
        first, last = _span(row, pairing, ranked.start, n_queries)
        index = pairing.references.index[column * edge : (column + 1) * edge]
        counting.count_tile(
            tile[first + ranked.start - row * edge :],
            first,
            last - first,
            column * edge,
            index,
            ranked.offsets,
            ranked.scores,
            ranked.where,
            numbers,
            hand.counts,
        )

    def work(task: tuple[int, int], hand: Hand) -> None:
        row, column = task
        count(row, column, hand, is_made=False)
        if is_whole and row != column:
            count(column, row, hand, is_made=True)

    hands = share_out(tasks, lambda: Hand(pairing, len(ranked.where)), work, threads)
    counts = hands[0].counts
    for hand in hands[1:]:
        counts += hand.counts
    counting.accumulate(ranked.offsets, counts)
    return counts


def _span(row: int, pairing: Pairing, start: int, n_queries: int) -> tuple[int, int]:
    """Return which queries of a block lie in a query tile, as first and last + 1, counted from the block's start."""
    edge = pairing.queries.edge
    begin, end = row * edge, row * edge + pairing.queries.length(row)
    return max(begin - start, 0), min(end - start, n_queries)
