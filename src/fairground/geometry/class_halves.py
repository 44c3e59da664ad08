"""The two halves every zero-shot split begins with: classes to learn from, and rows of classes kept for the end."""

from typing import NamedTuple

import numpy as np

from fairground.contracts.table import ImageTable
from fairground.errors import DataError, require


class ClassHalves(NamedTuple):
    """`seen` (k,): the labels to learn and validate on, sorted. `test` (m,): the rows of the other classes."""

    seen: np.ndarray
    test: np.ndarray


def class_halves(table: ImageTable) -> ClassHalves:
    """Return the official halves where the table marks them, otherwise the first and second half by label.

    An odd class out is learnt from, not tested on.
    """
    if table.official_test is not None:
        is_test = table.official_test.astype(bool)
        return ClassHalves(np.unique(table.labels[~is_test]), np.flatnonzero(is_test))
    classes = np.unique(table.labels)
    require(len(classes) >= 3, f"train, validation and test need a class each; the data has {len(classes)}", DataError)
    seen = classes[: (len(classes) + 1) // 2]
    return ClassHalves(seen, np.flatnonzero(~np.isin(table.labels, seen)))


def rows_to_learn(table: ImageTable, classes: np.ndarray) -> np.ndarray:
    """Return the rows of `classes` outside the official test half."""
    mine = np.isin(table.labels, classes)
    return np.flatnonzero(mine if table.official_test is None else mine & ~table.official_test.astype(bool))
