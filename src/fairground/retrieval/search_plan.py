"""Who is compared with whom, and the scores of one tile of such pairs."""

from dataclasses import dataclass

import numpy as np

from fairground.retrieval import tile_loops
from fairground.retrieval.duplicate_rows import DuplicateRows
from fairground.retrieval.tiles import Tiles, multiply


class TileWorker:
    """One thread's scratch space: a tile of products, a tile of scores, and its own counts."""

    def __init__(self, edge: int, dtype: np.dtype, n_counts: int = 0) -> None:
        self.product = np.empty((edge, edge), dtype)
        self.scores = np.empty((edge, edge), dtype)
        self.counts = np.zeros(n_counts, np.int32)


@dataclass(frozen=True, kw_only=True)
class SearchPlan:
    """Queries and references in search order.

    `own[q]` is the place of query q among the references, -1 if it is not one of them. `half_lengths` (of references,
    half their squared length) turns products into an order by Euclidean distance: 2 (q.r - |r|^2 / 2) is |q|^2 minus
    the squared distance; with the queries' own as well, scores compare between queries too. Pairs of one group are
    left out, as a query is left out of its own list: they score minus infinity.
    """

    queries: Tiles
    references: Tiles
    is_one_set: bool
    own: np.ndarray
    half_lengths: np.ndarray | None = None
    query_half_lengths: np.ndarray | None = None
    query_groups: np.ndarray | None = None
    reference_groups: np.ndarray | None = None
    duplicates: DuplicateRows | None = None

    @property
    def is_mirrored(self) -> bool:
        """Whether one product serves both its query tile and, transposed, its reference tile."""
        return self.is_one_set and (self.duplicates is None or self.duplicates.are_few)

    @property
    def edge(self) -> int:
        """The edge of a tile."""
        return self.queries.edge

    def workspace(self, n_counts: int = 0) -> TileWorker:
        """Return scratch space for one thread."""
        return TileWorker(self.edge, self.queries.dtype, n_counts)

    def canonical(self, row: int, column: int) -> tuple[int, int]:
        """Return the product that holds a tile's scores: within one set, always the one with the lower tile left."""
        return (column, row) if self.is_one_set and row > column else (row, column)

    def multiply(self, row: int, column: int, out: np.ndarray) -> None:
        """Write the product of query tile `row` and reference tile `column`, both canonical."""
        multiply(self.queries.tile(row), self.references.tile(column), out)

    def scores(self, row: int, column: int, product: np.ndarray, workspace: TileWorker) -> np.ndarray:
        """Return the scores of query tile `row` and reference tile `column`, given their canonical product.

        Higher is nearer. The product itself may be changed, but only to leave pairs out, which is right for good.
        """
        result = product
        if self.canonical(row, column) != (row, column):
            tile_loops.transpose(product, workspace.scores)
            result = workspace.scores
        if self.duplicates is not None:
            if result is product:
                np.copyto(workspace.scores, product)
                result = workspace.scores
            self.duplicates.fill(row, column, result)
        if self.half_lengths is not None:
            lengths = self.half_lengths[column * self.edge : (column + 1) * self.edge]
            if self.query_half_lengths is not None:
                lengths = self.query_half_lengths[row * self.edge : (row + 1) * self.edge, None] + lengths
            real = (slice(lengths.shape[0] if lengths.ndim == 2 else None), slice(lengths.shape[-1]))
            np.subtract(result[real], lengths, out=workspace.scores[real])
            result = workspace.scores
        self._leave_out(row, column, result)
        return result

    def _leave_out(self, row: int, column: int, scores: np.ndarray) -> None:
        rows = slice(row * self.edge, (row + 1) * self.edge)
        tile_loops.forbid_own(scores, self.own[rows], column * self.edge)
        if self.query_groups is not None and self.reference_groups is not None:
            columns = slice(column * self.edge, (column + 1) * self.edge)
            tile_loops.forbid_groups(scores, self.query_groups[rows], self.reference_groups[columns])
