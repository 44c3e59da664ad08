"""The trace of the square root of a symmetric matrix, without its eigenvalues.

The matrix is brought to tridiagonal form T, which has the same eigenvalues. For every eigenvalue x

    sqrt(x) = 1/pi * integral over u of  e^(u/2) x / (x + e^u) du

and the sum of x / (x + s) over all of them is n - s tr (T + s)^-1, a single sweep down T. The integrand falls off
smoothly on both sides, so that sums at a fixed step converge as fast as a power series: with a step of 0.8 to 1e-10.
"""

import math
from typing import Any

import numba
import numpy as np

_STEP = 0.8
#: nodes from e^-30 to e^8 times the largest eigenvalue; below, rounding could make T + s lose its sign
_NODES = np.exp(_STEP * np.arange(-38, 11))
# The compiler may add in any order, or it could not use vector instructions.
_SUMS = {"reassoc", "contract", "nsz"}


@numba.njit(nogil=True, cache=True)
def trace_sqrt(matrix: np.ndarray) -> Any:
    """Return tr(A^(1/2)) of a positive semi-definite matrix (n, n) in float64, which is overwritten."""
    diagonal, beside = np.empty(len(matrix)), np.empty(len(matrix))
    _tridiagonalise(matrix, diagonal, beside)
    return _sum_of_roots(diagonal, beside)


@numba.njit(nogil=True, cache=True, fastmath=_SUMS)
def _tridiagonalise(a: np.ndarray, diagonal: np.ndarray, beside: np.ndarray) -> None:
    """Write the diagonal of T and, from place 1 on, what stands left of it.

    Householder's method from the last row up. The matrix is changed by one reflection, A - vw' - wv', in the same pass
    that multiplies it with the next one's vector u: it is read once a row, not twice.
    """
    n = len(a)
    v, w, u, product = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n)
    beside[0] = 0.0
    for last in range(n - 1, 0, -1):
        rest = 0.0
        for j in range(last + 1):
            u[j] = a[last, j] - v[last] * w[j] - w[last] * v[j]
        for j in range(last - 1):
            rest += u[j] * u[j]
        diagonal[last] = u[last]
        beside[last] = u[last - 1]
        scale = 0.0
        if rest > 0:
            square = rest + u[last - 1] * u[last - 1]
            beside[last] = -math.copysign(math.sqrt(square), u[last - 1])
            scale = 1 / (square - beside[last] * u[last - 1])
            u[last - 1] -= beside[last]
        _reflect(a, v, w, u, product, last)
        along = 0.0
        for j in range(last):
            along += product[j] * u[j]
        for j in range(last):
            w[j] = scale * (product[j] - scale / 2 * along * u[j])
        # Without a reflection w is zero, and v must be too.
        for j in range(last):
            v[j] = u[j] if scale > 0 else 0.0
    diagonal[0] = a[0, 0]


@numba.njit(nogil=True, cache=True, fastmath=_SUMS)
def _reflect(a: np.ndarray, v: np.ndarray, w: np.ndarray, u: np.ndarray, product: np.ndarray, size: int) -> None:
    """Take vw' + wv' off the leading lower triangle of A, and write A u."""
    product[:size] = 0.0
    for i in range(size):
        row, v_i, w_i, u_i, along = a[i], v[i], w[i], u[i], 0.0
        for j in range(i):
            changed = row[j] - v_i * w[j] - w_i * v[j]
            row[j] = changed
            along += changed * u[j]
            product[j] += changed * u_i
        row[i] -= 2 * v_i * w_i
        product[i] += along + row[i] * u_i


@numba.njit(nogil=True, cache=True, fastmath=_SUMS)
def _sum_of_roots(diagonal: np.ndarray, beside: np.ndarray) -> Any:
    n = len(diagonal)
    top, trace, trace_of_square = 0.0, 0.0, 0.0
    for i in range(n):
        following = abs(beside[i + 1]) if i + 1 < n else 0.0
        top = max(top, diagonal[i] + abs(beside[i]) + following)
        trace += diagonal[i]
        trace_of_square += diagonal[i] ** 2 + 2 * beside[i] ** 2
    if top <= 0:
        return 0.0
    # tr (T + s)^-1 is the slope of log det(T + s), the sum of the logarithms of the pivots.
    nodes = top * _NODES
    pivot = diagonal[0] + nodes
    slope = np.ones(len(nodes))
    inverse = 1 / pivot
    for i in range(1, n):
        square = beside[i] ** 2
        for k in range(len(nodes)):
            ratio = 1 / pivot[k]
            slope[k] = 1 + square * ratio * ratio * slope[k]
            pivot[k] = max(diagonal[i] + nodes[k] - square * ratio, nodes[k] / 2)
            inverse[k] += slope[k] / pivot[k]
    total = 0.0
    for k in range(len(nodes)):
        total += math.sqrt(nodes[k]) * (n - nodes[k] * inverse[k])
    # Beyond the nodes the sums are geometric: x / (x + s) is 1 far below x, and x / s - (x / s)^2 far above.
    fall = math.exp(-_STEP / 2)
    total += math.sqrt(nodes[0]) * (n - nodes[0] * inverse[0]) * fall / (1 - fall)
    total += trace / math.sqrt(nodes[-1]) * fall / (1 - fall)
    total -= trace_of_square / nodes[-1] ** 1.5 * fall**3 / (1 - fall**3)
    return total * _STEP / math.pi
