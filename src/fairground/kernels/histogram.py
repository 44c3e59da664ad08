"""Histogram loss; equals `losses.histogram.HistogramLoss.formula`."""

from collections.abc import Sequence

import numba
import numpy as np
from torch import Tensor

from fairground.contracts.loss import KernelResult
from fairground.kernels.gradients import kernel_of_products, no_gradient


def value_and_gradient(
    embeddings: Tensor, positive: Tensor, negative: Tensor, *, lower: Sequence[float], upper: Sequence[float]
) -> KernelResult:
    """Return the overlap of the histograms of the cosines of positive and of negative pairs, symmetric masks (n, n).

    `lower` and `upper` (nodes - 1,) are 1 for intervals that give their lower and their upper node its share, else 0.
    """
    if not (positive.any() and negative.any()):
        return no_gradient(embeddings)
    inputs = (positive.numpy(), negative.numpy(), np.array(lower), np.array(upper))
    return kernel_of_products(embeddings, lambda s: (s.new_full((), _overlap(s.numpy(), *inputs)), s), normalise=True)


@numba.njit(nogil=True, cache=True)
def _overlap(
    cosines: np.ndarray, positive: np.ndarray, negative: np.ndarray, lower: np.ndarray, upper: np.ndarray
) -> float:
    """Return sum_r h-(r) sum_{q <= r} h+(q) and overwrite the cosines by its derivatives, above the diagonal."""
    n, bins = len(cosines), len(lower)
    near, far = np.zeros((2, bins + 1))
    n_positive, n_negative = 0, 0
    for i in range(n):
        for j in range(i + 1, n):
            if positive[i, j]:
                n_positive += 1
                _add(near, cosines[i, j], lower, upper)
            if negative[i, j]:
                n_negative += 1
                _add(far, cosines[i, j], lower, upper)
    near /= n_positive
    far /= n_negative
    below = np.cumsum(near)
    above = np.cumsum(far[::-1])[::-1]
    pull, push = np.empty((2, bins), cosines.dtype)
    for r in range(bins):
        pull[r] = (above[r + 1] * upper[r] - above[r] * lower[r]) * (bins / 2 / n_positive)
        push[r] = (below[r + 1] * upper[r] - below[r] * lower[r]) * (bins / 2 / n_negative)
    for i in range(n):
        cosines[i, : i + 1] = 0
        for j in range(i + 1, n):
            place = _bin_of(cosines[i, j], bins)[0]
            cosines[i, j] = positive[i, j] * pull[place] + negative[i, j] * push[place]
    return float((far * below).sum())


@numba.njit(nogil=True, cache=True)
def _add(histogram: np.ndarray, cosine: float, lower: np.ndarray, upper: np.ndarray) -> None:
    place, fraction = _bin_of(cosine, len(lower))
    histogram[place] += (1 - fraction) * lower[place]
    histogram[place + 1] += fraction * upper[place]


@numba.njit(nogil=True, cache=True)
def _bin_of(cosine: float, bins: int) -> tuple[int, float]:
    """Return the interval a cosine lies in, and how far in; one that is not a number is in the first, nowhere in it."""
    position = min(max((cosine + 1) * (bins / 2), 0.0), float(bins))
    place = 0 if np.isnan(position) else min(int(position), bins - 1)
    return place, position - place
