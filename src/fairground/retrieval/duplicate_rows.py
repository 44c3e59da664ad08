"""Equal rows must score equally: a matrix product does not promise it, so their columns are filled from one product.

A BLAS kernel sums the columns at the edge of its panels in another order than those inside, and the same two rows may
then differ in their last bit from place to place. For rows that occur once that is rounding like any other. For rows
that occur several times (one photograph listed twice, a collapsed model) it would decide their order instead of their
numbers. So one row stands for all its duplicates: products with the standing rows are made apart, and every
duplicate's column is copied from there.
"""

import threading

import numba
import numpy as np

from fairground.retrieval.tiles import Tiles, multiply

#: bytes of products with standing rows that may be kept at once
KEPT_BYTES = 2**28


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
        if (here >= 0).any():
            fill_columns(scores, here, self._products(row))

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
    """Return the references that occur more than once, or None."""
    hashes = np.concatenate([hash_rows(_bits(references.tile(tile))) for tile in range(references.n_tiles)])
    hashes = hashes[: references.n]
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


def _bits(tile: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(tile).view(np.uint64 if tile.dtype == np.float64 else np.uint32)


@numba.njit(nogil=True, cache=True)
def hash_rows(bits: np.ndarray) -> np.ndarray:
    """Return a number for each row that is equal for equal rows and seldom otherwise."""
    out = np.empty(bits.shape[0], np.uint64)
    for i in range(bits.shape[0]):
        total = np.uint64(0)
        for j in range(bits.shape[1]):
            # An odd multiplier for each column, from Knuth's multiplicative sequence.
            factor = np.uint64(2 * j + 1) * np.uint64(0x9E3779B97F4A7C15) | np.uint64(1)
            total += np.uint64(bits[i, j]) * factor
        out[i] = total
    return out


@numba.njit(nogil=True, cache=True)
def fill_columns(scores: np.ndarray, stand_in: np.ndarray, products: np.ndarray) -> None:
    """Copy each twin's column from the products with the standing rows."""
    for j in range(len(stand_in)):
        if stand_in[j] >= 0:
            for i in range(scores.shape[0]):
                scores[i, j] = products[i, stand_in[j]]
