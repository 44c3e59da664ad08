"""A method on class folds: trained on the classes outside a fold, scored on those in it, every class once a repeat."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from fairground.adaptation.adapter import Adapter
from fairground.adaptation.class_folds import ClassFolds
from fairground.adaptation.scores import scores_of_rows
from fairground.errors import DivergedError
from fairground.evaluation.metric_scores import metric_named
from fairground.spec.adaptation import AdaptationSpec


@dataclass(frozen=True, kw_only=True)
class FoldScores:
    """Means over classes by metric, and those of the metrics that decide over groups of classes."""

    scores: dict[str, float]
    blocks: dict[str, tuple[float, ...]]
    seconds: float
    #: of these, what ranking took
    ranking_seconds: float


@dataclass
class CrossValidation:
    """`metrics` are all that are shown; `deciding` are those that decide, in that order."""

    adapter: Adapter
    folds: ClassFolds
    metrics: Sequence[str]
    deciding: Sequence[str]

    def score(self, spec: AdaptationSpec, repeat: int) -> FoldScores:
        """Return the scores of a method in one repeat; a method that diverged has the worst there are."""
        begun, ranking = time.monotonic(), 0.0
        classes = self.folds.classes
        values = {metric: np.full(len(classes), np.nan) for metric in self.metrics}
        try:
            for fold in self.folds.repeat(repeat):
                adapted = self.adapter.fit(spec, fold.train)
                embeddings = adapted.embed(fold.validation, self.adapter.tick)
                if not bool(torch.isfinite(embeddings).all()):
                    raise DivergedError("the embeddings are not finite")
                self.adapter.tick()
                ranked = time.monotonic()
                found = scores_of_rows(
                    self.adapter.table, embeddings, fold.validation, self.metrics, normalise=adapted.normalise
                )
                ranking += time.monotonic() - ranked
                places = np.searchsorted(classes, found.class_names)
                for metric in self.metrics:
                    values[metric][places] = found.per_class[metric]
        except DivergedError:
            values = {metric: np.full(len(classes), self._worst(metric)) for metric in self.metrics}
        means = {metric: float(np.nanmean(of)) for metric, of in values.items()}
        # A class of which every pair is left out says nothing.
        decided = {metric: np.nan_to_num(values[metric], nan=means[metric]) for metric in self.deciding}
        return FoldScores(
            scores=means,
            blocks={metric: tuple(self.folds.blocks(of)) for metric, of in decided.items()},
            seconds=time.monotonic() - begun,
            ranking_seconds=ranking,
        )

    @staticmethod
    def _worst(metric: str) -> float:
        return 0.0 if metric_named(metric).higher_is_better else 1.0
