"""How far a score might move with other classes: the cluster bootstrap, which resamples whole classes.

Queries of one class succeed and fail together, so drawing queries one by one would promise too narrow an interval.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from fairground.contracts import ClusteringMetric, Contingency, OpenSet, OpenSetMetric, VerificationMetric, require
from fairground.evaluation.evaluated_embeddings import Curve

#: class draws in memory at once
CHUNK = 2**22


@dataclass(frozen=True, kw_only=True)
class BootstrapInterval:
    """The middle `confidence` of `n_draws` bootstrap scores, centred on the score itself."""

    low: float
    high: float
    confidence: float
    n_draws: int


@dataclass(frozen=True, kw_only=True)
class Bootstrap:
    """`n_draws` times as many classes as there are, with replacement; percentiles of the resulting scores."""

    n_draws: int = 1000
    confidence: float = 0.95
    seed: int = 0

    def __post_init__(self) -> None:
        require(self.n_draws >= 2, f"bootstrap.n_draws must be at least 2; got {self.n_draws}")
        require(0 < self.confidence < 1, f"bootstrap.confidence must be between 0 and 1; got {self.confidence}")

    def of_mean(self, values: np.ndarray, classes: np.ndarray, *, over_classes: bool = False) -> BootstrapInterval:
        """Return the interval of the mean of `values` (n,), or of the mean of their class means."""
        _, group = np.unique(classes, return_inverse=True)
        sums: np.ndarray = np.bincount(group, weights=values)
        sizes: np.ndarray = np.bincount(group).astype(np.float64)
        if over_classes:
            sums, sizes = sums / sizes, np.ones_like(sizes)
        scores = [sums[drawn].sum(1) / sizes[drawn].sum(1) for drawn in self._draws(len(sums))]
        return self._interval(sums.sum() / sizes.sum(), np.concatenate(scores))

    def of_clustering(self, metric: ClusteringMetric, tables: Sequence[Contingency]) -> BootstrapInterval:
        """Return the interval of a score averaged over clusterings; these stay, a class drawn twice counts twice."""
        scores = [
            float(np.mean([metric.score(_drawn(table, times)) for table in tables]))
            for times in self._times(tables[0].classes)
        ]
        return self._interval(float(np.mean([metric.score(table) for table in tables])), np.array(scores))

    def of_verification(self, metric: VerificationMetric, curve: Curve, classes: np.ndarray) -> BootstrapInterval:
        """Return the interval of a verification score; genuine pairs are drawn by class, impostors stay as they are."""
        _, group = np.unique(classes[curve.query], return_inverse=True)
        whole = curve.verification
        scores = []
        for times in self._times(group):
            genuine = np.bincount(curve.place, weights=times[group], minlength=len(whole.genuine))
            scores.append(metric.score(replace(whole, genuine=genuine)))
        return self._interval(metric.score(whole), np.array(scores))

    def of_open_set(self, metric: OpenSetMetric, trials: OpenSet, classes: np.ndarray) -> BootstrapInterval:
        """Return the interval of an open-set score; queries are drawn by class, references stay as they are."""
        _, group = np.unique(classes, return_inverse=True)
        weights = [times[group].astype(np.float64) for times in self._times(group)]
        drawn = [replace(trials, weights=some) for some in weights]
        has_both = [one for one in drawn if one.known_weights.any() and one.unknown_weights.any()]
        scores = [metric.score(one) for one in has_both]
        return self._interval(metric.score(trials), np.array(scores))

    def _times(self, group: np.ndarray) -> Iterator[np.ndarray]:
        """Yield, for each draw, how often each class of `group` comes up."""
        n_classes = int(group.max()) + 1
        return (np.bincount(drawn, minlength=n_classes) for some in self._draws(n_classes) for drawn in some)

    def _draws(self, n_classes: int) -> Iterator[np.ndarray]:
        """Yield drawn class numbers (k, n_classes), a bounded number of draws at a time."""
        generator = torch.Generator().manual_seed(self.seed)
        step = max(1, CHUNK // n_classes)
        for begin in range(0, self.n_draws, step):
            shape = (min(step, self.n_draws - begin), n_classes)
            yield torch.randint(n_classes, shape, generator=generator).numpy()

    def _interval(self, score: float, scores: np.ndarray) -> BootstrapInterval:
        tail = (1 - self.confidence) / 2
        low, high = np.quantile(scores, [tail, 1 - tail])
        # Drawing leaves classes out, which shifts scores that are not means (NMI, purity); that is not spread.
        shift = float(score) - float(scores.mean())
        return BootstrapInterval(
            low=float(low) + shift, high=float(high) + shift, confidence=self.confidence, n_draws=self.n_draws
        )


def _drawn(table: Contingency, times: np.ndarray) -> Contingency:
    counts = table.counts * times[table.classes]
    kept = counts > 0
    return Contingency(classes=table.classes[kept], clusters=table.clusters[kept], counts=counts[kept])
