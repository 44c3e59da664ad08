"""Rows in tiles on a fixed grid, so that the product of two rows is one number whatever the memory and threads.

A BLAS may round a dot product differently when the shape of the call, the place in it or the number of threads changes.
So every product is made by a call of one shape (edge x edge) at a place of a fixed grid, in one thread.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numba
import numpy as np

#: a whole number of the panels a BLAS packs (768 rows on common processors), so that none is packed half full
EDGE = 768


def edge_for(*counts: int) -> int:
    """Return the tile edge for sets of these sizes: a function of the data alone, never of memory or threads."""
    n_tiles = -(-max(counts) // EDGE)
    return -(-max(counts) // (n_tiles * 16)) * 16


@dataclass(frozen=True)
class Tiles:
    """Rows of `source` in the order of `index`, changed in place by `scale`, as zero-padded tiles of `edge` rows.

    Rows may stay in a memory-mapped file: a tile is read, widened to `dtype` and scaled when it is asked for.
    """

    source: np.ndarray
    index: np.ndarray
    edge: int
    dtype: np.dtype
    scale: Callable[[np.ndarray], None] | None

    @property
    def n(self) -> int:
        return len(self.index)

    @property
    def n_tiles(self) -> int:
        return -(-self.n // self.edge)

    def length(self, tile: int) -> int:
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
        if self.scale is not None:
            self.scale(block)
        return block

    def half_squared_lengths(self) -> np.ndarray:
        squares = [squared_lengths(self.tile(tile)) for tile in range(self.n_tiles)]
        return np.concatenate(squares)[: self.n] / 2

    def in_memory(self) -> "Tiles":
        held = np.zeros((self.n_tiles * self.edge, self.source.shape[1]), self.dtype)
        for tile in range(self.n_tiles):
            held[tile * self.edge : (tile + 1) * self.edge] = self.tile(tile)
        return HeldTiles(held, self.index, self.edge, self.dtype, None)


class HeldTiles(Tiles):
    """Tiles whose source is already in order, padded and scaled."""

    def tile(self, tile: int) -> np.ndarray:
        return self.source[tile * self.edge : (tile + 1) * self.edge]

    def take(self, places: np.ndarray) -> np.ndarray:
        return self.source[places]


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


@numba.njit(nogil=True, cache=True)
def transpose(tile: np.ndarray, out: np.ndarray) -> None:
    """Write the transposed tile, in squares of 8 that stay in the nearest cache."""
    for i in range(0, tile.shape[0], 8):
        for j in range(0, tile.shape[1], 8):
            for b in range(8):
                for a in range(8):
                    out[j + b, i + a] = tile[i + a, j + b]
