"""The class of a query: its nearest neighbours vote."""

import numpy as np

#: rows that vote for a class
VOTERS = 5


def vote(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the most frequent of the labels (q, k) of the nearest rows, nearest first, and how many rows have it.

    -1 stands for no row. Of equal counts the class of the nearest row is taken (Cover and Hart, 1967).
    """
    is_row = labels >= 0
    counts = ((labels[:, :, None] == labels[:, None, :]) & is_row[:, None, :]).sum(2) * is_row
    # The first of the highest counts is the nearest row of its class.
    first = counts.argmax(1)
    rows = np.arange(len(labels))
    return np.where(counts[rows, first] > 0, labels[rows, first], -1), counts[rows, first]
