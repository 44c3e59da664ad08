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

from typing import NamedTuple, TypeAlias

import numba
import numpy as np
from scipy.sparse import csr_array, vstack

from fairground.retrieval import require, share_stretches

#: rows worked on by one thread at a time
STEP = 512
#: offsets, rows or columns, and values of a sparse matrix
_Arrays = tuple[np.ndarray, np.ndarray, np.ndarray]
#: what is added to the scores (m, n) of few references
ScoreBonus: TypeAlias = csr_array


class KReciprocal(NamedTuple):
    """`k1` neighbours make a set, sets of the `k2` nearest are averaged; `weight` is that of the plain distance."""

    k1: int = 20
    k2: int = 6
    weight: float = 0.3

    def check(self) -> None:
        require(self.k1 >= 1, f"k_reciprocal.k1 must be at least 1; got {self.k1}")
        require(1 <= self.k2 <= self.k1, f"k_reciprocal.k2 must be between 1 and k1 = {self.k1}; got {self.k2}")
        require(0 < self.weight <= 1, f"k_reciprocal.weight must be in (0, 1]; got {self.weight}")


def reciprocal_overlap(
    near: np.ndarray, rows: np.ndarray, furthest: np.ndarray, how: KReciprocal, threads: int
) -> csr_array:
    """Return t / (2 - t), which is 1 - J, where it is above 0, of all pairs of rows (n, d).

    `near` (n, k1) are the numbers of the other rows nearest to each, -1 where there are fewer; `furthest` (n,) is each
    row's largest squared distance.
    """
    n = len(rows)
    lists = np.concatenate([np.arange(n, dtype=np.int32)[:, None], near], 1)
    sides = _neighbours(lists, how.k1), _neighbours(lists, round(how.k1 / 2))
    mutual, theirs = (side.multiply(side.T).tocsr() for side in sides)
    theirs_across, sizes = theirs.T.tocsr(), theirs.sum(1)
    scale = 1 / np.maximum(furthest, 1e-300)
    pieces: dict[int, csr_array] = {}

    def encode(begin: int, end: int) -> None:
        mine = mutual[begin:end]
        common = mine.multiply(mine @ theirs_across).tocoo()
        is_joined = 3 * common.data > 2 * sizes[common.col]
        joined = csr_array((common.data[is_joined], (common.row[is_joined], common.col[is_joined])), shape=mine.shape)
        sets = mine + joined @ theirs
        sets.sort_indices()
        sets.data = _shares(sets.indptr, sets.indices, rows, scale, begin)
        pieces[begin] = sets

    share_stretches(n, STEP, encode, threads)
    first = _neighbours(lists, how.k2 - 1)
    first.data = np.repeat(1 / first.sum(1), np.diff(first.indptr))
    encoded = first @ vstack([pieces[begin] for begin in sorted(pieces)], format="csr")
    by_row, by_column = ((v.indptr.astype(np.int64), v.indices, v.data) for v in (encoded, encoded.tocsc()))

    def overlap(begin: int, end: int) -> None:
        offsets, columns, values = _overlap(by_row, by_column, begin, end)
        pieces[begin] = csr_array((values, columns, offsets), shape=(end - begin, n))

    share_stretches(n, STEP, overlap, threads)
    return vstack([pieces[begin] for begin in sorted(pieces)], format="csr")


def _neighbours(lists: np.ndarray, k: int) -> csr_array:
    """Return N(i, k) as ones in row i, in order of distance."""
    some = lists[:, : k + 1]
    is_there = some >= 0
    ends = np.concatenate([[0], np.cumsum(is_there.sum(1))])
    return csr_array((np.ones(ends[-1], np.int32), some[is_there], ends), shape=(len(lists), len(lists)))


@numba.njit(nogil=True, cache=True)
def _shares(ends: np.ndarray, columns: np.ndarray, rows: np.ndarray, scale: np.ndarray, begin: int) -> np.ndarray:
    """Return the values of V in the rows from `begin` on, whose columns are given."""
    values = np.empty(len(columns), np.float64)
    for i in range(begin, begin + len(ends) - 1):
        first, last = ends[i - begin], ends[i - begin + 1]
        total = 0.0
        for place in range(first, last):
            distance = 0.0
            for axis in range(rows.shape[1]):
                distance += (np.float64(rows[i, axis]) - np.float64(rows[columns[place], axis])) ** 2
            values[place] = np.exp(-distance * scale[i])
            total += values[place]
        values[first:last] /= total
    return values


@numba.njit(nogil=True, cache=True)
def _overlap(by_row: _Arrays, by_column: _Arrays, begin: int, end: int) -> _Arrays:
    """Return the offsets, columns and values of rows begin..end of t / (2 - t)."""
    (offsets, indices, values), (column_offsets, column_rows, column_values) = by_row, by_column
    n = len(offsets) - 1
    total, touched = np.zeros(n), np.empty(n, np.int32)
    ends, at = np.zeros(end - begin + 1, np.int64), 0
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
        ends[i - begin + 1] = at
    return ends, found[:at].copy(), kept[:at].copy()
