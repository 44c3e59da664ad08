"""Compiled loops over the pairs and triplets of a batch, for embeddings in main memory.

A batch of a hundred is so small that the time of a loss is the number of calls it makes, not the work they do: one
compiled loop in the place of twenty calls is several times faster. The inner loops run over contiguous rows without
branches, which the compiler turns into vector instructions. None holds the interpreter's lock.

A hinge that is not a number counts as above 0, so that a loss that has diverged says so.
"""

import numba
import numpy as np

#: sums may be taken in any order; infinities and not-a-numbers keep their meaning
_SUMS = {"reassoc", "contract"}
#: hinges of positive and of negative pairs; how many are above 0, and how many triplets have one that is; all pairs
PairTotals = tuple[float, float, float, float, float, float, float]


@numba.njit(nogil=True, cache=True)
def class_bounds(labels: np.ndarray, order: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """Return where the class of each row starts and stops in the rows sorted by label, and the largest class's size."""
    n = len(labels)
    largest = 0
    start = np.empty(n, np.int64)
    stop = np.empty(n, np.int64)
    first = 0
    for place in range(1, n + 1):
        if place == n or labels[order[place]] != labels[order[first]]:
            for k in range(first, place):
                start[order[k]] = first
                stop[order[k]] = place
            largest = max(largest, place - first)
            first = place
    return start, stop, largest


@numba.njit(nogil=True, cache=True, fastmath=_SUMS)
def distances_from_products(products: np.ndarray, squared: bool) -> None:
    """Overwrite x_i . x_j by the distance of x_i and x_j, or its square; exactly 0 on the diagonal."""
    zero = products.dtype.type(0)
    lengths = np.empty(len(products), products.dtype)
    for i in range(len(products)):
        lengths[i] = products[i, i]
    for i in range(len(products)):
        row = products[i]
        for j in range(len(row)):
            square = lengths[i] + lengths[j] - (row[j] + row[j])
            row[j] = zero if square < zero else square
        if not squared:
            for j in range(len(row)):
                row[j] = np.sqrt(row[j])
        row[i] = zero


@numba.njit(nogil=True, cache=True, fastmath=_SUMS)
def symmetric_pulls(slopes: np.ndarray, distances: np.ndarray, scale: float, squared: bool) -> None:
    """Overwrite the slopes by distance with those by product, both orders of a pair added, times `scale`.

    The distance is sqrt(2 - 2 x) on the unit sphere, with slope -1 / d by the product x; its square has slope -2.
    """
    n = len(slopes)
    zero = slopes.dtype.type(0)
    factor = slopes.dtype.type(-2 * scale if squared else -scale)
    # In squares that stay in the nearest cache: the other half is read down the columns.
    for top in range(0, n, 16):
        for left in range(top, n, 16):
            for i in range(top, min(top + 16, n)):
                for j in range(max(left, i + 1), min(left + 16, n)):
                    both = (slopes[i, j] + slopes[j, i]) * factor
                    if not squared:
                        both = both / distances[i, j] if distances[i, j] > zero else zero
                    slopes[i, j] = both
                    slopes[j, i] = both
    for i in range(n):
        slopes[i, i] = zero


@numba.njit(nogil=True, cache=True, fastmath=_SUMS)
def mean_triplets(
    products: np.ndarray,
    order: np.ndarray,
    start: np.ndarray,
    stop: np.ndarray,
    margin: float,
    squared: bool,
    over_active: bool,
) -> tuple[float, np.ndarray]:
    """Return the mean of [d_ap - d_an + margin]_+ over triplets, and its slopes by product; overwrites `products`."""
    distances_from_products(products, squared)
    slopes = np.empty_like(products)
    total, n = _count_triplets(products, order, start, stop, margin, slopes)
    if not over_active:
        n = 0.0
        for a in range(len(order)):
            n += (stop[a] - start[a] - 1) * (len(order) - stop[a] + start[a])
    symmetric_pulls(slopes, products, 1 / max(n, 1.0), squared)
    return total / max(n, 1.0), slopes


@numba.njit(nogil=True, cache=True, fastmath=_SUMS)
def _count_triplets(
    matrix: np.ndarray, order: np.ndarray, start: np.ndarray, stop: np.ndarray, margin: float, slopes: np.ndarray
) -> tuple[float, float]:
    """Return the sum over all triplets and how many are above 0.

    `slopes` becomes the slope of the sum at every entry: how many active triplets a pair stands in, with its sign.
    """
    zero, one = matrix.dtype.type(0), matrix.dtype.type(1)
    gap = matrix.dtype.type(margin)
    far = np.empty(len(matrix), matrix.dtype)
    total, n_active = 0.0, 0.0
    for a in range(len(matrix)):
        row, slope = matrix[a], slopes[a]
        for j in range(len(row)):
            far[j] = row[j]
            slope[j] = zero
        for k in range(start[a], stop[a]):
            far[order[k]] = np.inf
        for k in range(start[a], stop[a]):
            if order[k] != a:
                threshold = row[order[k]] + gap
                hinges, count = zero, zero
                for j in range(len(far)):
                    hinge = threshold - far[j]
                    hinges += zero if hinge <= zero else hinge
                    count += zero if hinge <= zero else one
                    slope[j] -= zero if hinge <= zero else one
                slope[order[k]] = count
                total += hinges
                n_active += count
    return total, n_active


@numba.njit(nogil=True, cache=True, fastmath=_SUMS)
def sum_pairs(
    products: np.ndarray,
    labels: np.ndarray,
    order: np.ndarray,
    upper: np.ndarray,
    lower: np.ndarray,
    by_triplets: bool,
) -> tuple[PairTotals, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Return totals of the hinges of all pairs, and what `pair_slopes` needs; `products` become distances.

    `by_triplets` counts a positive pair once for each negative of its anchor, a negative pair for each positive.
    """
    distances_from_products(products, False)
    start, stop, _ = class_bounds(labels, order)
    n = len(products)
    zero, one = products.dtype.type(0), products.dtype.type(1)
    distances = np.empty(n, products.dtype)
    counts = np.empty((2, n), products.dtype)
    near, far, n_near, n_far, n_either, n_positive, n_negative = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for a in range(n):
        row = products[a]
        for j in range(n):
            distances[j] = row[j]
        hinges, count = zero, zero
        for k in range(start[a], stop[a]):
            distances[order[k]] = np.inf
            hinge = row[order[k]] - upper[a]
            if order[k] != a and not hinge <= zero:
                hinges += hinge
                count += one
        others, n_others = zero, zero
        for j in range(n):
            hinge = lower[a] - distances[j]
            others += zero if hinge <= zero else hinge
            n_others += zero if hinge <= zero else one
        counts[0, a], counts[1, a] = count, n_others
        n_own, n_other = stop[a] - start[a] - 1, n - stop[a] + start[a]
        n_either += n_own * n_other - (n_own - count) * (n_other - n_others)
        pull, push = (n_other, n_own) if by_triplets else (1, 1)
        near += pull * hinges
        far += push * others
        n_near += pull * count
        n_far += push * n_others
        n_positive += pull * n_own
        n_negative += push * n_other
    return (near, far, n_near, n_far, n_either, n_positive, n_negative), (start, stop, counts)


@numba.njit(nogil=True, cache=True, fastmath=_SUMS)
def pair_slopes(
    distances: np.ndarray,
    order: np.ndarray,
    found: tuple[np.ndarray, np.ndarray, np.ndarray],
    upper: np.ndarray,
    lower: np.ndarray,
    pull: float,
    push: float,
    by_triplets: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the slopes by product (n, n) and those (n,) of moving both borders of a row outwards.

    A positive hinge weighs `pull` and a negative one `push`, times how many triplets it stands in if they count.
    """
    start, stop, counts = found
    n = len(distances)
    zero = distances.dtype.type(0)
    slopes = np.empty_like(distances)
    border = np.empty(n, distances.dtype)
    for a in range(n):
        row, slope = distances[a], slopes[a]
        near = distances.dtype.type(pull * (n - stop[a] + start[a]) if by_triplets else pull)
        far = distances.dtype.type(push * (stop[a] - start[a] - 1) if by_triplets else push)
        for j in range(n):
            slope[j] = zero if lower[a] - row[j] <= zero else -far
        for k in range(start[a], stop[a]):
            slope[order[k]] = zero if row[order[k]] - upper[a] <= zero else near
        border[a] = far * counts[1, a] - near * counts[0, a]
    symmetric_pulls(slopes, distances, 1.0, False)
    return slopes, border
