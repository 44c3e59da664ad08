"""Half of the classes are kept for the test; the others form folds of whole classes, one of which validates.

Formula
    test       = the official test half where the data set marks one, otherwise the second half of the classes by label
    validation = the seen classes in block `fold`, of `n_folds` blocks in order of label that differ by one at most
    train      = the other blocks

Paper
    Musgrave, Belongie and Lim, "A Metric Learning Reality Check", ECCV 2020, section 3.1: cross-validation over four
    partitions of the training classes, so that settings are chosen on classes that neither train nor test.

Departures from the paper
    Every seen class validates exactly once, fold 0 being the first block. The paper's code rounds its blocks down and
    starts with the last one, so that a few classes of Cars and SOP never validate.
"""

import numpy as np

from fairground.contracts.split import DataError, ImageTable, Split, SplitRows, require
from fairground.splits._halves import class_halves, rows_to_learn


class ClassFoldsSplit(Split):
    """`fold` is the block of seen classes that validates, counted from 0, out of `n_folds`."""

    bounds = {"n_folds": "[2, inf)"}

    def __init__(self, *, fold: int = 0, n_folds: int = 4) -> None:
        require(0 <= fold < n_folds, f"class_folds.fold must be in 0..{n_folds - 1} for {n_folds} folds; got {fold}")
        self.fold, self.n_folds = fold, n_folds

    def divide(self, table: ImageTable) -> SplitRows:
        seen, test = class_halves(table)
        refusal = f"class_folds.n_folds = {self.n_folds} needs as many classes outside the test half"
        require(len(seen) >= self.n_folds, f"{refusal}; there are {len(seen)}", DataError)
        blocks = np.array_split(seen, self.n_folds)
        validation = blocks.pop(self.fold)
        return SplitRows(
            train=rows_to_learn(table, np.concatenate(blocks)),
            validation=rows_to_learn(table, validation),
            test=test,
        )
