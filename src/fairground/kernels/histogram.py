"""Histogram loss; equals `losses.histogram.HistogramLoss.formula`."""

import numba
import numpy as np
from torch import Tensor

from fairground.contracts.loss import KernelResult
from fairground.kernels.gradients import kernel_of_products, no_gradient


def value_and_gradient(
    embeddings: Tensor, positive: Tensor, negative: Tensor, *, lower: Tensor, upper: Tensor
) -> KernelResult:
    """Return the overlap of the histograms of the cosines of positive and of negative pairs, two masks (n, n).

    `lower` and `upper` (nodes - 1,) say which intervals give their lower and their upper node its share.
    """
    n_positive, n_negative = int(positive.sum()), int(negative.sum())
    if not (n_positive and n_negative):
        return no_gradient(embeddings)

    def rule(cosines: Tensor) -> tuple[Tensor, Tensor]:
        inputs = (positive.numpy(), negative.numpy(), lower.double().numpy(), upper.double().numpy())
        return cosines.new_full((), _overlap(cosines.numpy(), *inputs, n_positive, n_negative)), cosines

    return kernel_of_products(embeddings, rule, normalise=True)


@numba.njit(nogil=True, cache=True)
def _overlap(
    cosines: np.ndarray,
    positive: np.ndarray,
    negative: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    n_positive: int,
    n_negative: int,
) -> float:
    """Return sum_r h-(r) sum_{q <= r} h+(q) and overwrite the cosines by its derivatives."""
    bins = len(lower)
    near, far = np.zeros((2, bins + 1))
    for i in range(len(cosines)):
        for j in range(len(cosines)):
            if positive[i, j]:
                _add(near, cosines[i, j], lower, upper)
            if negative[i, j]:
                _add(far, cosines[i, j], lower, upper)
    near /= n_positive
    far /= n_negative
    below = np.cumsum(near)
    above = np.cumsum(far[::-1])[::-1]
    pull, push = np.empty((2, bins))
    for r in range(bins):
        pull[r] = (above[r + 1] * upper[r] - above[r] * lower[r]) * (bins / 2 / n_positive)
        push[r] = (below[r + 1] * upper[r] - below[r] * lower[r]) * (bins / 2 / n_negative)
    for i in range(len(cosines)):
        for j in range(len(cosines)):
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
