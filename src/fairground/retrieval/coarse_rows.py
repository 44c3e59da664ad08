"""Rows in fewer and shorter numbers, and how far off each row is, so that most comparisons need no whole product.

Rows x are turned to principal axes, z = x A, which leaves products as they are. Of z the first coordinates are kept in
float32, the middle ones in 8 bits (z = s c + e with whole numbers c), and so is the rest. For two rows
    z.z' = first.first' + middle.middle' + rest.rest',    middle.middle' = s s' (c.c') + [e.(s' c') + middle.e'],
and by Cauchy and Schwarz the bracket is at most |e| |s' c'| + |middle| |e'|, and the last term |rest| |rest'|. Trained
embeddings have little in the rest: first and middle products are made of all pairs, and the rest is multiplied, in 8
bits, for those that are not decided. Products of 8-bit numbers are exact and take a quarter of the time of float32.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numba
import numpy as np

from fairground.retrieval.threads import share_stretches
from fairground.retrieval.tiles import Tiles

#: the largest whole number of 8 bits in use
LARGEST = 127
#: rows the principal axes are taken from
SAMPLE = 4096
#: half the distance from 1 to the next float32: the most that one rounding changes a number, relative to it
ROUNDOFF = 2.0**-24


class Widths(NamedTuple):
    """How many principal coordinates are kept in float32 (`first`), and how many together with those in 8 bits."""

    first: int
    total: int


class CoarseRows(NamedTuple):
    """`first` (n, m), and `middle` and `rest` in 8 bits, stand for the rows; padding too.

    Rows of a tile are in the order of their bounds, so that neighbours share one: `order` says which row of the tile
    each is.
    """

    first: np.ndarray
    middle: "ShortNumbers"
    rest: "ShortNumbers"
    order: np.ndarray


class ShortNumbers(NamedTuple):
    """Some coordinates of rows as `scale` (n) times `codes` (n, k) of 8 bits.

    `length` is that of a row in these coordinates, before or after it was rounded, whichever is larger; `error` that of
    the difference.
    """

    codes: np.ndarray
    scale: np.ndarray
    length: np.ndarray
    error: np.ndarray

    def part(self, here: slice) -> "ShortNumbers":
        """Return some rows."""
        return ShortNumbers(self.codes[here], self.scale[here], self.length[here], self.error[here])


@dataclass(frozen=True)
class Axes:
    """The principal axes (d, d) of some rows in float64, largest first, and the share of the rows along each."""

    principal: np.ndarray
    shares: np.ndarray

    def spread(self, widths: Widths) -> np.ndarray:
        """Return the axes with those of the middle and those of the rest each turned among themselves.

        A turn spreads a row evenly over its coordinates: one large coordinate would make 8 bits coarse.
        """
        first, middle, rest = np.split(self.principal, widths, axis=1)
        parts = [first, middle @ _turn(middle.shape[1]), rest @ _turn(rest.shape[1])]
        return np.ascontiguousarray(np.concatenate(parts, axis=1))


def _turn(n: int) -> np.ndarray:
    """Return an orthogonal matrix (n, n) whose entries are all of one size, more or less: cosines with random signs."""
    place = np.arange(n)
    cosines = np.cos(np.pi * np.outer(place, 2 * place + 1) / (2 * max(n, 1))) * np.sqrt(2 / max(n, 1))
    cosines[:1] /= np.sqrt(2)
    signs = np.where(np.random.default_rng(0).random(n) < 0.5, -1.0, 1.0)
    turned: np.ndarray = signs[:, None] * cosines
    return turned


def principal_axes(rows: Tiles) -> Axes:
    """Return the principal axes of a sample of the rows."""
    places = np.unique(np.linspace(0, rows.n - 1, min(rows.n, SAMPLE)).astype(np.int64))
    sample = rows.take(places)
    values, axes = np.linalg.eigh((sample.T @ sample).astype(np.float64))
    return Axes(np.ascontiguousarray(axes[:, ::-1]), np.maximum(values[::-1], 0) / max(values.sum(), 1e-30))


def coarse_rows(rows: Tiles, axes: np.ndarray, widths: Widths, tiles: range, *, threads: int) -> CoarseRows:
    """Return some tiles of rows in short numbers; `axes` are spread ones."""
    n = len(tiles) * rows.edge
    first, order = np.empty((n, widths.first), np.float32), np.empty(n, np.int32)
    middle, rest = _short_numbers(n, widths.total - widths.first), _short_numbers(n, len(axes) - widths.total)

    def work(begin: int, end: int) -> None:
        for at in range(begin, end):
            here = slice(at * rows.edge, (at + 1) * rows.edge)
            turned = rows.tile(tiles[at]).astype(np.float64) @ axes
            parts = np.split(turned, widths, axis=1)
            doubts = _squares(parts[1]) / LARGEST + _squares(parts[2])
            doubts[rows.length(tiles[at]) :] = -1
            order[here] = np.argsort(-doubts, kind="stable")
            first[here] = parts[0][order[here]]
            _shorten(parts[1], order[here], middle.part(here))
            _shorten(parts[2], order[here], rest.part(here))

    share_stretches(len(tiles), 1, work, threads)
    return CoarseRows(first, middle, rest, order)


def _short_numbers(n: int, width: int) -> ShortNumbers:
    return ShortNumbers(np.empty((n, width), np.int8), *(np.empty(n, np.float32) for _ in range(3)))


def _squares(rows: np.ndarray) -> np.ndarray:
    squares: np.ndarray = np.einsum("ij,ij->i", rows, rows)
    return squares


@numba.njit(nogil=True, cache=True)
def _shorten(exact: np.ndarray, order: np.ndarray, out: ShortNumbers) -> None:
    """Write rows in short numbers, in the given order, and the lengths that bound what was lost."""
    for i in range(len(order)):
        row = exact[order[i]]
        most = 0.0
        for k in range(len(row)):
            most = max(most, abs(row[k]))
        unit = np.float64(np.float32(most / LARGEST))
        if unit == 0:
            unit = np.float64(1.0)
        before, after, lost = 0.0, 0.0, 0.0
        for k in range(len(row)):
            whole = min(max(np.rint(row[k] / unit), -LARGEST), LARGEST)
            out.codes[i, k] = np.int8(whole)
            before += row[k] * row[k]
            after += (whole * unit) ** 2
            lost += (row[k] - whole * unit) ** 2
        out.scale[i] = unit
        # A bound may not be rounded down.
        out.length[i] = np.sqrt(max(before, after)) * (1 + 8 * ROUNDOFF)
        out.error[i] = np.sqrt(lost) * (1 + 8 * ROUNDOFF)


def rounding_margin(d: int, n_first: int) -> float:
    """Return how far rounding may move a coarse score from the exact product of two rows of length one.

    A sum of k products is off by at most k roundings of the lengths' product, in whatever order it is summed: d for
    the exact product, `n_first` for the first coordinates, two more for rounding these to float32, and a few for
    scaling, adding and the bound itself. One part in a thousand more covers lengths that are not quite one.
    """
    return (d + n_first + 24) * ROUNDOFF * 1.001
