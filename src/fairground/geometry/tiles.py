"""Products of all rows with all rows, tile by tile on a fixed grid, so that a pair's product is one number for ever.

A BLAS may round the same dot product differently when the shape of the call, the place of the pair in it or the number
of threads changes. Exact ranks compare products with each other, so none of that may depend on how much memory or how
many threads there are: every product is made by a call of one shape (edge x edge) at a fixed place of a fixed grid, in
one thread, and parallel work means several tiles at once. Rows beyond the last are zeros; callers never look at them.
"""

from dataclasses import dataclass

import numpy as np

EDGE = 512


def edge_for(*counts: int) -> int:
    """Return the tile edge for sets of these sizes: a function of the data alone, never of memory or threads."""
    return min(EDGE, -(-max(counts) // 64) * 64)


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
        """The number of tiles."""
        return -(-self.n // self.edge)

    def length(self, tile: int) -> int:
        """Return how many rows of a tile are real."""
        return min(self.edge, self.n - tile * self.edge)

    def tile(self, tile: int) -> np.ndarray:
        """Return tile number `tile` as (edge, d)."""
        rows = self.index[tile * self.edge : (tile + 1) * self.edge]
        block = np.zeros((self.edge, self.source.shape[1]), self.dtype)
        is_run = rows[-1] - rows[0] == len(rows) - 1 and bool((np.diff(rows) == 1).all())
        # A run is read as one stretch of the file; picking rows one by one would copy them first.
        block[: len(rows)] = self.source[rows[0] : rows[-1] + 1] if is_run else self.source[rows]
        if self.unit:
            normalise_rows(block)
        return block

    def half_squared_lengths(self) -> np.ndarray:
        """Return half the squared length of every row."""
        squares = [np.einsum("ij,ij->i", block, block) for block in map(self.tile, range(self.n_tiles))]
        return np.concatenate(squares)[: self.n] / 2

    def in_memory(self) -> "Tiles":
        """Return the same tiles, made once and held."""
        held = np.zeros((self.n_tiles * self.edge, self.source.shape[1]), self.dtype)
        for tile in range(self.n_tiles):
            held[tile * self.edge : (tile + 1) * self.edge] = self.tile(tile)
        return HeldTiles(held, self.index, self.edge, self.dtype, False)


class HeldTiles(Tiles):
    """Tiles whose source is already in order, padded and normalised."""

    def tile(self, tile: int) -> np.ndarray:
        """Return tile number `tile` as a view."""
        return self.source[tile * self.edge : (tile + 1) * self.edge]


def normalise_rows(block: np.ndarray) -> None:
    """Scale rows to length one in place; a zero row stays zero.

    Lengths are summed in float64, and each row by itself, so that equal rows stay equal wherever they stand.
    """
    lengths = np.sqrt(np.add.reduce(np.square(block, dtype=np.float64), axis=1))
    block /= np.maximum(lengths, 1e-12)[:, None]


def multiply(left: np.ndarray, right: np.ndarray, out: np.ndarray) -> None:
    """Write left @ right.T into `out`."""
    if left.ctypes.data == right.ctypes.data:
        # NumPy hands a matrix times its own transpose to another BLAS routine, which may round differently.
        right = right.copy()
    np.matmul(left, right.T, out=out)
