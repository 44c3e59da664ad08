"""Class folds drawn by a seed: in each repeat every seen class validates once, in a fold of other company."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

#: as many classes validate at once where there are enough: two classes decide nothing
ENOUGH = 4
MOST_FOLDS = 4
#: a comparison needs no more units than this; more classes are grouped
MOST_BLOCKS = 24


@dataclass(frozen=True, kw_only=True)
class Fold:
    """Rows that train and rows that validate; no class is in both."""

    train: np.ndarray
    validation: np.ndarray


@dataclass(frozen=True, kw_only=True)
class ClassFolds:
    """The folds of `rows`, whose classes are `labels`; another `seed` draws others."""

    rows: np.ndarray
    labels: np.ndarray
    seed: int
    most_folds: int = MOST_FOLDS

    @property
    def classes(self) -> np.ndarray:
        """The classes that can validate, in order of label: those of two rows or more. The others only train."""
        found, counts = np.unique(self.labels, return_counts=True)
        several: np.ndarray = found[counts > 1]
        return several

    @property
    def n_folds(self) -> int:
        """As many folds as leave each enough classes, two at least and `most_folds` at most."""
        return int(np.clip(len(self.classes) // ENOUGH, 2, self.most_folds))

    def repeat(self, number: int) -> Iterator[Fold]:
        """Yield the folds of one repeat."""
        order = np.random.default_rng([self.seed, number]).permutation(self.classes)
        for block in np.array_split(order, self.n_folds):
            is_held = np.isin(self.labels, block)
            yield Fold(train=self.rows[~is_held], validation=self.rows[is_held])

    @property
    def least_training_rows(self) -> int:
        """A bound from below on how many rows train in any fold of any repeat."""
        sizes = np.sort(np.bincount(self.labels)[self.classes])[::-1]
        largest = -(-len(self.classes) // self.n_folds)
        return len(self.rows) - int(sizes[:largest].sum())

    def blocks(self, values: np.ndarray) -> list[float]:
        """Return the means of values (c,), one a class, over groups of classes: single classes where they are few."""
        order = np.random.default_rng([self.seed, 2**31]).permutation(len(values))
        groups = np.array_split(order, min(len(values), MOST_BLOCKS))
        return [float(np.nanmean(values[group])) for group in groups]
