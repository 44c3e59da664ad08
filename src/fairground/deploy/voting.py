"""The class of a query by a vote of its nearest rows.

Formula
    class = the one that most of the k nearest rows have; of equal counts the one with the nearest row

Paper
    Cover and Hart, "Nearest neighbor pattern classification", IEEE Transactions on Information Theory 1967.
"""

from typing import NamedTuple

import numpy as np

#: rows that vote
VOTERS = 5


class Votes(NamedTuple):
    """The class (q,) voted for, -1 where there is no row, and how many of the nearest rows have it."""

    classes: np.ndarray
    counts: np.ndarray


def vote(labels: np.ndarray) -> Votes:
    """Return the vote over the labels (q, k) of the nearest rows, nearest first; -1 stands for no row."""
    is_row = labels >= 0
    counts = ((labels[:, :, None] == labels[:, None, :]) & is_row[:, None, :]).sum(2) * is_row
    # The first of the highest counts is the nearest row of its class.
    first = counts.argmax(1)
    rows = np.arange(len(labels))
    return Votes(np.where(counts[rows, first] > 0, labels[rows, first], -1), counts[rows, first])
