"""The k most similar rows of an index: exact, a block of rows at a time, equal similarities in order of number.

Formula
    unit rows: s = q . r;  raw rows: s = -|q - r|, found by q . r - |r|^2 / 2, which ranks the same
"""

from typing import NamedTuple

import numpy as np

from fairground.errors import DataError, require

#: rows multiplied at once; their products stay in the processor's cache
BLOCK = 65536
#: queries at once
QUERIES = 256


class Matches(NamedTuple):
    """Numbers and similarities (n_queries, k) of the most similar rows, best first."""

    numbers: np.ndarray
    similarities: np.ndarray


def half_lengths(rows: np.ndarray) -> np.ndarray:
    """Return half the squared length of every row, a block at a time."""
    found = np.empty(len(rows), np.float32)
    for begin in range(0, len(rows), BLOCK):
        block = np.asarray(rows[begin : begin + BLOCK], np.float32)
        found[begin : begin + len(block)] = np.einsum("ij,ij->i", block, block) / 2
    return found


def search(queries: np.ndarray, rows: np.ndarray, k: int, *, halves: np.ndarray | None = None) -> Matches:
    """Return the `k` rows (n, d) most similar to each query (q, d), fewer where there are fewer.

    `halves` are the rows' `half_lengths` where they are raw and Euclidean distance decides; without them both sides are
    taken for unit vectors.
    """
    require(k >= 1, f"k must be at least 1; got {k}")
    require(
        queries.ndim == 2 and queries.shape[1] == rows.shape[1],
        f"queries must be (q, {rows.shape[1]}) to be compared with this index; got {queries.shape}",
        DataError,
    )
    k = min(k, len(rows))
    found = [_some(queries[begin : begin + QUERIES], rows, k, halves) for begin in range(0, len(queries), QUERIES)]
    numbers = np.concatenate([matches.numbers for matches in found]) if found else np.empty((0, k), np.int64)
    scores = np.concatenate([matches.similarities for matches in found]) if found else np.empty((0, k), np.float32)
    if halves is not None:
        lengths = np.einsum("ij,ij->i", queries, queries)[:, None]
        # Taken from 0, not negated: a distance of 0 would read -0.
        scores = 0.0 - np.sqrt(np.maximum(lengths - 2 * scores, 0))
    return Matches(numbers, scores)


def _some(queries: np.ndarray, rows: np.ndarray, k: int, halves: np.ndarray | None) -> Matches:
    numbers = [np.empty(0, np.int64) for _ in queries]
    scores = [np.empty(0, np.float32) for _ in queries]
    wanted = np.ascontiguousarray(queries, np.float32)
    for begin in range(0, len(rows), BLOCK):
        block = np.asarray(rows[begin : begin + BLOCK])
        products = wanted @ block.T if len(wanted) > 1 else (block @ wanted[0])[None]
        if halves is not None:
            products -= halves[begin : begin + len(block)]
        for query, product in enumerate(products):
            here = best_of(product, k)
            joined = np.concatenate([scores[query], product[here]])
            places = np.concatenate([numbers[query], here + begin])
            kept = best_of(joined, k)
            numbers[query], scores[query] = places[kept], joined[kept]
    return Matches(np.stack(numbers), np.stack(scores))


def best_of(scores: np.ndarray, k: int) -> np.ndarray:
    """Return the places of the `k` highest scores, best first; of equal ones the earlier comes first."""
    if len(scores) > k:
        lowest = np.partition(scores, len(scores) - k)[len(scores) - k]
        above = np.flatnonzero(scores > lowest)
        # Taking whichever equal ones the partition left would make the answer depend on its whims.
        equal = np.flatnonzero(scores == lowest)[: k - len(above)]
        places = np.sort(np.concatenate([above, equal]))
    else:
        places = np.arange(len(scores))
    order: np.ndarray = places[np.argsort(-scores[places], kind="stable")]
    return order
