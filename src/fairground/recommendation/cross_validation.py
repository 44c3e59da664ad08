"""Class folds drawn by a seed: in each repeat every seen class validates once, beside other classes each time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch

from fairground.errors import DivergedError
from fairground.evaluation.metric_scores import evaluate_in_detail, metric_named
from fairground.spec.adaptation import AdaptationSpec
from fairground.training.adaptation import Workbench
from fairground.training.measure import view_of_rows

#: classes that validate at once where there are enough: two classes decide nothing
ENOUGH = 4
MOST_FOLDS = 4
#: a comparison needs no more units than this; more classes are grouped
MOST_BLOCKS = 24


class Fold(NamedTuple):
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
        """Return the means of values (c,), one per class, over groups of classes: single classes where they are few."""
        order = np.random.default_rng([self.seed, 2**31]).permutation(len(values))
        groups = np.array_split(order, min(len(values), MOST_BLOCKS))
        return [float(np.nanmean(values[group])) for group in groups]


@dataclass(frozen=True, kw_only=True)
class CrossValidation:
    """Trains on the classes outside a fold and scores on those in it; `deciding` are some of the `metrics`."""

    bench: Workbench
    folds: ClassFolds
    metrics: Sequence[str]
    deciding: Sequence[str]

    def score(self, spec: AdaptationSpec, repeat: int) -> tuple[dict[str, float], dict[str, tuple[float, ...]]]:
        """Return the means over classes by metric, and those of the deciding metrics over groups of classes.

        A method that diverged has the worst scores there are.
        """
        classes = self.folds.classes
        values = {metric: np.full(len(classes), np.nan) for metric in self.metrics}
        try:
            for fold in self.folds.repeat(repeat):
                adapted = self.bench.fit(spec, fold.train)
                embeddings = adapted.embed(fold.validation)
                if not bool(torch.isfinite(embeddings).all()):
                    raise DivergedError("the embeddings are not finite")
                view = view_of_rows(self.bench.table, embeddings, fold.validation, normalise=adapted.normalise)
                found = evaluate_in_detail(view, self.metrics)
                places = np.searchsorted(classes, found.class_names)
                for metric in self.metrics:
                    values[metric][places] = found.per_class[metric]
        except DivergedError:
            worst = {metric: 0.0 if metric_named(metric).higher_is_better else 1.0 for metric in self.metrics}
            values = {metric: np.full(len(classes), worst[metric]) for metric in self.metrics}
        means = {metric: float(np.nanmean(of)) for metric, of in values.items()}
        # A class of which every pair is left out says nothing.
        decided = {metric: np.nan_to_num(values[metric], nan=means[metric]) for metric in self.deciding}
        return means, {metric: tuple(self.folds.blocks(of)) for metric, of in decided.items()}
