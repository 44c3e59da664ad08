"""In which order the BLAS sums a product of two rows, found by trial, so that one pair alone gets the same bits.

Exact ranks compare the products of `tiles`, bit for bit. The common kernels keep one running sum per pair: they go
through the columns in order, in a few stretches, with fused multiply-adds, and add the sums of the stretches up. Where
a trial on a full tile shows that this BLAS does so, wherever a pair stands in the tile, `dot_in_order` repeats any
single product without the other pairs of its tile. Where it does not, there is no order and nobody may rely on it.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any

import numba
import numpy as np
from numba.extending import intrinsic

from fairground.retrieval.tiles import multiply

#: lengths of the stretches in which BLAS kernels sum, and what they round half a stretch up to
STRETCHES = (320, 384, 448, 352, 256, 512, 192, 640, 768)
ROUNDING = (1, 4, 8, 16, 32)
#: rows on which candidates are tried before the full tile
FEW = 16


def _generate_fused(_: Any, a: Any, b: Any, c: Any) -> Any:
    """Generate a * b + c with one rounding."""

    def generate(_: Any, builder: Any, __: Any, values: Any) -> Any:
        return builder.fma(*values)

    return a(a, b, c), generate


# An intrinsic is called without its first argument, which its type does not say.
_fused_multiply_add: Any = intrinsic(_generate_fused)


@numba.njit(nogil=True, cache=True)
def dot_in_order(left: np.ndarray, row: int, right: np.ndarray, column: int, cuts: np.ndarray) -> np.float32:
    """Return the product of two rows, summed in stretches `cuts[i]:cuts[i + 1]`.

    Two stretches are summed at once: each multiply-add waits for the one before it.
    """
    i, j = np.uint64(row), np.uint64(column)
    total = np.float32(0)
    for stretch in range(0, len(cuts) - 1, 2):
        one, two = np.uint64(cuts[stretch]), np.uint64(cuts[stretch + 1])
        three = np.uint64(cuts[min(stretch + 2, len(cuts) - 1)])
        both = min(two - one, three - two)
        some, other = np.float32(0), np.float32(0)
        for k in range(both):
            some = _fused_multiply_add(left[i, one + k], right[j, one + k], some)
            other = _fused_multiply_add(left[i, two + k], right[j, two + k], other)
        for k in range(one + both, two):
            some = _fused_multiply_add(left[i, k], right[j, k], some)
        for k in range(two + both, three):
            other = _fused_multiply_add(left[i, k], right[j, k], other)
        total = np.float32(total + some)
        if three > two:
            total = np.float32(total + other)
    return total


@numba.njit(nogil=True, cache=True)
def _product_in_order(left: np.ndarray, columns: np.ndarray, cuts: np.ndarray) -> np.ndarray:
    """Return left @ columns, each product summed as `dot_in_order` does; neighbours are worked on at once."""
    out = np.zeros((left.shape[0], columns.shape[1]), np.float32)
    some = np.empty(columns.shape[1], np.float32)
    for i in range(left.shape[0]):
        for stretch in range(len(cuts) - 1):
            some[:] = np.float32(0)
            for k in range(cuts[stretch], cuts[stretch + 1]):
                factor = left[i, k]
                for j in range(columns.shape[1]):
                    some[j] = _fused_multiply_add(factor, columns[k, j], some[j])
            for j in range(columns.shape[1]):
                out[i, j] += some[j]
    return out


@cache
def summation_order(edge: int, d: int) -> np.ndarray | None:
    """Return the stretches in which products of float32 tiles (edge, d) are summed; None where no order was found.

    Must be called with BLAS in one thread, as tiles are multiplied.
    """
    draw = np.random.default_rng(0)
    left = draw.standard_normal((edge, d), dtype=np.float32)
    right = draw.standard_normal((edge, d), dtype=np.float32)
    product = np.empty((edge, edge), np.float32)
    multiply(left, right, product)
    columns = np.ascontiguousarray(right.T)
    for candidate in dict.fromkeys(_candidates(d)):
        cuts = np.array(candidate)
        few = _product_in_order(left[:FEW], columns[:, :FEW].copy(), cuts)
        if np.array_equal(few, product[:FEW, :FEW]) and np.array_equal(_product_in_order(left, columns, cuts), product):
            return cuts
    return None


def _candidates(d: int) -> Iterator[tuple[int, ...]]:
    """Yield ways to cut `d` columns: one stretch, or long ones with the last two of nearly equal length."""
    yield (0, d)
    for longest in STRETCHES:
        for rounding in ROUNDING:
            cuts = [0]
            while (left := d - cuts[-1]) > 0:
                half = -(-(left // 2) // rounding) * rounding
                length = longest if left >= 2 * longest else half if left > longest else left
                cuts.append(cuts[-1] + min(max(length, 1), left))
            yield tuple(cuts)
