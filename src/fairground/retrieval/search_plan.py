"""Which queries are compared with which references, and the scores of one tile of such pairs.

Equal rows must score equally, and a matrix product does not guarantee it: a BLAS kernel sums the columns at the edge of
its panels in another order than those inside, and the same two rows may differ in their last bit from place to place.
For rows that occur several times (one photograph listed twice, a collapsed model) that would decide their order instead
of their numbers. So one row stands for all its duplicates: products with the standing rows are made apart, and every
duplicate's column is copied from there.

Rows are in tiles on a fixed grid, so that the product of two rows is one number whatever the memory and threads.
A BLAS may round the same dot product differently when the shape of the call, the place of the pair in it or the number
of threads changes. Exact ranks compare products with each other, so none of that may depend on how the work is divided:
every product is made by a call of one shape (edge x edge) at a fixed place of a fixed grid, in one thread, and parallel
work means several tiles at once. Rows beyond the last are zeros; callers never look at them.
"""

import threading
from collections.abc import Iterator
from dataclasses import dataclass

import numba
import numpy as np

#: a whole number of the panels a BLAS packs (768 rows on common processors), so that none is packed half full
EDGE = 768
#: bytes of products with standing rows that may be kept at once
KEPT_BYTES = 2**28


def edge_for(*counts: int) -> int:
    """Return the tile edge for sets of these sizes: a function of the data alone, never of memory or threads."""
    n_tiles = -(-max(counts) // EDGE)
    return -(-max(counts) // (n_tiles * 16)) * 16


@dataclass(frozen=True)
class Tiles:
    """Rows of `source` in the order of `index`, unit length if `unit`, as zero-padded tiles of `edge` rows.

    Rows may stay in a memory-mapped file: a tile is read, widened to `dtype` and normalised when it is asked for.
    """

    source: np.ndarray
    index: np.ndarray
    edge: int
    dtype: np.dtype
    unit: bool

    @property
    def n(self) -> int:
        """The number of rows, padding not counted."""
        return len(self.index)

    @property
    def n_tiles(self) -> int:
        return -(-self.n // self.edge)

    def length(self, tile: int) -> int:
        """Return how many rows of a tile are real."""
        return min(self.edge, self.n - tile * self.edge)

    def tile(self, tile: int) -> np.ndarray:
        block = np.zeros((self.edge, self.source.shape[1]), self.dtype)
        here = np.arange(tile * self.edge, tile * self.edge + self.length(tile))
        block[: len(here)] = self.take(here)
        return block

    def take(self, places: np.ndarray) -> np.ndarray:
        rows = self.index[places]
        is_run = len(rows) > 0 and rows[-1] - rows[0] == len(rows) - 1 and bool((np.diff(rows) == 1).all())
        # A run is read as one stretch of the file; picking rows one by one would copy them first.
        some = self.source[rows[0] : rows[-1] + 1] if is_run else self.source[rows]
        # Adding 0 makes -0 into 0: equal rows must be equal in every bit.
        block: np.ndarray = some.astype(self.dtype) + self.dtype.type(0)
        if self.unit:
            normalise_rows(block)
        return block

    def half_squared_lengths(self) -> np.ndarray:
        squares = [squared_lengths(self.tile(tile)) for tile in range(self.n_tiles)]
        return np.concatenate(squares)[: self.n] / 2

    def in_memory(self) -> "Tiles":
        held = np.zeros((self.n_tiles * self.edge, self.source.shape[1]), self.dtype)
        for tile in range(self.n_tiles):
            held[tile * self.edge : (tile + 1) * self.edge] = self.tile(tile)
        return HeldTiles(held, self.index, self.edge, self.dtype, False)


class HeldTiles(Tiles):
    """Tiles whose source is already in order, padded and normalised."""

    def tile(self, tile: int) -> np.ndarray:
        return self.source[tile * self.edge : (tile + 1) * self.edge]

    def take(self, places: np.ndarray) -> np.ndarray:
        some: np.ndarray = self.source[places]
        return some


def normalise_rows(block: np.ndarray) -> None:
    """Scale rows to length one in place; a zero row stays zero."""
    block /= np.maximum(np.sqrt(squared_lengths(block)), 1e-12)[:, None]


@numba.njit(nogil=True, cache=True)
def squared_lengths(block: np.ndarray) -> np.ndarray:
    """Return the squared length of each row, summed in float64 in one order wherever the row stands."""
    out = np.empty(block.shape[0], np.float64)
    for i in range(block.shape[0]):
        even = 0.0
        odd = 0.0
        for j in range(0, block.shape[1] - 1, 2):
            even += np.float64(block[i, j]) ** 2
            odd += np.float64(block[i, j + 1]) ** 2
        if block.shape[1] % 2:
            even += np.float64(block[i, block.shape[1] - 1]) ** 2
        out[i] = even + odd
    return out


def multiply(left: np.ndarray, right: np.ndarray, out: np.ndarray) -> None:
    """Write left @ right.T into `out`."""
    if left.ctypes.data == right.ctypes.data:
        # NumPy hands a matrix times its own transpose to another BLAS routine, which may round differently.
        right = right.copy()
    np.matmul(left, right.T, out=out)


class DuplicateRows:
    """References that occur more than once, and the products of query tiles with the rows that stand for them."""

    def __init__(self, queries: Tiles, references: Tiles, stands: np.ndarray, stand_in: np.ndarray) -> None:
        #: for each reference place, which standing row replaces it, -1 for a row that occurs once
        self.stand_in = stand_in
        self._queries = queries
        self._standing = Tiles(references.take(stands), np.arange(len(stands)), queries.edge, queries.dtype, False)
        self._kept: dict[int, np.ndarray] = {}
        self._lock = threading.Lock()

    @property
    def are_few(self) -> bool:
        """Whether the scores of all query tiles may be kept at once: one tile each, and not too many of them."""
        n_bytes = self._queries.n_tiles * self._queries.edge**2 * self._queries.dtype.itemsize
        return self._standing.n_tiles == 1 and n_bytes <= KEPT_BYTES

    def fill(self, row: int, column: int, scores: np.ndarray) -> None:
        """Overwrite the duplicates' columns in the products of query tile `row` and reference tile `column`."""
        edge = self._queries.edge
        here = self.stand_in[column * edge : (column + 1) * edge]
        places = np.flatnonzero(here >= 0)
        if len(places):
            scores[:, places] = self._products(row)[:, here[places]]

    def _products(self, row: int) -> np.ndarray:
        """Return the products of a query tile with all standing rows; the last ones made are kept."""
        with self._lock:
            if row not in self._kept:
                if not self.are_few:
                    self._kept = {}
                edge = self._queries.edge
                out = np.empty((edge, self._standing.n_tiles * edge), self._queries.dtype)
                tile = np.empty((edge, edge), self._queries.dtype)
                for column in range(self._standing.n_tiles):
                    multiply(self._queries.tile(row), self._standing.tile(column), tile)
                    out[:, column * edge : (column + 1) * edge] = tile
                self._kept[row] = out
            return self._kept[row]


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
    excluded, as a query is excluded from its own list: they score minus infinity.
    """

    queries: Tiles
    references: Tiles
    is_one_set: bool
    own: np.ndarray
    half_lengths: np.ndarray | None = None
    query_half_lengths: np.ndarray | None = None
    groups: tuple[np.ndarray, np.ndarray] | None = None
    duplicates: DuplicateRows | None = None

    @property
    def is_mirrored(self) -> bool:
        """Whether one product serves both its query tile and, transposed, its reference tile."""
        return self.is_one_set and (self.duplicates is None or self.duplicates.are_few)

    @property
    def edge(self) -> int:
        return self.queries.edge

    def workspace(self, n_counts: int = 0) -> TileWorker:
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
        rows, columns = (slice(tile * self.edge, (tile + 1) * self.edge) for tile in (row, column))
        result = product
        if self.canonical(row, column) != (row, column):
            transpose(product, workspace.scores)
            result = workspace.scores
        if self.duplicates is not None:
            if result is product:
                np.copyto(workspace.scores, product)
                result = workspace.scores
            self.duplicates.fill(row, column, result)
        if self.half_lengths is not None:
            lengths = self.half_lengths[columns]
            if self.query_half_lengths is not None:
                lengths = self.query_half_lengths[rows, None] + lengths
            real = (slice(lengths.shape[0] if lengths.ndim == 2 else None), slice(lengths.shape[-1]))
            np.subtract(result[real], lengths, out=workspace.scores[real])
            result = workspace.scores
        place = self.own[rows] - column * self.edge
        mine = np.flatnonzero((place >= 0) & (place < self.edge))
        result[mine, place[mine]] = -np.inf
        if self.groups is not None:
            is_left_out = self.groups[0][rows, None] == self.groups[1][columns]
            result[: is_left_out.shape[0], : is_left_out.shape[1]][is_left_out] = -np.inf
        return result

    def row_scores(self, row: int, workspace: TileWorker) -> Iterator[tuple[slice, slice, np.ndarray]]:
        """Yield the scores of a query tile with every reference tile, and the places of both."""
        rows = slice(row * self.edge, row * self.edge + self.queries.length(row))
        for column in range(self.references.n_tiles):
            self.multiply(*self.canonical(row, column), workspace.product)
            columns = slice(column * self.edge, (column + 1) * self.edge)
            yield rows, columns, self.scores(row, column, workspace.product, workspace)


def find_duplicate_rows(queries: Tiles, references: Tiles) -> DuplicateRows | None:
    word = np.uint64 if references.dtype == np.float64 else np.uint32
    tiles = (np.ascontiguousarray(references.tile(tile)).view(word) for tile in range(references.n_tiles))
    # Equal for equal rows and seldom otherwise: an odd multiplier per column, from Knuth's multiplicative sequence.
    factors = np.arange(1, 2 * references.source.shape[1], 2, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    hashes = np.concatenate([np.matmul(bits, factors) for bits in tiles])[: references.n]
    _, kind, count = np.unique(hashes, return_inverse=True, return_counts=True)
    suspects = np.flatnonzero(count[kind] > 1)
    if len(suspects) == 0:
        return None
    rows = np.ascontiguousarray(references.take(suspects))
    whole = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1])))[:, 0]
    _, first, kind, count = np.unique(whole, return_index=True, return_inverse=True, return_counts=True)
    is_repeated = count > 1
    if not is_repeated.any():
        return None
    number = np.where(is_repeated, np.cumsum(is_repeated) - 1, -1)
    stand_in = np.full(references.n, -1, np.int32)
    stand_in[suspects] = number[kind]
    return DuplicateRows(queries, references, suspects[first[is_repeated]], stand_in)


@numba.njit(nogil=True, cache=True)
def transpose(tile: np.ndarray, out: np.ndarray) -> None:
    """Write the transposed tile, in squares of 8 that stay in the nearest cache."""
    for i in range(0, tile.shape[0], 8):
        for j in range(0, tile.shape[1], 8):
            for b in range(8):
                for a in range(8):
                    out[j + b, i + a] = tile[i + a, j + b]
