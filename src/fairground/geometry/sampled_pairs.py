"""Distances of all pairs among a bounded, evenly spaced choice of rows, block by block."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np


class PairBlock(NamedTuple):
    """Squared distances of some pairs i < j of rows, and whether each pair is of one class."""

    squared: np.ndarray
    is_same: np.ndarray


def spaced_rows(n: int, at_most: int) -> np.ndarray:
    """Return at most `at_most` of the row numbers 0..n-1, evenly spaced."""
    return np.arange(n) if n <= at_most else np.linspace(0, n - 1, at_most).round().astype(np.int64)


def pair_blocks(rows: np.ndarray, classes: np.ndarray, *, block: int = 1024) -> Iterator[PairBlock]:
    """Yield all pairs i < j of `rows` (n, d, float64) in blocks of at most `block` squared."""
    halves = np.einsum("ij,ij->i", rows, rows) / 2
    for i in range(0, len(rows), block):
        left = slice(i, i + block)
        for j in range(i, len(rows), block):
            right = slice(j, j + block)
            squared = 2 * (halves[left, None] + halves[right] - rows[left] @ rows[right].T)
            is_same = classes[left, None] == classes[right]
            if i == j:
                above = np.triu_indices(len(squared), 1)
                squared, is_same = squared[above], is_same[above]
            yield PairBlock(np.maximum(squared, 0).ravel(), is_same.ravel())
