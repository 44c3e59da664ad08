"""Rows as 8-bit codes with bounds: which of them can be among the k nearest of a query, at a quarter of the memory.

Formula
    row r = s c + e with c = round(r / s) in [-127, 127]^d; query q = t a + f with 16-bit a
    |q . r - s t (a . c)| <= |q| |e| + |f| (|r| + |e|)                               (Cauchy-Schwarz)
    a row whose upper bound lies below the k-th highest lower bound is not among the k nearest

a . c is summed in whole numbers and therefore exact. For raw rows both bounds are of q . r - |r|^2 / 2, which ranks as
minus the Euclidean distance does.
"""

from typing import NamedTuple

import numba
import numpy as np

from fairground.errors import DataError, require

#: rows a thread takes at once; their bounds stay in its cache
STRETCH = 32768
_LARGEST = 127
_ROWS_AT_ONCE = 65536


class RowCodes(NamedTuple):
    """`codes` (n, d) of 8 bits, and `bounds` (3, n): the scale s, the length of e, and the length of the row."""

    codes: np.ndarray
    bounds: np.ndarray


class QueryCode(NamedTuple):
    """One query as 16-bit numbers `code` (d,): its `scale` t, its own `length`, and the `residual` length of f."""

    code: np.ndarray
    scale: float
    length: float
    residual: float


def empty_codes(n: int, width: int) -> RowCodes:
    """Return codes for `n` rows, to be filled."""
    return RowCodes(np.empty((n, width), np.int8), np.empty((3, n), np.float32))


def encode_rows(rows: np.ndarray, out: RowCodes) -> None:
    """Fill `out` with the codes of rows (n, d), some at a time; refuse what is not finite."""
    for begin in range(0, len(rows), _ROWS_AT_ONCE):
        some = np.asarray(rows[begin : begin + _ROWS_AT_ONCE], np.float64)
        place = slice(begin, begin + len(some))
        is_finite = bool(np.isfinite(some).all())
        require(is_finite, "embeddings must be finite numbers to be searched; some of these are not", DataError)
        scales = (np.abs(some).max(1, initial=0.0) / _LARGEST).astype(np.float32)
        divisors = np.where(scales > 0, scales, 1).astype(np.float64)[:, None]
        codes = np.clip(np.rint(some / divisors), -_LARGEST, _LARGEST)
        residuals = some - codes * scales[:, None].astype(np.float64)
        out.codes[place] = codes
        out.bounds[0, place] = scales
        # Rounded up: a bound that is too small would leave out a true neighbour.
        out.bounds[1, place] = np.nextafter(np.sqrt((residuals**2).sum(1)).astype(np.float32), np.float32(np.inf))
        out.bounds[2, place] = row_lengths(some)


def row_lengths(rows: np.ndarray) -> np.ndarray:
    """Return the length of each row, summed in double precision."""
    lengths: np.ndarray = np.sqrt((np.asarray(rows, np.float64) ** 2).sum(1)).astype(np.float32)
    return lengths


def encode_query(query: np.ndarray) -> QueryCode:
    """Return the code of one query (d,)."""
    exact = query.astype(np.float64)
    # So that d products of 8 and 16 bits cannot leave 32 bits.
    largest = min(32767, (2**31 - 1) // (_LARGEST * max(1, len(query))))
    scale = float(np.abs(exact).max(initial=0.0)) / largest
    code = np.rint(exact / scale) if scale > 0 else np.zeros_like(exact)
    residual = float(np.linalg.norm(exact - scale * code))
    return QueryCode(code.astype(np.int16), scale, float(np.linalg.norm(exact)), residual * (1 + 1e-12))


@numba.njit(nogil=True, cache=True)
def bound_scores(
    codes: np.ndarray,
    bounds: np.ndarray,
    is_live: np.ndarray,
    query: tuple[np.ndarray, float, float, float],
    is_raw: bool,
    begin: int,
    end: int,
    upper: np.ndarray,
    best: np.ndarray,
) -> None:
    """Fill `upper` for the rows from `begin` to `end`, and `best` (k,) with their highest lower bounds, as a heap.

    `is_live` is empty where every row is. The bound of a row that is not is minus infinity.
    """
    code, scale, length, residual = query
    width = codes.shape[1]
    for i in range(begin, end):
        if len(is_live) > 0 and not is_live[i]:
            upper[i] = -np.inf
            continue
        product = np.int32(0)
        for j in range(width):
            product += np.int32(codes[i, j]) * np.int32(code[j])
        own = np.float64(bounds[2, i])
        middle = product * scale * bounds[0, i] - (own * own / 2 if is_raw else 0.0)
        reach = length * bounds[1, i] + residual * (own + bounds[1, i])
        upper[i] = middle + reach
        if middle - reach > best[0]:
            _replace_lowest(best, middle - reach)


@numba.njit(nogil=True, cache=True)
def _replace_lowest(heap: np.ndarray, value: float) -> None:
    """Put a value in the place of the lowest, which a heap has first."""
    place, n = 0, len(heap)
    while 2 * place + 1 < n:
        child = 2 * place + 1
        if child + 1 < n and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= value:
            break
        heap[place] = heap[child]
        place = child
    heap[place] = value


@numba.njit(nogil=True, cache=True)
def exact_scores(query: np.ndarray, rows: np.ndarray, numbers: np.ndarray, is_raw: bool) -> np.ndarray:
    """Return q . r, or -|q - r| of raw rows, of the rows named by number: summed in double precision, in order.

    A row's score depends on nothing but the row and the query, neither on its place nor on the rows around it.
    """
    scores = np.empty(len(numbers), np.float32)
    for at in range(len(numbers)):
        row = numbers[at]
        total = 0.0
        for j in range(rows.shape[1]):
            if is_raw:
                difference = np.float64(query[j]) - np.float64(rows[row, j])
                total += difference * difference
            else:
                total += np.float64(query[j]) * np.float64(rows[row, j])
        # Taken from 0, not negated: a distance of 0 would read -0.
        scores[at] = 0.0 - np.sqrt(total) if is_raw else total
    return scores
