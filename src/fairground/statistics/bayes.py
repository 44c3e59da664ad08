"""How probable it is that a is better, that b is, and that they are equal for all practical purposes.

`rope` is the region of practical equivalence: differences within ± rope are called equal.

Formula
    correlated t:  delta | d ~ Student t with n - 1 degrees of freedom, centre mean(d), scale s sqrt(1/n + r / (1 - r)),
                   r the correlation of the pairs: 0 for seeds, the share held out for folds of one data set
    signed rank:   w ~ Dirichlet(prior, 1, ..., 1) over (0, d_1, ..., d_n);
                   theta_better = sum_ij w_i w_j [d_i + d_j > 2 rope], likewise equal and worse; each answer has the
                   probability with which its theta is the largest

Paper
    Corani and Benavoli, "A Bayesian approach for comparing cross-validated algorithms on multiple data sets", Machine
    Learning 2015, with the correlation of Nadeau and Bengio, "Inference for the generalization error", 2003.
    Benavoli, Corani, Demšar and Zaffalon, "Time for a change", JMLR 2017, section 4.2, for the signed rank.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairground.errors import require
from fairground.statistics.paired import differences


@dataclass(frozen=True, kw_only=True)
class Belief:
    """Three probabilities that sum to 1: a better by more than `rope`, equal within it, b better by more."""

    better: float
    equal: float
    worse: float
    rope: float


def correlated_t(a: Sequence[float], b: Sequence[float], *, rope: float = 0.01, correlation: float = 0.0) -> Belief:
    """Return the posterior belief about two methods on one data set."""
    from scipy.special import stdtr

    require(rope >= 0, f"rope must be 0 or more; got {rope}")
    require(0 <= correlation < 1, f"correlation must be in [0, 1); got {correlation}")
    d = differences(a, b)
    n = len(d)
    mean = math.fsum(d) / n
    variance = math.fsum((value - mean) ** 2 for value in d) / (n - 1)
    scale = math.sqrt(variance * (1 / n + correlation / (1 - correlation)))
    if scale == 0:
        return Belief(better=float(mean > rope), equal=float(abs(mean) <= rope), worse=float(mean < -rope), rope=rope)
    worse = float(stdtr(n - 1, (-rope - mean) / scale))
    better = float(stdtr(n - 1, (mean - rope) / scale))
    return Belief(better=better, equal=max(0.0, 1.0 - better - worse), worse=worse, rope=rope)


def bayesian_signed_rank(
    a: Sequence[float],
    b: Sequence[float],
    *,
    rope: float = 0.01,
    prior: float = 0.5,
    draws: int = 20_000,
    seed: int = 0,
) -> Belief:
    """Return the posterior belief about two methods over data sets, without a bell curve; O(draws + n^2) memory."""
    require(rope >= 0, f"rope must be 0 or more; got {rope}")
    require(prior > 0, f"prior must be above 0; got {prior}")
    require(draws >= 1000, f"draws must be at least 1000; got {draws}")
    d = np.array([0.0, *differences(a, b)])
    weights = np.random.default_rng(seed).dirichlet([prior, *[1.0] * (len(d) - 1)], size=draws)
    sums = d[:, None] + d[None, :]
    better = np.einsum("ki,ki->k", weights @ (sums > 2 * rope), weights)
    worse = np.einsum("ki,ki->k", weights @ (sums < -2 * rope), weights)
    thetas = np.stack([better, 1 - better - worse, worse])
    # Equal thetas share the draw: with a rope of 0 and no ties the middle one is hardly ever the largest.
    winners = thetas == thetas.max(axis=0)
    shares = (winners / winners.sum(axis=0)).mean(axis=1)
    return Belief(better=float(shares[0]), equal=float(shares[1]), worse=float(shares[2]), rope=rope)
