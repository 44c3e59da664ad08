"""Class folds drawn by a seed: in each round every seen class validates once, beside other classes each time."""

import numpy as np

#: classes that validate at once where there are enough: two classes decide nothing
ENOUGH = 8
MOST_FOLDS = 4
#: images that validate in a fold: about as many of each class
MOST_VALIDATED = 400


class ClassFolds:
    """The folds of `rows`, whose classes are `labels`; another `seed` draws others.

    Only `classes` of two rows or more validate; the others only train. There are as many folds in a round as leave each
    enough classes, two at least and four at most; folds are numbered on through the rounds.
    """

    def __init__(self, *, rows: np.ndarray, labels: np.ndarray, seed: int) -> None:
        self.rows, self.labels, self.seed = rows, labels, seed
        found, counts = np.unique(labels, return_counts=True)
        self.classes: np.ndarray = found[counts > 1]
        self.n_folds = int(np.clip(len(self.classes) // ENOUGH, 2, MOST_FOLDS))
        self.n_per_fold = len(self.classes) // self.n_folds

    def fold(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows that train and those that validate, in the order of `rows`; no class is in both."""
        turn, place = divmod(number, self.n_folds)
        order = np.random.default_rng([self.seed, turn]).permutation(self.classes)
        is_held = np.isin(self.labels, np.array_split(order, self.n_folds)[place])
        return self.rows[~is_held], self.rows[is_held][:MOST_VALIDATED]

    @property
    def least_training_rows(self) -> int:
        """A bound from below on how many rows train in any fold."""
        sizes = np.sort(np.bincount(self.labels)[self.classes])[::-1]
        largest = -(-len(self.classes) // self.n_folds)
        return len(self.rows) - int(sizes[:largest].sum())
