"""k-reciprocal re-ranking: two rows are near where their sets of mutual neighbours overlap. Sparse, O(n k) memory.

Formula
    d(i, j)   squared distance over the largest of row i;  N(i, k)  row i and its k nearest
    R(i, k)   = {j in N(i, k) : i in N(j, k)}
    R*(i)     = R(i, k1), and R(c, k1 / 2) for every c in R(i, k1) of which more than two thirds are in R(i, k1)
    V(i, j)   = e^-d(i, j) on R*(i), of sum 1, then the mean of V over the k2 first of N(i)
    t(i, j)   = sum_l min(V(i, l), V(j, l)),  J = 1 - t / (2 - t)
    rank by   (1 - weight) J + weight d

Paper
    Zhong, Zheng, Cao and Li, "Re-ranking Person Re-identification with k-reciprocal Encoding", CVPR 2017.

Departures from the paper
    None. J is 1 for all but a few pairs: re-ranking adds what is in proportion to 1 - J to the similarities of those
    and leaves the rest as they are, ties included. A row is the first of its own neighbours, copies of it come next.
"""

from typing import NamedTuple

import numba
import numpy as np
from scipy.sparse import csr_array

from fairground.retrieval import require, share_stretches

#: rows worked on by one thread at a time
STEP = 512


class KReciprocal(NamedTuple):
    """`k1` neighbours make a set, sets of the `k2` nearest are averaged; `weight` is that of the plain distance."""

    k1: int = 20
    k2: int = 6
    weight: float = 0.3

    def check(self) -> None:
        require(self.k1 >= 1, f"k_reciprocal.k1 must be at least 1; got {self.k1}")
        require(1 <= self.k2 <= self.k1, f"k_reciprocal.k2 must be between 1 and k1 = {self.k1}; got {self.k2}")
        require(0 < self.weight <= 1, f"k_reciprocal.weight must be in (0, 1]; got {self.weight}")


class ScoreBonus(NamedTuple):
    """What is added to the scores of few references: those of query q are `columns[offsets[q]:offsets[q + 1]]`."""

    offsets: np.ndarray
    columns: np.ndarray
    values: np.ndarray


def reciprocal_overlap(
    near: np.ndarray, rows: np.ndarray, furthest: np.ndarray, how: KReciprocal, threads: int
) -> csr_array:
    """Return t / (2 - t), which is 1 - J, where it is above 0, of all pairs of rows (n, d).

    `near` (n, k1) are the numbers of the other rows nearest to each, -1 where there are fewer; `furthest` (n,) is each
    row's largest squared distance.
    """
    n = len(rows)
    lists = np.concatenate([np.arange(n, dtype=np.int32)[:, None], near], 1)
    scale = 1 / np.maximum(furthest, 1e-300)
    pieces: dict[int, tuple[np.ndarray, np.ndarray, np.ndarray]] = {}

    def encode(begin: int, end: int) -> None:
        pieces[begin] = _encode(lists, rows, scale, round(how.k1 / 2), begin, end)

    share_stretches(n, STEP, encode, threads)
    encoded = _joined(pieces, n)
    k2 = lists[:, : how.k2]
    is_there = k2 >= 0
    ends = np.concatenate([[0], np.cumsum(is_there.sum(1))])
    share = np.repeat(1 / is_there.sum(1), is_there.sum(1))
    encoded = csr_array((share, k2[is_there], ends), shape=(n, n)) @ encoded
    columns = encoded.tocsc()
    pieces = {}

    def overlap(begin: int, end: int) -> None:
        sides = ((side.indptr.astype(np.int64), side.indices, side.data) for side in (encoded, columns))
        pieces[begin] = _overlap(*next(sides), *next(sides), begin, end)

    share_stretches(n, STEP, overlap, threads)
    return _joined(pieces, n)


def _joined(pieces: dict[int, tuple[np.ndarray, np.ndarray, np.ndarray]], n: int) -> csr_array:
    sizes, columns, values = (
        np.concatenate(parts) for parts in zip(*(pieces[key] for key in sorted(pieces)), strict=True)
    )
    return csr_array((values, columns, np.concatenate([[0], np.cumsum(sizes)])), shape=(n, n))


@numba.njit(nogil=True, cache=True)
def _reciprocal(lists: np.ndarray, i: int, k: int, out: np.ndarray) -> int:
    """Write R(i, k) into `out`, and return its size."""
    size = 0
    for j in lists[i, : k + 1]:
        if j >= 0:
            for back in lists[j, : k + 1]:
                if back == i:
                    out[size] = j
                    size += 1
                    break
    return size


@numba.njit(nogil=True, cache=True)
def _encode(
    lists: np.ndarray, rows: np.ndarray, scale: np.ndarray, half: int, begin: int, end: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the sizes, columns and values of rows begin..end of V."""
    width = lists.shape[1]
    most = width * (half + 2)
    sizes = np.zeros(end - begin, np.int64)
    columns = np.empty((end - begin) * most, np.int32)
    values = np.empty((end - begin) * most, np.float64)
    mine, theirs, at = np.empty(width, np.int32), np.empty(width, np.int32), 0
    mark = np.full(len(lists), -1, np.int64)  # who is in R(i, k1): 2 i, who joined it later: 2 i + 1
    for i in range(begin, end):
        n_mine = _reciprocal(lists, i, width - 1, mine)
        first = at
        for j in mine[:n_mine]:
            mark[j] = 2 * i
            columns[at] = j
            at += 1
        for c in mine[:n_mine]:
            n_theirs = _reciprocal(lists, c, half, theirs)
            n_common = 0
            for j in theirs[:n_theirs]:
                n_common += mark[j] == 2 * i
            if 3 * n_common > 2 * n_theirs:
                for j in theirs[:n_theirs]:
                    if mark[j] < 2 * i:
                        mark[j] = 2 * i + 1
                        columns[at] = j
                        at += 1
        columns[first:at].sort()
        total = 0.0
        for place in range(first, at):
            distance = 0.0
            for axis in range(rows.shape[1]):
                distance += (np.float64(rows[i, axis]) - np.float64(rows[columns[place], axis])) ** 2
            values[place] = np.exp(-distance * scale[i])
            total += values[place]
        values[first:at] /= total
        sizes[i - begin] = at - first
    return sizes, columns[:at].copy(), values[:at].copy()


@numba.njit(nogil=True, cache=True)
def _overlap(
    offsets: np.ndarray,
    indices: np.ndarray,
    values: np.ndarray,
    column_offsets: np.ndarray,
    column_rows: np.ndarray,
    column_values: np.ndarray,
    begin: int,
    end: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the sizes, columns and values of rows begin..end of t / (2 - t)."""
    n = len(offsets) - 1
    total, touched = np.zeros(n), np.empty(n, np.int32)
    sizes, at = np.zeros(end - begin, np.int64), 0
    found, kept = np.empty(1024, np.int32), np.empty(1024, np.float32)
    for i in range(begin, end):
        n_touched = 0
        for place in range(offsets[i], offsets[i + 1]):
            column, value = indices[place], values[place]
            for other in range(column_offsets[column], column_offsets[column + 1]):
                j = column_rows[other]
                if total[j] == 0:
                    touched[n_touched] = j
                    n_touched += 1
                total[j] += min(value, column_values[other])
        while at + n_touched > len(found):
            found, kept = np.concatenate((found, found)), np.concatenate((kept, kept))
        some = np.sort(touched[:n_touched])
        for j in some:
            found[at], kept[at] = j, total[j] / (2 - total[j])
            total[j] = 0
            at += 1
        sizes[i - begin] = n_touched
    return sizes, found[:at].copy(), kept[:at].copy()


@numba.njit(nogil=True, cache=True)
def add_bonus(
    scores: np.ndarray, offsets: np.ndarray, columns: np.ndarray, values: np.ndarray, first: int, begin: int
) -> None:
    """Add the bonus of queries first.. to a tile of their scores with references begin..; left-out pairs stay so."""
    for i in range(min(scores.shape[0], len(offsets) - 1 - first)):
        mine = columns[offsets[first + i] : offsets[first + i + 1]]
        start = np.searchsorted(mine, begin)
        for place in range(start, len(mine)):
            column = mine[place] - begin
            if column >= scores.shape[1]:
                break
            scores[i, column] += values[offsets[first + i] + place]
