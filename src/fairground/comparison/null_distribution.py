"""What chance alone would show: the comparison of equal methods, simulated with the same runs on the same seeds.

Formula
    t_ab = |mu^_a - mu^_b| / sqrt(sum_i w_abi v_i + w_ab var(b)), weights of `paired_table`, v_i of `pooled_variance`
    Equal methods whose standard deviations are spread evenly on a log scale from 1 to 4, in random order, are drawn
    up to `DRAWS` times; `highest` is the highest t_ab of each draw, `alone` that of one pair.
    `level` allows errors in 1 - level of all studies, of which CAUTION is spent:
    p = (1 + number of draws that reach t) / (1 + number of draws) / CAUTION
    c = the highest value that more draws reach than the error allows:  t > c exactly where p <= error

Paper
    Westfall and Young, "Resampling-based multiple testing", 1993, for the distribution of the highest statistic;
    Tukey's studentised range is its special case of equal variances. Phipson and Smyth, "Permutation p-values should
    never be zero", 2010, for p.

The distribution depends on which method was run on which seed, not on the scores. Its draws come from a fixed seed.
`FEWEST` draws, of studies of thousands of runs or pairs, know the error rate up to 0.3 %: less than CAUTION leaves.
"""

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from fairground.comparison import Array, Layout, scatter_of

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


class NullDistribution(NamedTuple):
    """`highest` and `alone` ascend; `errors` (draws, methods) are errors of means in standard errors.

    `common` is the error that all blocked methods share, in its standard errors; `variances` ascends: the true variance
    of a pair's difference over the estimated one.
    """

    highest: Array
    alone: Array
    errors: Array
    common: Array
    variances: Array


@lru_cache(maxsize=48)
def null_distribution_of(layout: Layout, index: int = 0) -> NullDistribution:
    """Return the distribution for a layout where means are taken as the choice `index` of it has them."""
    random = np.random.default_rng(16)
    n_runs, n_pairs = int(layout.has_run.sum()), len(layout.pairs[0])
    n_draws = int(np.clip(_MOST_DRAWN // (n_runs + n_pairs), FEWEST, DRAWS))
    step = max(1, min(n_draws, _BLOCK // max(n_runs, n_pairs, 1)))
    sizes = [min(step, n_draws - start) for start in range(0, n_draws, step)]
    parts = [_draw(layout, layout.choices[index].ratio, size, random) for size in sizes]
    highest, alone, errors, variances = (np.concatenate(part) for part in zip(*parts, strict=True))
    freedom = layout.block_freedom
    common = random.standard_t(freedom, size=n_draws) if freedom else np.zeros(n_draws)
    return NullDistribution(
        highest=np.sort(highest), alone=np.sort(alone), errors=errors, common=common, variances=np.sort(variances)
    )


def _draw(layout: Layout, ratio: float, n: int, random: np.random.Generator) -> tuple[Array, Array, Array, Array]:
    """Return n studies' highest statistic, that of one pair, errors of means, and true over estimated variances."""
    k, n_seeds = layout.has_run.shape
    a, b = layout.pairs
    spread = np.geomspace(SPREAD**-0.5, SPREAD**0.5, k) if k > 1 else np.ones(1)
    deviations = random.permuted(np.tile(spread, (n, 1)), axis=1)
    y = random.standard_normal((n, len(layout.cells[0])))
    y *= deviations.take(layout.cells[0], axis=1)
    blocks = np.zeros((n, n_seeds))
    if len(layout.choices) > 1:
        blocks = random.standard_normal((n, n_seeds)) * np.sqrt(ratio * (spread**2).mean())
        y += blocks @ layout.seeds.T
    scatter = scatter_of(layout, y)
    chosen = layout.choose(scatter.ratio)
    # On the same seeds all pairs have the same distribution, and any of them stands for it.
    one = random.integers(max(1, len(a)), size=n)
    highest, alone, variances, errors = np.zeros(n), np.zeros(n), np.ones(n), np.empty((n, k))
    for index in np.unique(chosen):
        some = np.flatnonzero(chosen == index)
        weights, own, seeds = layout.choices[index], scatter.own[some], scatter.seeds[some]
        means = weights.means_of(y[some])
        if len(a):
            # In place, and by `take`: with many methods most of the time is spent here.
            squared = means.take(a, axis=1)
            squared -= means.take(b, axis=1)
            squared *= squared
            squared /= weights.pair_variances(own, seeds)
            highest[some] = np.sqrt(squared.max(axis=1))
            alone[some] = np.sqrt(squared[np.arange(len(some)), one[some]])
            held = weights.weights_of_pairs(one[some])
            variances[some] = (deviations[some] ** 2 * held).sum(axis=1) / (own * held).sum(axis=1)
        squares = own @ weights.own_weights.T + seeds[:, None] * weights.own_seed_weight
        # Without what seeds do to all blocked methods.
        shared = np.where(layout.is_blocked, (blocks[some] @ weights.seed_mean)[:, None], 0.0)
        errors[some] = (means - shared) / np.sqrt(squares)
    return highest, alone, errors, variances


def critical_value(draws: Array, error: float) -> float:
    n_allowed = math.floor(CAUTION * error * (1 + len(draws)) - 1 + 1e-9)
    return float(draws[-1 - n_allowed]) if n_allowed >= 0 else math.inf


def p_values(draws: Array, statistics: Array) -> Array:
    reached = len(draws) - np.searchsorted(draws, statistics, side="left")
    return np.minimum(1.0, (1 + reached) / (1 + len(draws)) / CAUTION)


def t_statistics(differences: Array, errors: Array) -> Array:
    """Return |difference| / error; a difference without any scatter is certain."""
    size = np.abs(differences)
    return np.divide(size, errors, out=np.where(size > 0, math.inf, 0.0), where=errors > 0)


def shares_of_best(draws: Array) -> Array:
    """Return in what share of draws each column is the highest; ties share."""
    winners = draws == draws.max(axis=1, keepdims=True)
    return np.asarray((winners / winners.sum(axis=1, keepdims=True)).mean(axis=0))


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
