"""Singular values of a tall matrix, to full precision and in bounded memory.

Squaring the matrix first (eigenvalues of Z'Z) would lose every value below 1e-8 of the largest; reducing it block by
block to a triangle loses nothing.
"""

from collections.abc import Iterable

import numpy as np

from fairground.geometry.threads import single_threaded_blas


def singular_values(blocks: Iterable[np.ndarray]) -> np.ndarray:
    """Return the singular values, descending, of the matrix whose rows come in `blocks` (n_k, d): min(n, d) of them."""
    triangle: np.ndarray | None = None
    with single_threaded_blas():
        for block in blocks:
            rows = block.astype(np.float64)
            stacked = rows if triangle is None else np.concatenate([triangle, rows])
            triangle = np.asarray(np.linalg.qr(stacked, mode="r"))
        assert triangle is not None
        values: np.ndarray = np.linalg.svd(triangle, compute_uv=False)
    return values
