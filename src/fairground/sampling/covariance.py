"""Triangular factors of covariances, with no more work than half of a matrix needs.

Products and quotients with a triangular matrix, in place, on as many threads as torch may use.
"""

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Literal

import numba
import numpy as np
import torch
from numba.extending import get_cython_function_address
from scipy.linalg.lapack import get_lapack_funcs

from fairground.retrieval.threads import single_threaded_blas
from fairground.sampling.parallel import run_parallel

#: columns of a task
_COLUMNS = 64


def scatter_factor(centred: np.ndarray) -> np.ndarray:
    """Return the lower triangular L (d, d) with LL' = centred' centred, for `centred` (n, d).

    Rounding, or fewer points than dimensions, leave the right side a little short of positive definite: its diagonal is
    lifted by as little as will do, a few roundings of its mean.
    """
    (decompose,) = get_lapack_funcs(("potrf",), (centred,))
    scatter = _lower_scatter(centred)
    diagonal = scatter.diagonal().copy()
    precision = np.finfo(centred.dtype)
    scale = max(diagonal.mean(), precision.tiny)
    lift = 4 * precision.eps
    while True:
        np.fill_diagonal(scatter, diagonal + scale * lift)
        factor: np.ndarray
        with single_threaded_blas():
            # The other half holds what was there before; it is wiped below, much quicker.
            factor, failed = decompose(scatter, lower=1, clean=0)
        if not failed:
            _wipe_upper(factor)
            return factor
        lift *= 4


@numba.njit(nogil=True, cache=True)
def _wipe_upper(matrix: np.ndarray) -> None:
    """Write zeros above the diagonal."""
    for j in range(len(matrix)):
        matrix[:j, j] = 0


def _lower_scatter(centred: np.ndarray) -> np.ndarray:
    """Return the lower triangle of centred' centred, column by column in memory, as LAPACK reads it."""
    d = centred.shape[1]
    scatter = np.zeros((d, d), dtype=centred.dtype, order="F")

    def do(task: int) -> None:
        start, end = task * _COLUMNS, (task + 1) * _COLUMNS
        # Written by rows into the transpose, which is the same thing.
        np.matmul(centred[:, start:end].T, centred[:, start:], out=scatter.T[start:end, start:])

    run_parallel(do, -(-d // _COLUMNS))
    return scatter


#: rows of a task, at most
_ROWS = 256


def times_lower(rows: np.ndarray, lower: np.ndarray) -> None:
    """Overwrite `rows` (n, d) with rows @ lower, for a lower triangular matrix."""
    _by_rows("trmm", b"T", rows, lower)


def divide_lower(rows: np.ndarray, lower: np.ndarray) -> None:
    """Overwrite `rows` with X, X lower' = rows: rows of unit scatter, if `lower` is the factor of theirs."""
    _by_rows("trsm", b"N", rows, lower)


def _by_rows(routine: Literal["trmm", "trsm"], transposed: bytes, rows: np.ndarray, lower: np.ndarray) -> None:
    # As many tasks for one thread as for another, or one would wait.
    n_threads = torch.get_num_threads()
    n_tasks = -(-len(rows) // (_ROWS * n_threads)) * n_threads
    step = -(-len(rows) // n_tasks)
    # BLAS counts by columns: what it is given is the transpose of the rows.
    lower = np.asfortranarray(lower)
    call = _routine(("s" if rows.dtype == np.float32 else "d") + routine)
    words = ctypes.create_string_buffer(b"LL" + transposed + b"N")
    side, triangle, turn, diagonal = (ctypes.addressof(words) + i for i in range(4))
    one = np.ones(1, dtype=rows.dtype)

    def do(task: int) -> None:
        some = rows[task * step : (task + 1) * step]
        n, d = some.shape
        sizes = (ctypes.c_int * 4)(d, n, lower.strides[1] // lower.itemsize, some.strides[0] // some.itemsize)
        height, width, leading, stride = (ctypes.addressof(sizes) + i * ctypes.sizeof(ctypes.c_int) for i in range(4))
        call(
            *(side, triangle, turn, diagonal, height, width, one.ctypes.data),
            *(lower.ctypes.data, leading, some.ctypes.data, stride),
        )

    run_parallel(do, -(-len(rows) // step))


@cache
def _routine(name: str) -> Callable[..., None]:
    # Called by address: SciPy's own functions keep the interpreter's lock, so that one thread would wait for the other.
    kind = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 11)
    return kind(get_cython_function_address("scipy.linalg.cython_blas", name))
