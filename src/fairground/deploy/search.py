"""The k most similar rows of an index: exact, whatever parts the rows lie in, equal similarities in order of number.

Formula
    unit rows: s = q . r;  raw rows: s = -|q - r|; both summed in double precision and rounded to single

Rows that cannot be among the k are left out first, by bounds: of 8-bit codes for a few queries (`row_codes`), for many
of a product in single precision, whose error is at most d u |q| |r| with u = 2^-24 (Higham, "Accuracy and Stability of
Numerical Algorithms", section 3.1). What is left is scored row by row. So a similarity depends on its row and query
alone, and an index that grew gives the digits of one made anew.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fairground.deploy.live_rows import LiveRows, RowPart
from fairground.errors import DataError, require
from fairground.loading.threads import for_each
from fairground.retrieval.row_codes import STRETCH, bound_scores, encode_query, exact_scores

#: queries at once
QUERIES = 256
#: up to so many queries, and neighbours, each query passes over the codes by itself
FEW_QUERIES = 3
FEW_NEIGHBOURS = 1024
#: rounding of similarities to single precision, over the square of the lengths of query and row
_ROUNDING = 1e-6
_UNIT = 2.0**-24
#: what single precision loses near 0, of a sum of products
_SMALLEST = 1e-34
#: beyond this a product in single precision may be infinite
_LARGEST = 1e37
#: rows that a query may not find: given the numbers of queries and rows, which pairs (q, n) are left out
Forbid = Callable[[slice, slice], np.ndarray]


class Matches(NamedTuple):
    """Numbers and similarities (n_queries, k) of the most similar rows, best first."""

    numbers: np.ndarray
    similarities: np.ndarray


def search(
    queries: np.ndarray, rows: np.ndarray | LiveRows, k: int, *, is_raw: bool = False, forbid: Forbid | None = None
) -> Matches:
    """Return the `k` rows (n, d) most similar to each query (q, d), fewer where there are fewer.

    Without `is_raw` both sides are taken for unit vectors. Where `forbid` leaves fewer than `k`, the number is -1 and
    the similarity minus infinity.
    """
    require(k >= 1, f"k must be at least 1; got {k}")
    held = LiveRows.of(rows)
    width = held.shape[1]
    require(
        queries.ndim == 2 and queries.shape[1] == width,
        f"queries must be (q, {width}) to be compared with this index; got {queries.shape}",
        DataError,
    )
    wanted = np.ascontiguousarray(queries, np.float32)
    require(bool(np.isfinite(wanted).all()), "queries must hold finite numbers", DataError)
    k = min(k, len(held))
    numbers, scores = np.full((len(wanted), k), -1, np.int64), np.full((len(wanted), k), -np.inf, np.float32)
    if k == 0:
        return Matches(numbers, scores)
    for begin in range(0, len(wanted), QUERIES):
        some = slice(begin, min(begin + QUERIES, len(wanted)))
        for query, candidates in enumerate(_candidates(wanted[some], held, k, is_raw, forbid, some), start=begin):
            best = _best(wanted[query], held, candidates, k, is_raw)
            numbers[query, : len(best.numbers)], scores[query, : len(best.numbers)] = best
    return Matches(numbers, scores)


def _candidates(
    queries: np.ndarray, rows: LiveRows, k: int, is_raw: bool, forbid: Forbid | None, place: slice
) -> list[np.ndarray]:
    """Return for each query the numbers of rows among which its nearest are."""
    largest = rows.longest
    require(bool(np.isfinite(largest)), "rows of this index hold numbers that are not finite; make it anew", DataError)
    lengths = np.sqrt((queries.astype(np.float64) ** 2).sum(1))
    margins = _ROUNDING * (lengths + largest) ** 2 + _SMALLEST
    has_codes = all(part.codes is not None for part in rows.parts)
    if has_codes and forbid is None and len(queries) <= FEW_QUERIES and k <= FEW_NEIGHBOURS:
        return [_by_codes(query, rows, k, is_raw, margin) for query, margin in zip(queries, margins, strict=True)]
    if (lengths.max() + largest) ** 2 > _LARGEST:
        # Every row that is allowed is scored: slow, and right.
        every = np.arange(len(rows))
        return [
            every if forbid is None else every[~forbid(slice(query, query + 1), slice(0, len(rows)))[0]]
            for query in range(place.start, place.stop)
        ]
    margins += 2.2 * (rows.shape[1] + 2) * _UNIT * lengths * largest
    return _by_products(queries, rows, k, is_raw, margins, forbid, place)


def _by_codes(query: np.ndarray, rows: LiveRows, k: int, is_raw: bool, margin: float) -> np.ndarray:
    code = encode_query(query)
    query_code = (code.code, code.scale, code.length, code.residual)
    stretches = [
        (number, begin, min(begin + STRETCH, len(part.rows)))
        for number, part in enumerate(rows.parts)
        for begin in range(0, len(part.rows), STRETCH)
    ]
    uppers = [np.empty(len(part.rows), np.float32) for part in rows.parts]
    best = np.full((len(stretches), k), -np.inf)

    def work(task: int) -> None:
        number, begin, end = stretches[task]
        codes, is_live = rows.parts[number].codes, rows.parts[number].is_live
        assert codes is not None
        live = np.empty(0, np.bool_) if is_live is None else is_live
        held = (np.asarray(codes.codes), np.asarray(codes.bounds))
        bound_scores(held[0], held[1], live, query_code, is_raw, begin, end, uppers[number], best[task])

    for_each(work, range(len(stretches)))
    lowest = np.partition(best.ravel(), best.size - k)[best.size - k] - margin
    found = []
    for part, upper, first in zip(rows.parts, uppers, rows.edges, strict=False):
        places = np.flatnonzero(upper >= lowest)
        found.append(int(first) + (places if part.live is None else np.searchsorted(part.live, places)))
    return np.concatenate(found)


def _by_products(
    queries: np.ndarray,
    rows: LiveRows,
    k: int,
    is_raw: bool,
    margins: np.ndarray,
    forbid: Forbid | None,
    place: slice,
) -> list[np.ndarray]:
    numbers = [np.empty(0, np.int64) for _ in queries]
    scores = [np.empty(0, np.float32) for _ in queries]
    lowest = np.full(len(queries), -np.inf)
    for begin, block, lengths in rows.blocks():
        products = queries @ block.T if len(queries) > 1 else (block @ queries[0])[None]
        if is_raw:
            products -= (lengths.astype(np.float64) ** 2 / 2).astype(np.float32)
        if forbid is not None:
            products[forbid(place, slice(begin, begin + len(block)))] = -np.inf
        for query, product in enumerate(products):
            here = np.flatnonzero(product >= lowest[query]) if np.isfinite(lowest[query]) else np.arange(len(product))
            joined = np.concatenate([scores[query], product[here]])
            if len(joined) > k:
                # Minus infinity, where fewer than k are allowed, keeps the bound where it is.
                lowest[query] = np.partition(joined, len(joined) - k)[len(joined) - k] - margins[query]
            is_kept = (joined >= lowest[query]) & (joined > -np.inf)
            numbers[query] = np.concatenate([numbers[query], here + begin])[is_kept]
            scores[query] = joined[is_kept]
    return numbers


def _best(query: np.ndarray, rows: LiveRows, candidates: np.ndarray, k: int, is_raw: bool) -> Matches:
    """Score the candidates one by one and return the `k` best; of equal ones the earlier comes first."""
    candidates = np.sort(candidates)
    scores = np.empty(len(candidates), np.float32)
    ends = np.searchsorted(candidates, rows.edges)
    for number, part in enumerate(rows.parts):
        here = slice(ends[number], ends[number + 1])
        places = _places(part, candidates[here] - rows.edges[number])
        scores[here] = exact_scores(query, np.asarray(part.rows), places, is_raw)
    order = np.argsort(-scores, kind="stable")[:k]
    return Matches(candidates[order], scores[order])


def _places(part: RowPart, numbers: np.ndarray) -> np.ndarray:
    return numbers if part.live is None else part.live[numbers]
