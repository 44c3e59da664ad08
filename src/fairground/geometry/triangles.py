"""Products and quotients with a triangular matrix, in place, on as many threads as torch may use."""

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Literal

import numpy as np
import torch
from numba.extending import get_cython_function_address

from fairground.geometry.side_by_side import side_by_side

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

    side_by_side(do, -(-len(rows) // step))


@cache
def _routine(name: str) -> Callable[..., None]:
    # Called by address: SciPy's own functions keep the interpreter's lock, so that one thread would wait for the other.
    kind = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 11)
    return kind(get_cython_function_address("scipy.linalg.cython_blas", name))
