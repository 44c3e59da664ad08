"""Class folds drawn by a seed: in each repeat every seen class validates once, beside other classes each time."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch

from fairground.errors import DivergedError
from fairground.evaluation.metric_scores import evaluate_in_detail
from fairground.spec.adaptation_spec import AdaptationSpec
from fairground.training import Workbench, view_of_rows

#: classes that validate at once where there are enough: two classes decide nothing
ENOUGH = 4
MOST_FOLDS = 4
#: a comparison needs no more units than this; more classes are grouped
MOST_BLOCKS = 24


class ClassFolds:
    """The folds of `rows`, whose classes are `labels`; another `seed` draws others.

    Only `classes` of two rows or more validate, in order of label; the others only train. There are as many folds as
    leave each enough classes, two at least and `most_folds` at most.
    """

    def __init__(self, *, rows: np.ndarray, labels: np.ndarray, seed: int, most_folds: int = MOST_FOLDS) -> None:
        self.rows, self.labels, self.seed = rows, labels, seed
        found, counts = np.unique(labels, return_counts=True)
        self.classes: np.ndarray = found[counts > 1]
        self.n_folds = int(np.clip(len(self.classes) // ENOUGH, 2, most_folds))
        self.n_per_fold = len(self.classes) // self.n_folds

    def repeat(self, number: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the rows that train and those that validate in each fold of one repeat; no class is in both."""
        order = np.random.default_rng([self.seed, number]).permutation(self.classes)
        for block in np.array_split(order, self.n_folds):
            is_held = np.isin(self.labels, block)
            yield self.rows[~is_held], self.rows[is_held]

    @property
    def least_training_rows(self) -> int:
        """A bound from below on how many rows train in any fold of any repeat."""
        sizes = np.sort(np.bincount(self.labels)[self.classes])[::-1]
        largest = -(-len(self.classes) // self.n_folds)
        return len(self.rows) - int(sizes[:largest].sum())

    def blocks(self, values: np.ndarray) -> list[float]:
        """Return the means of values (c,), one per class, over groups of classes: single classes where they are few."""
        order = np.random.default_rng([self.seed, 2**31]).permutation(len(values))
        groups = np.array_split(order, min(len(values), MOST_BLOCKS))
        return [float(np.nanmean(values[group])) for group in groups]


def cross_validate(
    bench: Workbench, folds: ClassFolds, spec: AdaptationSpec, repeat: int, metrics: Sequence[str]
) -> dict[str, np.ndarray]:
    """Train on the classes outside each fold, score on those in it, and return the values per class by metric.

    A method that diverged has the worst scores there are.
    """
    classes = folds.classes
    values = {metric: np.full(len(classes), np.nan) for metric in metrics}
    try:
        for train, validation in folds.repeat(repeat):
            adapted = bench.fit(spec, train)
            embeddings = adapted.embed(validation)
            if not bool(torch.isfinite(embeddings).all()):
                raise DivergedError("the embeddings are not finite")
            view = view_of_rows(bench.table, embeddings, validation, normalise=adapted.normalise)
            found = evaluate_in_detail(view, metrics)
            places = np.searchsorted(classes, found.class_names)
            for metric in metrics:
                values[metric][places] = found.per_class[metric]
    except DivergedError:
        return {metric: np.zeros(len(classes)) for metric in metrics}
    # A class of which every pair is left out says nothing.
    return {metric: np.nan_to_num(of, nan=float(np.nanmean(of))) for metric, of in values.items()}
