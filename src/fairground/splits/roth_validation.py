"""The official test half; of the other classes the first four fifths train and the rest validate.

Formula
    test       = the official test half where the data set marks one, otherwise the second half of the classes by label
    train      = the first floor(train * c) of the c seen classes in order of label, in each super-class where known
    validation = the other seen classes

Paper
    Roth et al., "Revisiting Training Strategies and Generalization Performance in Deep Metric Learning", ICML 2020: an
    option of its code that its tables do not use; they select on the test half (half_classes with validation=0).

Departures from the paper
    None.
"""

import numpy as np

from fairground.contracts.split import DataError, ImageTable, Split, SplitRows, require
from fairground.splits._halves import class_halves, rows_to_learn


class RothValidationSplit(Split):
    """`train` is the fraction of the seen classes that trains."""

    bounds = {"train": "(0, 1)"}

    def __init__(self, *, train: float = 0.8) -> None:
        self.train = train

    def divide(self, table: ImageTable) -> SplitRows:
        seen, test = class_halves(table)
        trained: list[int] = []
        for classes in _by_super_class(table, seen):
            trained.extend(classes[: int(self.train * len(classes))])
        validation = np.setdiff1d(seen, trained)
        left = f"leaves {len(trained)} to train on and {len(validation)} to validate; each needs one at least"
        refusal = f"roth_validation.train = {self.train} of {len(seen)} classes {left}"
        require(len(trained) > 0 and len(validation) > 0, refusal, DataError)
        return SplitRows(
            train=rows_to_learn(table, np.array(trained)), validation=rows_to_learn(table, validation), test=test
        )


def _by_super_class(table: ImageTable, seen: np.ndarray) -> list[list[int]]:
    if table.super_labels is None:
        return [seen.tolist()]
    _, first = np.unique(table.labels, return_index=True)
    super_of = dict(zip(table.labels[first].tolist(), table.super_labels[first].tolist(), strict=True))
    return [[label for label in seen.tolist() if super_of[label] == kind] for kind in sorted(set(super_of.values()))]
