"""References that occur more than once, so that copies of an image get equal scores.

A BLAS kernel sums columns at the edge of its panels in another order than those inside, so that products of equal rows
may differ in their last bit. So one row stands for its duplicates, and their columns are copied from its products.
"""

import threading

import numpy as np

from fairground.retrieval import Tiles, multiply

#: bytes of products with standing rows that may be kept at once
KEPT_BYTES = 2**28


class DuplicateRows:
    """References that occur more than once, and the products of query tiles with the rows that stand for them."""

    def __init__(self, queries: Tiles, references: Tiles, stands: np.ndarray, stand_in: np.ndarray) -> None:
        #: for each reference place, which standing row replaces it, -1 for a row that occurs once
        self.stand_in = stand_in
        self._queries = queries
        self._standing = Tiles(references.take(stands), np.arange(len(stands)), queries.edge, queries.dtype, None)
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
