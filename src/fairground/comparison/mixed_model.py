"""The one model of a comparison, from which every interval, verdict and probability is read.

Formula
    difference of a pair   mu^_a - mu^_b ± c sqrt(its variance), means and variances of `paired_table`; c from the
                           highest statistic among equal methods (`null_distribution`): all intervals of a study hold
                           simultaneously
    p of a pair            from the same draws: p <= 1 - level exactly where the interval leaves out 0
    mean of a method       mu^_i ± the `level` quantile of |its own error + what all methods of its seeds share|
    probability of best    share of draws in which mu^_i + error_i is the highest, ties shared
    seeds needed           With m more seeds for both methods the variance of their difference falls from V to
                           V' = sum_i w_i v_i n_i / (n_i + m), and the difference seen then is normal around the one
                           seen now with variance V - V'. The pair settles when its interval leaves out 0 or is within
                           the margin:  P(|d'| > h') + P(|d'| < margin - h') >= POWER,   h' = c' sqrt(V')
                           c' falls from c towards its value for known variances, the studentised range's, as
                           (n + 1) / (n + m + 1). The variance itself is known only roughly: the probability is a mean
                           over true / estimated variance as drawn, and m more seeds bring the estimate nearer to the
                           truth.

Paper
    Tukey, "The problem of multiple comparisons", 1953; Spiegelhalter, Freedman and Blackburn, "Monitoring clinical
    trials: conditional or predictive power?", 1986, for seeds needed.

Notes
-----
    The number of seeds needed is a plan, not evidence: `sequential` corrects for looking again after every seed.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fairground.comparison.null_distribution import (
    CAUTION,
    NullDistribution,
    critical_value,
    null_distribution_of,
    p_values,
    range_reached,
    shares_of_best,
    t_statistics,
)
from fairground.comparison.paired_table import PRIOR, Array, Layout, Scatter, layout_of, scatter_of, seed_ratio
from fairground.comparison.run_scores import Runs

POWER = 0.8
#: more seeds than this are not feasible
REACH = 1000
#: the quantiles of what the variance may be over which the probability is a mean
_CENTRES = (np.arange(9) + 0.5) / 9


@dataclass(frozen=True, kw_only=True, eq=False)
class Model:
    """One comparison fitted; methods with fewer than two runs are not part of it. Higher values are better."""

    names: tuple[str, ...]
    layout: Layout
    means: Array
    scatter: Scatter
    chance: NullDistribution

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
        return critical_value(self.chance.highest, error)

    def p_values(self, *, is_alone: bool = False) -> Array:
        """Return each pair's p, corrected for all pairs or as if it were the only one."""
        draws = self.chance.alone if is_alone else self.chance.highest
        return p_values(draws, t_statistics(self.differences, self.pair_errors))

    @cached_property
    def errors(self) -> Array:
        """How far each mean may be from the truth, but for what all blocked methods share, (draws, methods)."""
        layout, scatter = self.layout, self.scatter
        found: Array = self.chance.errors * np.sqrt(
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
        centred = errors - errors[:, blocked].mean(axis=1, keepdims=True) + shared * self.chance.common[:, None]
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
    chance = null_distribution_of(plain, float(ratio) + 1 / plain.block_weight)
    return Model(names=runs.names, layout=layout, means=means, scatter=scatter, chance=chance)


def more_seeds(model: Model, *, error: float, margin: float) -> NDArray[np.int64]:
    """Return per pair how many more seeds settle it in four of five cases; 0 where none are needed or feasible."""
    size, half_width = np.abs(model.differences), model.critical(error) * model.pair_errors
    left = np.flatnonzero((size <= half_width) & (size + half_width >= margin))
    found = np.zeros(len(size), dtype=np.int64)
    # Of many pairs a few numbers of seeds at a time: most are settled by the first and need not be tried with the rest.
    for m in np.array_split(_numbers_of_seeds(), 1 if len(left) < 200 else 12):
        if not len(left):
            break
        reached = _chances(model, left, m, error=error, margin=margin) >= POWER
        is_reached = reached.any(axis=1)
        found[left[is_reached]] = m[reached[is_reached].argmax(axis=1)]
        left = left[~is_reached]
    return found


def _chances(model: Model, pairs: NDArray[np.int64], m: NDArray[np.int64], *, error: float, margin: float) -> Array:
    """Return how probably each of some pairs is settled by each number of further seeds, (pairs, numbers)."""
    counts = model.layout.has_run.sum(axis=1)
    a, b = (one[pairs] for one in model.layout.pairs)
    before = model.pair_errors[pairs][:, None] ** 2
    now = (1 / counts[a] + 1 / counts[b])[:, None]
    after = before * ((1 / (counts[a][:, None] + m) + 1 / (counts[b][:, None] + m)) / now)
    fewest = np.minimum(counts[a], counts[b])[:, None]
    known = range_reached(model.layout.n_methods, 1 - CAUTION * error) / math.sqrt(2)
    critical = known + np.maximum(0.0, model.critical(error) - known) * (fewest + 1) / (fewest + m + 1)
    difference = np.abs(model.differences)[pairs][:, None]
    settled: Array = np.zeros_like(after)
    for factor in np.quantile(model.chance.variances, _CENTRES):
        # PRIOR and the runs so far say 1, m more runs say `factor`.
        seen = (PRIOR + fewest - 1 + factor * m) / (PRIOR + fewest - 1 + m)
        spread, half = np.sqrt(factor * (before - after)), critical * np.sqrt(seen * after)
        settled += _settles(difference, spread, half, margin) / len(_CENTRES)
    return settled


def _numbers_of_seeds() -> NDArray[np.int64]:
    """Return numbers of seeds to try: each up to a hundred, then one in twenty."""
    further = np.unique(np.geomspace(100, REACH, 50).round().astype(np.int64))
    return np.union1d(np.arange(1, 100), further)


def _settles(difference: Array, spread: Array, half: Array, margin: float) -> Array:
    from scipy.special import ndtr

    spread = np.maximum(spread, 1e-300)
    apart = ndtr((difference - half) / spread) + ndtr((-difference - half) / spread)
    room = np.maximum(0.0, margin - half)
    within = ndtr((room - difference) / spread) - ndtr((-room - difference) / spread)
    # Where half is below margin / 2 the two overlap; together they never exceed 1.
    found: Array = np.minimum(1.0, apart + np.maximum(0.0, within))
    return found
