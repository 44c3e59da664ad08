"""How far a spectrum is from flat, as a divergence from or to the uniform one."""

import numpy as np

FLOOR = 1e-12


def decay(singular_values: np.ndarray, *, from_uniform: bool = True) -> tuple[float, int]:
    """Return KL(U || q), or KL(q || U), of the values' shares q; and how many shares were raised to 1e-12."""
    total = singular_values.sum()
    shares = singular_values / total if total > 0 else np.zeros(len(singular_values))
    n_floored = int((shares < FLOOR).sum())
    q = np.maximum(shares, FLOOR)
    n = len(q)
    divergence = -np.log(q * n).mean() if from_uniform else (q * np.log(q * n)).sum()
    return float(divergence), n_floored
