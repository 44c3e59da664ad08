"""What chance alone would show: the comparison of equal methods, simulated with the same runs on the same seeds.

Formula
    t_ab = |mu^_a - mu^_b| / sqrt(sum_i w_abi v_i + w_ab var(b)), weights and variances of `paired_table`
    Equal methods whose standard deviations are spread evenly on a log scale from 1 to 4, in random order, are drawn
    up to `DRAWS` times; `highest` is the highest t_ab of each draw, `alone` that of one pair.
    `level` allows errors in 1 - level of all studies, of which CAUTION is spent:
    p = (1 + number of draws that reach t) / (1 + number of draws) / CAUTION
    c = the highest value that more draws reach than the error allows:  t > c exactly where p <= error

Paper
    Westfall and Young, "Resampling-based multiple testing", 1993, for the distribution of the highest statistic;
    Tukey's studentised range is its special case of equal variances. Phipson and Smyth, "Permutation p-values should
    never be zero", 2010, for p.

Notes
-----
    The distribution depends on which method was run on which seed, not on the scores. Its draws come from a fixed seed.
    Studies of thousands of runs or pairs have fewer draws, `FEWEST` at least: these know the error rate up to 0.3 %,
    less than CAUTION leaves unspent.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from fairground.comparison.paired_table import Array, Layout, Scatter, layout_of, scatter_of, seed_ratio

#: how much of the stated error rate is spent; the rest is kept for scores that are not normally distributed
CAUTION = 0.85
DRAWS = 20_000
FEWEST = 4_000
#: runs and pairs of all draws; more of them would take longer than reading their records
_MOST_DRAWN = 80_000_000
#: the ratio of the largest to the smallest standard deviation of methods in the draws
SPREAD = 4.0
#: numbers held in memory at a time
_BLOCK = 250_000
#: methods whose statistics with all others are worked out at a time
_ROWS = 40


@dataclass(frozen=True, kw_only=True, eq=False)
class NullDistribution:
    """`highest` and `alone` ascend; `errors` (draws, methods) are errors of means in standard errors.

    `common` is the error that all blocked methods share, in its standard errors; `variances` ascends: the true variance
    of a pair's difference over the estimated one.
    """

    highest: Array
    alone: Array
    errors: Array
    common: Array
    variances: Array


def null_distribution_of(layout: Layout, ratio: float = 0.0) -> NullDistribution:
    """Return the distribution for a layout where var(b) / var(e) is about `ratio`; the last few are kept."""
    index = int(layout.choose(np.array(ratio)))
    return _reference(layout.has_run.tobytes(), layout.n_methods, layout.choices[index].ratio)


@lru_cache(maxsize=48)
def _reference(has_run: bytes, n_methods: int, ratio: float) -> NullDistribution:
    layout = layout_of(np.frombuffer(has_run, dtype=bool).reshape(n_methods, -1))
    random = np.random.default_rng(16)
    n_runs, n_pairs = int(layout.has_run.sum()), len(layout.pairs[0])
    n_draws = int(np.clip(_MOST_DRAWN // (n_runs + n_pairs), FEWEST, DRAWS))
    step = max(1, min(n_draws, _BLOCK // max(n_runs, n_pairs, 1)))
    parts = [_draw(layout, ratio, min(step, n_draws - start), random) for start in range(0, n_draws, step)]
    highest, alone, errors, variances = (np.concatenate(part) for part in zip(*parts, strict=True))
    freedom = layout.block_freedom
    common = random.standard_t(freedom, size=n_draws) if freedom else np.zeros(n_draws)
    return NullDistribution(
        highest=np.sort(highest), alone=np.sort(alone), errors=errors, common=common, variances=np.sort(variances)
    )


def _deviations(n_methods: int) -> Array:
    return np.geomspace(SPREAD**-0.5, SPREAD**0.5, n_methods) if n_methods > 1 else np.ones(1)


def _draw(layout: Layout, ratio: float, n: int, random: np.random.Generator) -> tuple[Array, Array, Array, Array]:
    """Return n studies' highest statistic, that of one pair, errors of means, and true over estimated variances."""
    k = layout.n_methods
    deviations = random.permuted(np.tile(_deviations(k), (n, 1)), axis=1)
    y, blocks = _draw_runs(layout, ratio, deviations, random)
    scatter = scatter_of(layout, y)
    chosen = layout.choose(seed_ratio(layout, scatter))
    # On the same seeds all pairs have the same distribution, and any of them stands for it.
    one = random.integers(max(1, len(layout.pairs[0])), size=n)
    statistics, errors = np.empty((n, 3)), np.empty((n, k))
    for index in np.unique(chosen):
        # Without a choice all studies as they are: picking them would copy every draw.
        some = chosen == index if len(layout.choices) > 1 else slice(None)
        choice = layout.choices[index]
        part = _Part(choice, choice.means_of(y[some]), scatter.select(some))
        statistics[some] = part.statistics(one[some], deviations[some])
        errors[some] = part.errors(blocks[some])
    return statistics[:, 0], statistics[:, 1], errors, statistics[:, 2]


def _draw_runs(layout: Layout, ratio: float, deviations: Array, random: np.random.Generator) -> tuple[Array, Array]:
    """Return the runs of studies, (studies, runs), and what seeds do to them, (studies, seeds)."""
    n, k = deviations.shape
    rows, _ = layout.cells
    y = random.standard_normal((n, len(rows)))
    if layout.is_complete:
        y.reshape(n, k, -1)[...] *= deviations[:, :, None]
    else:
        y *= deviations[:, rows]
    blocks = np.zeros((n, 0))
    if layout.needs_seed_variance:
        blocks = random.standard_normal((n, layout.seeds.shape[1])) * np.sqrt(ratio * (_deviations(k) ** 2).mean())
        y += blocks @ layout.seeds.T
    return y, blocks


def _highest_square(layout: Layout, means: Array, own: Array) -> Array:
    """Return the highest t_ab^2 of every study whose methods were all run on the same seeds."""
    highest = np.zeros(len(means))
    for start in range(0, layout.n_methods, _ROWS):
        # Some methods with themselves and all later ones at once: faster than picking each pair once, and half the
        # work of all with all.
        some, rest = slice(start, start + _ROWS), slice(start, None)
        found = _squared(means[:, some, None] - means[:, None, rest], own[:, some, None] + own[:, None, rest], layout)
        np.maximum(highest, found.reshape(len(means), -1).max(axis=1), out=highest)
    return highest


def _squared(differences: Array, variances: Array, layout: Layout) -> Array:
    """Return t_ab^2 of pairs, in the memory of what it is made of."""
    differences *= differences
    variances /= layout.has_run.shape[1]
    differences /= variances
    return differences


class _Part:
    """Studies whose means have the same weights."""

    def __init__(self, layout: Layout, means: Array, scatter: Scatter) -> None:
        self.layout, self.means, self.scatter = layout, means, scatter

    def statistics(self, one: NDArray[np.int64], deviations: Array) -> Array:
        """Return the highest statistic, that of pair `one`, and true over estimated variance of that pair."""
        layout, scatter, n = self.layout, self.scatter, len(one)
        a, b = layout.pairs
        if not len(a):
            return np.tile([0.0, 0.0, 1.0], (n, 1))
        rows = np.arange(n)
        if layout.is_complete:
            means, own, i, j = self.means, scatter.own, a[one], b[one]
            highest = _highest_square(layout, means, own)
            chosen = _squared(means[rows, i] - means[rows, j], own[rows, i] + own[rows, j], layout)
            # Only two weights are not 0, and they are equal.
            weight = 1 / layout.has_run.shape[1]
            true, estimated = (all_of[rows, i] * weight + all_of[rows, j] * weight for all_of in (deviations**2, own))
        else:
            found = (self.means[:, a] - self.means[:, b]) ** 2 / layout.pair_variances(scatter.own, scatter.seeds)
            highest, chosen = found.max(axis=1), found[rows, one]
            weights = layout.pair_weights[one]
            true, estimated = ((all_of * weights).sum(axis=1) for all_of in (deviations**2, scatter.own))
        return np.column_stack([np.sqrt(highest), np.sqrt(chosen), true / estimated])

    def errors(self, blocks: Array) -> Array:
        """Return the errors of means in standard errors, without what seeds do to all blocked methods."""
        layout, scatter = self.layout, self.scatter
        squares = scatter.own @ layout.own_weights.T + scatter.seeds[:, None] * layout.own_seed_weight
        shared = blocks @ layout.seed_mean[: blocks.shape[1]]
        found: Array = (self.means - np.where(layout.is_blocked, shared[:, None], 0.0)) / np.sqrt(squares)
        return found


def critical_value(draws: Array, error: float) -> float:
    """Return c; `draws` ascend."""
    n_allowed = math.floor(CAUTION * error * (1 + len(draws)) - 1 + 1e-9)
    return float(draws[-1 - n_allowed]) if n_allowed >= 0 else math.inf


def p_values(draws: Array, statistics: Array) -> Array:
    """Return the p of each statistic; `draws` ascend."""
    reached = len(draws) - np.searchsorted(draws, statistics, side="left")
    return np.minimum(1.0, (1 + reached) / (1 + len(draws)) / CAUTION)


def t_statistics(differences: Array, errors: Array) -> Array:
    """Return |difference| / error; a difference without any scatter is certain."""
    size = np.abs(differences)
    return np.divide(size, errors, out=np.where(size > 0, math.inf, 0.0), where=errors > 0)


def shares_of_best(draws: Array) -> Array:
    """Return in what share of draws each column is the highest; ties share."""
    winners = draws == draws.max(axis=1, keepdims=True)
    found: Array = (winners / winners.sum(axis=1, keepdims=True)).mean(axis=0)
    return found


@lru_cache(maxsize=256)
def range_reached(k: int, level: float) -> float:
    """Return what the range of k standard normal values stays below in `level` of all cases.

    P(range < q) = k * integral over the least value z of  pdf(z) (cdf(z + q) - cdf(z))^(k - 1) dz.
    """
    # Not scipy.stats, nor scipy.optimize: they take longer to import than the rest of a page takes to draw.
    from scipy.special import ndtr

    z = np.linspace(-9, 9, 4001)
    pdf = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
    low, high = 0.0, 40.0
    # Halved sixty times, the stretch is below rounding.
    for _ in range(60):
        q = (low + high) / 2
        reached = k * float(np.sum(pdf * (ndtr(z + q) - ndtr(z)) ** (k - 1))) * float(z[1] - z[0])
        low, high = (q, high) if reached < level else (low, q)
    return high
