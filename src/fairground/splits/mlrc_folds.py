"""The four folds of "A Metric Learning Reality Check", class for class, with the rounding of its code.

Formula
    n classes in order of label, k folds:  T = floor(n / 2) classes to learn from, the others test
    V = floor(n / (2 k)) validate, L = T - V train; fold f starts at class s = floor(f T / k)
    train      = classes s, s + 1, ..., s + L - 1, counted modulo T
    validation = the V classes after them, modulo T

Paper
    Musgrave, Belongie and Lim, "A Metric Learning Reality Check", ECCV 2020, section 3.1, as its code has it.

Departures from the paper
    None: this is the code's arithmetic, with what follows from it. Fold 0 validates on the last classes. Where k does
    not divide T some classes never validate: 24 and 73 of Cars196 and 8487 of Stanford Online Products, counted from 0.
    Halves go by position, whatever the data set's official half: Stanford Online Products' last training class is
    tested on, so that 11,317 classes test instead of 11,316. Split class_folds has neither peculiarity.
"""

import numpy as np

from fairground.contracts.split import DataError, ImageTable, Split, SplitRows, require


class MlrcFoldsSplit(Split):
    """`fold` is 0..3 for the paper's `n_folds` of 4."""

    bounds = {"n_folds": "[2, inf)"}

    def __init__(self, *, fold: int = 0, n_folds: int = 4) -> None:
        require(0 <= fold < n_folds, f"mlrc_folds.fold must be in 0..{n_folds - 1} for {n_folds} folds; got {fold}")
        self.fold, self.n_folds = fold, n_folds

    def divide(self, table: ImageTable) -> SplitRows:
        classes = np.unique(table.labels)
        n_learnt = len(classes) // 2
        n_validation = len(classes) // (2 * self.n_folds)
        refusal = f"mlrc_folds.n_folds = {self.n_folds} needs {2 * self.n_folds} classes or more"
        require(n_validation >= 1, f"{refusal}; there are {len(classes)}", DataError)
        begin = self.fold * n_learnt // self.n_folds
        turned = classes[(begin + np.arange(n_learnt)) % n_learnt]
        n_train = n_learnt - n_validation
        return SplitRows(
            train=np.flatnonzero(np.isin(table.labels, turned[:n_train])),
            validation=np.flatnonzero(np.isin(table.labels, turned[n_train:])),
            test=np.flatnonzero(np.isin(table.labels, classes[n_learnt:])),
        )
