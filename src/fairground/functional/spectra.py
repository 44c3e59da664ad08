"""How far a spectrum is from flat, and the singular values of a tall matrix.

They have full precision in bounded memory: squaring the matrix first, for the eigenvalues of Z'Z, would lose every
value below 1e-8 of the largest; reducing it block by block to a triangle loses nothing.
"""

from collections.abc import Iterable

import numpy as np
import torch

from fairground import retrieval

FLOOR = 1e-12


def decay(singular_values: np.ndarray, *, from_uniform: bool = True) -> tuple[float, int]:
    """Return KL(U || q), or KL(q || U), of the values' shares q; and how many shares were raised to 1e-12."""
    total = singular_values.sum()
    shares = singular_values / total if total > 0 else np.zeros(len(singular_values))
    n_floored = int((shares < FLOOR).sum())
    q, n = np.maximum(shares, FLOOR), len(shares)
    return float(-np.log(q * n).mean() if from_uniform else (q * np.log(q * n)).sum()), n_floored


def singular_values(blocks: Iterable[np.ndarray], device: torch.device | None = None) -> np.ndarray:
    """Return the singular values, descending, of the matrix whose rows come in `blocks` (n_k, d): min(n, d) of them.

    They are computed on a `device`, if one is given that has float64.
    """
    if device is not None and retrieval.has_float64(device):
        on_device = torch.empty(0)
        for block in blocks:
            some = torch.as_tensor(block, device=device).double()
            on_device = torch.linalg.qr(torch.cat([on_device, some]) if on_device.numel() else some, mode="r").R
        return np.asarray(torch.linalg.svdvals(on_device).cpu())
    triangle: np.ndarray | None = None
    with retrieval.single_threaded_blas():
        for block in blocks:
            rows = block.astype(np.float64)
            stacked = rows if triangle is None else np.concatenate([triangle, rows])
            triangle = np.asarray(np.linalg.qr(stacked, mode="r"))
        assert triangle is not None
        values: np.ndarray = np.linalg.svd(triangle, compute_uv=False)
    return values
