"""The one model of a comparison, from which every interval, verdict and probability is read.

Formula
    difference of a pair   mu^_a - mu^_b ± c sqrt(its variance), means and variances of `layout` and `scatter`;
                           c from the highest statistic among equal methods (`reference`, `law`): all intervals of a
                           study hold at once
    p of a pair            from the same draws: p <= 1 - level exactly where the interval leaves out 0
    mean of a method       mu^_i ± the `level` quantile of |its own error + what all methods of its seeds share|
    probability of best    share of draws in which mu^_i + error_i is the highest, ties shared

Paper
    Tukey, "The problem of multiple comparisons", 1953; Smyth, 2004 (`scatter`); Westfall and Young, 1993 (`reference`).
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fairground.comparison.law import critical_value, p_values, shares_of_best, t_statistics
from fairground.comparison.layout import Array, Layout, layout_of
from fairground.comparison.reference import ReferenceLaw, reference_of
from fairground.comparison.runs import Runs
from fairground.comparison.scatter import Scatter, scatter_of, seed_ratio


@dataclass(frozen=True, kw_only=True, eq=False)
class Model:
    """One comparison fitted; methods with fewer than two runs are not part of it. Higher values are better."""

    names: tuple[str, ...]
    layout: Layout
    means: Array
    scatter: Scatter
    reference: ReferenceLaw

    @property
    def differences(self) -> Array:
        """The difference of each pair's means."""
        a, b = self.layout.pairs
        found: Array = self.means[a] - self.means[b]
        return found

    @property
    def pair_errors(self) -> Array:
        """The standard error of each pair's difference."""
        layout, scatter = self.layout, self.scatter
        return np.sqrt(layout.pair_variances(scatter.own, scatter.seeds))

    def critical(self, error: float) -> float:
        """Return c: t_ab above it is separated, in at most `error` of all studies of equal methods."""
        return critical_value(self.reference.highest, error)

    def p_values(self, *, is_alone: bool = False) -> Array:
        """Return each pair's p, corrected for all pairs or as if it were the only one."""
        law = self.reference.alone if is_alone else self.reference.highest
        return p_values(law, t_statistics(self.differences, self.pair_errors))

    @cached_property
    def errors(self) -> Array:
        """How far each mean may be from the truth, but for what all blocked methods share, (draws, methods)."""
        layout, scatter = self.layout, self.scatter
        found: Array = self.reference.errors * np.sqrt(
            layout.own_weights @ scatter.own + layout.own_seed_weight * scatter.seeds
        )
        return found

    @cached_property
    def mean_errors(self) -> Array:
        """How far each mean by itself may be from the truth, (draws, methods)."""
        blocked, errors = self.layout.is_blocked, self.errors
        if not blocked.any():
            return errors
        shared = math.sqrt(float(self.scatter.seeds) * float((self.layout.seed_mean**2).sum()))
        centred = errors - errors[:, blocked].mean(axis=1, keepdims=True) + shared * self.reference.common[:, None]
        return np.where(blocked, centred, errors)

    def half_widths(self, level: float) -> Array:
        """Return half the length of the interval of each mean."""
        return np.quantile(np.abs(self.mean_errors), level, axis=0)

    def probabilities(self) -> Array:
        """Return how probably each method is the best; they sum to 1."""
        return shares_of_best(self.means + self.errors)


def fit(runs: Runs) -> Model:
    """Fit the model to methods that have at least two runs each."""
    plain = layout_of(runs.has_run)
    y = runs.table[plain.cells]
    # Centred, so that the residuals keep their digits.
    scatter = scatter_of(plain, y - y.mean())
    ratio = seed_ratio(plain, scatter)
    layout = plain.choices[int(plain.choose(ratio))]
    if float(scatter.pooled) <= (4 * np.finfo(float).eps * float(np.abs(y).max())) ** 2:
        # Nothing but rounding: the runs do not scatter at all.
        scatter = Scatter(own=np.zeros_like(scatter.own), pooled=np.zeros(()), seeds=scatter.seeds)
    means = runs.averages if layout.ratio == 0 else layout.weights @ y
    reference = reference_of(plain, float(ratio) + 1 / plain.block_weight)
    return Model(names=runs.names, layout=layout, means=means, scatter=scatter, reference=reference)
