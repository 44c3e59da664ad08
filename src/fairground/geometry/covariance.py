"""Triangular factors of covariances, with no more work than half of a matrix needs."""

import numba
import numpy as np
from scipy.linalg.lapack import get_lapack_funcs

from fairground.geometry.side_by_side import side_by_side
from fairground.geometry.threads import single_threaded_blas

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

    side_by_side(do, -(-d // _COLUMNS))
    return scatter
