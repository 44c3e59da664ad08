"""Exact search: the rows most similar to each query.

Formula
    similarity = q . r of unit rows, or -|q - r| of raw rows, summed in double precision and rounded once

A blocked product in single precision finds the candidates: every row within its rounding error of the k-th best, at
most d u |q| |r| with u = 2^-24 (Higham, "Accuracy and Stability of Numerical Algorithms", section 3.1). Candidates are
then scored one by one, so that a similarity depends on its row and query alone, and of equal ones the earlier is first.
"""

from collections.abc import Callable
from typing import NamedTuple

import numba
import numpy as np

from fairground.deploy.quantised_rows import QuantisedRows, nearest_by_signs
from fairground.loading import DataError, n_threads, require
from fairground.retrieval.threads import share_out

#: rows multiplied at once, and queries at once
BLOCK = 65536
QUERIES = 256
#: the longest row that counts as a unit vector
UNIT_LENGTH = 1.001
#: pairs (q, n) that may not be found, given the numbers of queries and of rows
Forbid = Callable[[slice, slice], np.ndarray]


class Matches(NamedTuple):
    """Numbers and similarities (n_queries, k) of the most similar rows, best first; -1 where there are fewer than k."""

    numbers: np.ndarray
    similarities: np.ndarray


def search(
    queries: np.ndarray,
    rows: np.ndarray | QuantisedRows,
    k: int,
    *,
    is_raw: bool = False,
    removed: np.ndarray | None = None,
    forbid: Forbid | None = None,
    threads: int | None = None,
) -> Matches:
    """Return the `k` rows (n, d) most similar to each query (q, d), without those `removed`, numbers ascending."""
    require(k >= 1, f"k must be at least 1; got {k}")
    width = rows.shape[1]
    refusal = f"queries must be (q, {width}) to be compared with this index; got {queries.shape}"
    require(queries.ndim == 2 and queries.shape[1] == width, refusal, DataError)
    wanted = np.ascontiguousarray(queries, np.float32)
    require(bool(np.isfinite(wanted).all()), "queries must hold finite numbers", DataError)
    gone = np.empty(0, np.int64) if removed is None else removed
    k = min(k, len(rows) - len(gone))
    numbers, scores = np.full((len(wanted), k), -1, np.int64), np.full((len(wanted), k), -np.inf, np.float32)
    if k == 0 or len(wanted) == 0:
        return Matches(numbers, scores)
    half_squares, longest = None, UNIT_LENGTH
    if is_raw:
        blocks = (rows[begin : begin + BLOCK] for begin in range(0, len(rows), BLOCK))
        squares = [np.einsum("ij,ij->i", block, block, dtype=np.float64) / 2 for block in blocks]
        half_squares = np.concatenate(squares).astype(np.float32)
        longest = float(np.sqrt(2 * half_squares.max()))
    lengths = np.sqrt((wanted.astype(np.float64) ** 2).sum(1))
    margins = 2.2 * (width + 4) * 2.0**-24 * (lengths + longest) ** 2
    for begin in range(0, len(wanted), QUERIES):
        some = slice(begin, min(begin + QUERIES, len(wanted)))

        def work(first: int, found: _Candidates, some: slice = some) -> None:
            last = min(first + BLOCK, len(rows))
            if some.stop - some.start > 1:
                products = wanted[some] @ rows[first:last].T
            elif isinstance(rows, QuantisedRows):
                products = _products(wanted[some][0], rows.codes[first:last]) * rows.scales[first:last]
            else:
                products = _products(wanted[some][0], rows[first:last])
            if half_squares is not None:
                products -= half_squares[first : first + BLOCK]
            products[:, gone[slice(*np.searchsorted(gone, [first, last]))] - first] = -np.inf
            if forbid is not None:
                products[forbid(some, slice(first, last))] = -np.inf
            found.add(first, products)

        make = lambda some=some: _Candidates(k, margins[some])  # noqa: E731
        parts = share_out(range(0, len(rows), BLOCK), make, work, threads or n_threads())
        for query in range(some.start, some.stop):
            mine = np.concatenate([part.numbers[query - begin] for part in parts])
            best = _best(wanted[query], rows, np.sort(mine), k, is_raw)
            numbers[query, : len(best.numbers)], scores[query, : len(best.numbers)] = best
    return Matches(numbers, scores)


@numba.njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def _products(query: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return q . r (1, n) as fast as rows can be read, in two thirds of the time that BLAS takes."""
    products = np.empty((1, len(rows)), np.float32)
    for number in range(len(rows)):
        total = np.float32(0)
        for place in range(len(query)):
            total += query[place] * rows[number, place]
        products[0, number] = total
    return products


def search_signs(
    queries: np.ndarray,
    rows: np.ndarray | QuantisedRows,
    signs: np.ndarray,
    k: int,
    n_scored: int,
    removed: np.ndarray,
) -> Matches:
    """Return the most similar of the `n_scored` rows whose signs differ least from those of each query."""
    numbers, scores = np.empty((len(queries), k), np.int64), np.empty((len(queries), k), np.float32)
    near = nearest_by_signs(queries, signs, n_scored, removed)
    for query, some in enumerate(near):
        numbers[query], scores[query] = _best(queries[query].astype(np.float32), rows, some, k, is_raw=False)
    return Matches(numbers, scores)


class _Candidates:
    """Per query, the numbers of rows that may be among its `k` nearest, as far as blocks were looked at."""

    def __init__(self, k: int, margins: np.ndarray) -> None:
        self.k, self.margins = k, margins
        self.numbers = [np.empty(0, np.int64) for _ in margins]
        self.scores = [np.empty(0, np.float32) for _ in margins]
        self.lowest = np.full(len(margins), -np.inf)

    def add(self, begin: int, products: np.ndarray) -> None:
        for query, product in enumerate(products):
            here = np.flatnonzero(product >= self.lowest[query])
            joined = np.concatenate([self.scores[query], product[here]])
            if len(joined) > self.k:
                kth = np.partition(joined, len(joined) - self.k)[len(joined) - self.k]
                self.lowest[query] = kth - self.margins[query]
            is_kept = (joined >= self.lowest[query]) & (joined > -np.inf)
            self.numbers[query] = np.concatenate([self.numbers[query], here + begin])[is_kept]
            self.scores[query] = joined[is_kept]


def _best(query: np.ndarray, rows: np.ndarray | QuantisedRows, candidates: np.ndarray, k: int, is_raw: bool) -> Matches:
    exact, own = rows[candidates].astype(np.float64), query.astype(np.float64)
    # Sums along the last axis, not a product: they do not depend on which rows are around.
    scores = (0.0 - np.sqrt(((exact - own) ** 2).sum(1)) if is_raw else (exact * own).sum(1)).astype(np.float32)
    order = np.argsort(-scores, kind="stable")[:k]
    return Matches(candidates[order], scores[order])
