"""Rows in short numbers: a few principal coordinates in float32, the rest in 8 bits, and how far off each row is.

Rows x are turned to z (same products) so that the first coordinates hold most of them, and the rest are spread evenly.
z is then written as z' + e with z' = (first coordinates, scale * whole numbers of 8 bits). For two rows
    z1.z2 = z1'.z2' + e1.z2' + z1.e2,    and by Cauchy and Schwarz    |e1.z2' + z1.e2| <= |e1| |z2'| + |z1| |e2|,
taken for the first coordinates and for the rest apart. Products of 8-bit numbers are exact and take a quarter of the
time, so z1'.z2' decides every comparison that is clearer than this bound.
"""

from dataclasses import dataclass

import numba
import numpy as np
import torch

from fairground.retrieval.threads import share_stretches, single_threaded_openmp
from fairground.retrieval.tiles import Tiles

#: the largest whole number of 8 bits in use
LARGEST = 127
#: rows the principal axes are taken from
SAMPLE = 4096
#: half the distance from 1 to the next float32: the most that one rounding changes a number, relative to it
ROUNDOFF = 2.0**-24


@dataclass(frozen=True)
class CoarseRows:
    """`first` (n, m) and `scale` (n) times `rest` (n, d - m) stand for the rows; padding too.

    Rows of a tile are in the order of their remainders' lengths, so that neighbours share a bound: `order` says which
    row of the tile each is. `length` is that of the remainder, before or after it was rounded, whichever is larger;
    `error` that of the difference.
    """

    first: np.ndarray
    rest: torch.Tensor
    scale: np.ndarray
    length: np.ndarray
    error: np.ndarray
    order: np.ndarray


class CoarseWorker:
    """One thread's scratch space for coarse products."""

    def __init__(self, edge: int) -> None:
        self.scores = np.empty((edge, edge), np.float32)
        self.transposed = np.empty((edge, edge), np.float32)
        self.rest = torch.empty((edge, edge), dtype=torch.int32)
        # Torch sets its number of threads when a thread first asks for it; ours work side by side.
        torch.get_num_threads()
        single_threaded_openmp()


def principal_axes(rows: Tiles) -> np.ndarray:
    """Return the principal axes (d, d) of a sample of the rows in float64, largest first."""
    places = np.unique(np.linspace(0, rows.n - 1, min(rows.n, SAMPLE)).astype(np.int64))
    sample = rows.take(places)
    _, axes = np.linalg.eigh((sample.T @ sample).astype(np.float64))
    return np.ascontiguousarray(axes[:, ::-1])


def spread_axes(axes: np.ndarray, n_first: int) -> np.ndarray:
    """Return the first axes as they are and the others turned at random.

    A turn spreads what is left over all coordinates: one large coordinate would make 8 bits coarse.
    """
    n_rest = axes.shape[0] - n_first
    turn, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((n_rest, n_rest)))
    return np.concatenate([axes[:, :n_first], axes[:, n_first:] @ turn], axis=1)


def coarse_rows(rows: Tiles, axes: np.ndarray, n_first: int, tiles: range, *, threads: int) -> CoarseRows:
    """Return some tiles of rows in short numbers; `axes` are spread ones."""
    n, d = len(tiles) * rows.edge, axes.shape[0]
    first = np.empty((n, n_first), np.float32)
    rest = np.empty((n, d - n_first), np.int8)
    scale, length, error = (np.empty(n, np.float32) for _ in range(3))
    order = np.empty(n, np.int32)

    def work(begin: int, end: int) -> None:
        for at in range(begin, end):
            here = slice(at * rows.edge, (at + 1) * rows.edge)
            turned = rows.tile(tiles[at]).astype(np.float64) @ axes
            sizes = np.sqrt(np.einsum("ij,ij->i", turned[:, n_first:], turned[:, n_first:]))
            sizes[rows.length(tiles[at]) :] = -1
            order[here] = np.argsort(-sizes, kind="stable")
            _shorten(turned, order[here], first[here], rest[here], scale[here], length[here], error[here])

    share_stretches(len(tiles), 1, work, threads)
    return CoarseRows(first, torch.from_numpy(rest), scale, length, error, order)


@numba.njit(nogil=True, cache=True)
def _shorten(
    turned: np.ndarray,
    order: np.ndarray,
    first: np.ndarray,
    rest: np.ndarray,
    scale: np.ndarray,
    length: np.ndarray,
    error: np.ndarray,
) -> None:
    """Write turned rows in short numbers, in the given order, and the lengths that bound what was lost."""
    n_first = first.shape[1]
    for i in range(len(order)):
        row = turned[order[i]]
        first[i] = row[:n_first]
        most = 0.0
        for k in range(n_first, len(row)):
            most = max(most, abs(row[k]))
        unit = np.float64(np.float32(most / LARGEST)) if most > 0 else 1.0
        before, after, lost = 0.0, 0.0, 0.0
        for k in range(n_first, len(row)):
            whole = min(max(np.rint(row[k] / unit), -LARGEST), LARGEST)
            rest[i, k - n_first] = np.int8(whole)
            before += row[k] * row[k]
            after += (whole * unit) ** 2
            lost += (row[k] - whole * unit) ** 2
        scale[i] = unit
        # A bound may not be rounded down.
        length[i] = np.sqrt(max(before, after)) * (1 + 8 * ROUNDOFF)
        error[i] = np.sqrt(lost) * (1 + 8 * ROUNDOFF)


def rounding_margin(d: int, n_first: int) -> float:
    """Return how far rounding may move a coarse score from the exact product of two rows of length one.

    A sum of k products is off by at most k roundings of the lengths' product, in whatever order it is summed: d for
    the exact product, `n_first` for the first coordinates, two more for rounding these to float32, and a few for
    scaling, adding and the bound itself. One part in a thousand more covers lengths that are not quite one.
    """
    return (d + n_first + 16) * ROUNDOFF * 1.001
