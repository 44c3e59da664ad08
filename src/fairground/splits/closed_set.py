"""A closed set: images of every class train, validate and test. Not metric learning as it is compared; labelled so.

Formula
    of the n images of each class, floor(test * n + 1/2) test and floor(validation * n + 1/2) validate, the rest train,
    at least one; which ones depends on `seed`, the class name and the place of the image in its class

Paper
    None: the usual stratified split of classification, for finding out how much of a score comes from classes seen in
    training.

Departures from the paper
    None. Records say so (`is_closed_set`), and tables that put such a run beside others do.
"""

import numpy as np

from fairground.contracts.split import ImageTable, Split, SplitRows, require
from fairground.splits._halves import rows_by_draw


class ClosedSetSplit(Split):
    """`validation` and `test` are the fractions of each class that validate and test."""

    bounds = {"validation": "[0, 1)", "test": "(0, 1)", "seed": "[0, inf)"}

    def __init__(self, *, validation: float = 0.2, test: float = 0.2, seed: int = 0) -> None:
        refusal = "closed_set.validation + closed_set.test must be below 1, so that something trains"
        require(validation + test < 1, f"{refusal}; got {validation} + {test}")
        self.validation, self.test, self.seed = validation, test, seed

    def divide(self, table: ImageTable) -> SplitRows:
        rows = np.arange(len(table.labels))
        test, validation, train = rows_by_draw(table, rows, (self.test, self.validation), self.seed)
        return SplitRows(train=train, validation=validation, test=test, is_closed_set=True)
