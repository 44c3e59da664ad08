"""Which queries are compared with which references, and the scores of one tile of such pairs."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fairground.retrieval import DuplicateRows, ScoreBonus, Tiles, multiply, transpose


class TileWorker(NamedTuple):
    """One thread's scratch space: a tile of products, a tile of scores, and its own counts."""

    product: np.ndarray
    scores: np.ndarray
    counts: np.ndarray


@dataclass(frozen=True, kw_only=True)
class SearchPlan:
    """Queries and references in search order.

    `own[q]` is the place of query q among the references, -1 if it is not one of them. `half_lengths` (of references,
    half their squared length) turns products into an order by Euclidean distance: 2 (q.r - |r|^2 / 2) is |q|^2 minus
    the squared distance; with the queries' own as well, scores compare between queries too. In a Poincaré
    ball (`is_hyperbolic`) both are heights, whose product is subtracted as well. Pairs of one group are excluded,
    as a query is excluded from its own list: they score minus infinity. `bonus` (m, n) is what re-ranking adds.
    """

    queries: Tiles
    references: Tiles
    is_one_set: bool
    own: np.ndarray
    half_lengths: np.ndarray | None = None
    query_half_lengths: np.ndarray | None = None
    is_hyperbolic: bool = False
    groups: tuple[np.ndarray, np.ndarray] | None = None
    duplicates: DuplicateRows | None = None
    bonus: ScoreBonus | None = None

    @property
    def is_mirrored(self) -> bool:
        """Whether one product serves both its query tile and, transposed, its reference tile."""
        return self.is_one_set and (self.duplicates is None or self.duplicates.are_few)

    @property
    def edge(self) -> int:
        return self.queries.edge

    def worker(self, n_counts: tuple[int, ...] = (), kind: type[np.integer] = np.int32) -> TileWorker:
        product, scores = np.empty((2, self.edge, self.edge), self.queries.dtype)
        return TileWorker(product, scores, np.zeros(n_counts, kind))

    def canonical(self, row: int, column: int) -> tuple[int, int]:
        """Return the product that holds a tile's scores: within one set, always the one with the lower tile left."""
        return (column, row) if self.is_one_set and row > column else (row, column)

    def multiply(self, row: int, column: int, out: np.ndarray) -> None:
        multiply(self.queries.tile(row), self.references.tile(column), out)

    def scores(self, row: int, column: int, product: np.ndarray, worker: TileWorker) -> np.ndarray:
        """Return the scores of query tile `row` and reference tile `column`, given their canonical product.

        Higher is nearer. The product itself may be changed, but only to leave pairs out, which is right for good.
        """
        rows, columns = (slice(tile * self.edge, (tile + 1) * self.edge) for tile in (row, column))
        result = product
        if self.canonical(row, column) != (row, column):
            transpose(product, worker.scores)
            result = worker.scores
        if self.duplicates is not None:
            if result is product:
                np.copyto(worker.scores, product)
                result = worker.scores
            self.duplicates.fill(row, column, result)
        if self.half_lengths is not None:
            lengths = self.half_lengths[columns]
            if self.query_half_lengths is not None:
                mine = self.query_half_lengths[rows, None]
                lengths = mine + lengths + (mine * lengths if self.is_hyperbolic else 0)
            real = (slice(lengths.shape[0] if lengths.ndim == 2 else None), slice(lengths.shape[-1]))
            np.subtract(result[real], lengths, out=worker.scores[real])
            result = worker.scores
        if self.bonus is not None:
            if result is product:
                np.copyto(worker.scores, product)
                result = worker.scores
            some = self.bonus[rows, columns].tocoo()
            result[some.coords] += some.data
        place = self.own[rows] - column * self.edge
        mine = np.flatnonzero((place >= 0) & (place < self.edge))
        result[mine, place[mine]] = -np.inf
        if self.groups is not None:
            is_left_out = self.groups[0][rows, None] == self.groups[1][columns]
            result[: is_left_out.shape[0], : is_left_out.shape[1]][is_left_out] = -np.inf
        return result

    def fresh_scores(self, row: int, column: int, worker: TileWorker) -> np.ndarray:
        self.multiply(*self.canonical(row, column), worker.product)
        return self.scores(row, column, worker.product, worker)

    def row_scores(self, row: int, worker: TileWorker) -> Iterator[tuple[slice, slice, np.ndarray]]:
        """Yield the scores of a query tile with every reference tile, and the places of both."""
        rows = slice(row * self.edge, row * self.edge + self.queries.length(row))
        for column in range(self.references.n_tiles):
            columns = slice(column * self.edge, (column + 1) * self.edge)
            yield rows, columns, self.fresh_scores(row, column, worker)
