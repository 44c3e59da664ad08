"""Distances of a batch with itself from its matrix of products, and the way of a gradient back.

Equals `functional.distances.distances` and `squared_distances` of a batch with itself.
"""

import numba
import numpy as np

#: sums may be taken in any order; infinities and not-a-numbers keep their meaning
SUMS = {"reassoc", "contract"}


@numba.njit(nogil=True, cache=True, fastmath=SUMS)
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


@numba.njit(nogil=True, cache=True, fastmath=SUMS)
def gradient_by_products(gradient: np.ndarray, distances: np.ndarray, squared: bool) -> None:
    """Overwrite the gradient (n, n) by distance, or by its square, with that by product, both orders of a pair added.

    The distance is sqrt(|x|^2 + |y|^2 - 2 x.y), with derivative -1 / d by the product x.y; its square has -2. What is
    left of the gradient lies along the vectors. Between identical vectors there is no direction to move in.
    """
    n = len(gradient)
    zero = gradient.dtype.type(0)
    factor = gradient.dtype.type(-2 if squared else -1)
    # In squares that stay in the nearest cache: the other half is read down the columns.
    for top in range(0, n, 16):
        for left in range(top, n, 16):
            for i in range(top, min(top + 16, n)):
                for j in range(max(left, i + 1), min(left + 16, n)):
                    both = (gradient[i, j] + gradient[j, i]) * factor
                    if not squared:
                        both = both / distances[i, j] if distances[i, j] > zero else zero
                    gradient[i, j] = both
                    gradient[j, i] = both
    for i in range(n):
        gradient[i, i] = zero
