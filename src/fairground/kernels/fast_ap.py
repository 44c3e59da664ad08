"""FastAP; equals `losses.fast_ap.FastApLoss.formula`, anchor by anchor and in O(n + bins) memory for each."""

import numba
import numpy as np
from torch import Tensor

from fairground.contracts.loss import KernelResult
from fairground.kernels.gradients import kernel_of_products, no_gradient


def value_and_gradient(embeddings: Tensor, labels: Tensor, *, bins: int) -> KernelResult:
    """Return 1 minus the mean over anchors with positives of their average precision by histograms."""
    names = labels.numpy()
    n_positives, has_negatives = _count_positives(names)
    if not (has_negatives and n_positives.any()):
        return no_gradient(embeddings)

    def rule(cosines: Tensor) -> tuple[Tensor, Tensor]:
        return cosines.new_full((), _by_anchor(cosines.numpy(), names, n_positives, bins)), cosines

    return kernel_of_products(embeddings, rule, normalise=True)


@numba.njit(nogil=True, cache=True)
def _count_positives(labels: np.ndarray) -> tuple[np.ndarray, bool]:
    """Return how many others (n,) share each row's label, and whether there are two labels."""
    counts = np.zeros(len(labels), np.int64)
    for i in range(len(labels)):
        for j in range(len(labels)):
            counts[i] += labels[i] == labels[j]
    return counts - 1, len(labels) > 0 and counts[0] < len(labels)


@numba.njit(nogil=True, cache=True)
def _by_anchor(cosines: np.ndarray, labels: np.ndarray, n_positives: np.ndarray, bins: int) -> float:
    """Return the loss and overwrite the cosines by its derivatives."""
    n, loss = len(cosines), 1.0
    slot = np.empty(n, np.int64)
    everyone, positives, ratio, gain, extra = np.zeros((5, bins + 1))
    for i in range(n):
        row = cosines[i]
        if n_positives[i] == 0:
            row[:] = 0
            continue
        everyone[:] = 0
        positives[:] = 0
        for j in range(n):
            position = min(max((1 - row[j]) * (bins / 2), 0.0), float(bins))
            slot[j] = 0 if np.isnan(position) else min(int(position), bins - 1)
            fraction = position - slot[j]
            if j != i:
                everyone[slot[j]] += 1 - fraction
                everyone[slot[j] + 1] += fraction
                if labels[j] == labels[i]:
                    positives[slot[j]] += 1 - fraction
                    positives[slot[j] + 1] += fraction
        weight = 1 / (n_positives[i] * np.count_nonzero(n_positives))
        loss -= weight * _rank(everyone, positives, ratio, gain, extra)
        step = weight * bins / 2
        for j in range(n):
            is_positive = labels[j] == labels[i]
            row[j] = step * (gain[slot[j]] - (extra[slot[j]] if is_positive else 0.0))
        row[i] = 0
    return loss


@numba.njit(nogil=True, cache=True)
def _rank(everyone: np.ndarray, positives: np.ndarray, ratio: np.ndarray, gain: np.ndarray, extra: np.ndarray) -> float:
    """Return the sum over l of h+_l H+_l / H_l, and fill in two rates for every bin:
    what the sum gains as any value of the bin moves away, and what it loses, on top, if that value is a positive.
    """
    score, above, own_above = 0.0, 0.0, 0.0
    for node in range(len(everyone)):
        above += everyone[node]
        own_above += positives[node]
        inverse = 0.0 if above <= 0 else 1 / above
        ratio[node] = own_above * inverse
        score += positives[node] * ratio[node]
        gain[node] = positives[node] * inverse * ratio[node]
        extra[node] = positives[node] * inverse + ratio[node]
        if node > 0:
            extra[node - 1] -= ratio[node]
    return score
