"""Half of the classes, drawn by a seed, are kept for the test; of the others a fraction validates.

Formula
    test       = the official test half where the data set marks one, otherwise the floor(c / 2) of the c classes whose
                 hash of seed and name comes first
    validation = round(validation * |seen|) of the seen classes, the next ones in the same order
    train      = the rest of the seen classes

Paper
    Song, Xiang, Jegelka and Savarese, "Deep Metric Learning via Lifted Structured Feature Embedding", CVPR 2016,
    section 6: no class is in two parts.

Departures from the paper
    The paper takes the first half of the classes in order. Names in order often mean something (all warblers are of one
    half), so that the halves are of different kinds; a draw has no such bias.
"""

import numpy as np

from fairground.contracts.split import DataError, ImageTable, Split, SplitRows, require
from fairground.splits._halves import class_halves, classes_by_draw, validated_by_draw


class RandomHalvesSplit(Split):
    """`validation` is the fraction of the seen classes that validates; another `seed` draws other halves."""

    bounds = {"validation": "[0, 1)", "seed": "[0, inf)"}

    def __init__(self, *, validation: float = 0.2, seed: int = 0) -> None:
        self.validation, self.seed = validation, seed

    def divide(self, table: ImageTable) -> SplitRows:
        classes, test = np.unique(table.labels), np.empty(0, np.int64)
        if table.official_test is not None:
            classes, test = class_halves(table)
        refusal = f"random_halves needs three classes at least; the data has {len(classes)}"
        require(len(classes) >= 3, refusal, DataError)
        order = classes_by_draw(table, classes, self.seed)
        if table.official_test is None:
            n_test = len(classes) // 2
            test, order = np.flatnonzero(np.isin(table.labels, order[:n_test])), order[n_test:]
        return validated_by_draw("random_halves", table, order, self.validation, test)
