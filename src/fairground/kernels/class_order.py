"""The rows of a batch in order of their class, for loops that visit a row's positives without a search."""

from typing import NamedTuple

import numba
import numpy as np
from torch import Tensor


class ClassOrder(NamedTuple):
    """`rows` (n,): all rows, class by class. `start`, `stop` (n,): where the class of each row lies in that order."""

    rows: np.ndarray
    start: np.ndarray
    stop: np.ndarray

    @property
    def n_positives(self) -> np.ndarray:
        """How many others (n,) of its class each row has."""
        counts: np.ndarray = self.stop - self.start - 1
        return counts

    @property
    def n_negatives(self) -> np.ndarray:
        """How many rows (n,) of other classes there are for each row."""
        counts: np.ndarray = len(self.rows) - (self.stop - self.start)
        return counts


def class_order(labels: Tensor) -> ClassOrder:
    """Return the order of a batch, in O(n log n)."""
    return ClassOrder(*_sort(labels.contiguous().numpy()))


@numba.njit(nogil=True, cache=True)
def _sort(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    n = len(labels)
    rows = np.argsort(labels, kind="mergesort")
    start = np.empty(n, np.int64)
    stop = np.empty(n, np.int64)
    first = 0
    for place in range(1, n + 1):
        if place == n or labels[rows[place]] != labels[rows[first]]:
            for k in range(first, place):
                start[rows[k]] = first
                stop[rows[k]] = place
            first = place
    return rows, start, stop
