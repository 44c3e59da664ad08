"""Which classes test, and how the others validate: in folds drawn by a seed, each once per round.

Data of too few classes is refused.
"""

from collections.abc import Sequence

import numpy as np

from fairground.errors import DataError, require
from fairground.spec import Value

#: fewer classes cannot be divided into two that train, two that validate and as many that test
LEAST_CLASSES = 8
#: classes that validate at once where there are enough: two classes decide nothing
ENOUGH = 8
MOST_FOLDS = 4
#: images that validate in a fold: about as many of each class
MOST_VALIDATED = 400


def choose_split(
    class_sizes: Sequence[int], *, lists_parts: bool, has_test_half: bool, seed: int
) -> tuple[dict[str, Value], str]:
    """Return a split in which no class is in two parts, and a sentence; refuse data that has too few classes."""
    n, several = len(class_sizes), sum(size > 1 for size in class_sizes)
    require(n > 1, "all images are of one class, so there is nothing to tell apart: put each class into its own folder")
    require(
        several > 0,
        f"each of the {n} classes has one image only, so nothing could be found again: collect two or more images of "
        "a class, four or more if possible",
        DataError,
    )
    if lists_parts:
        return {"split": "listed"}, "Your own list of parts is kept; no class is in two of them."
    require(
        several >= LEAST_CLASSES,
        f"a model is judged on classes it has never seen, which takes at least {LEAST_CLASSES} classes of two images "
        f"or more: two to train on, two to choose by, four to test. The data has {several}: add classes, or divide the "
        "ones there are more finely",
        DataError,
    )
    test = "the data set's own test half is" if has_test_half else f"half of the classes, drawn by seed {seed}, are"
    kept = f"{test} kept for the test until a method is chosen; the others train and validate in turn"
    return {"split": "random_halves", "split.seed": seed}, f"No class is in two parts: {kept}."


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
