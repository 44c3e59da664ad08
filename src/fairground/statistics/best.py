"""How probable it is that each method is the best, by drawing the seeds again and again.

Formula
    Draw n of the n shared seeds with replacement, the same for all methods; each mean is moved away from the mean over
    all seeds by sqrt(n / (n - 1)) t(0.975, n - 1) / 1.96; the highest wins, ties share. The share of draws a method
    wins is its probability of being best.

Paper
    Efron and Tibshirani, "An Introduction to the Bootstrap", 1993. Drawing seeds, not single scores, keeps the pairing.
    Hesterberg, "What teachers should know about the bootstrap", 2015, for the factor: the means of few seeds drawn
    again scatter too little, and a lead over three seeds would be called certain.
"""

import math
from collections.abc import Mapping

import numpy as np

from fairground.errors import require
from fairground.statistics.pairwise import Values


def probability_of_best(values: Mapping[str, Values], *, resamples: int = 10_000, seed: int = 0) -> dict[str, float]:
    """Return the probability for each method, from its values by seed; they sum to 1."""
    require(resamples >= 100, f"resamples must be at least 100; got {resamples}")
    require(len(values) > 0, "there is no best among no methods")
    first, *others = values.values()
    shared = [key for key in first if all(key in other for other in others)]
    require(len(shared) >= 2, f"drawing seeds again needs at least 2 that all methods share; got {len(shared)}")
    table = np.array([[found[key] for key in shared] for found in values.values()], dtype=float)
    n = len(shared)
    # How often each seed is drawn is all that a mean needs: (resamples, n) counts instead of an array a method.
    counts = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=resamples)
    means = counts @ table.T / n
    centre = table.mean(axis=1)
    means = centre + _widening(n) * (means - centre)
    winners = np.isclose(means, means.max(axis=1, keepdims=True), rtol=0, atol=1e-12)
    shares = (winners / winners.sum(axis=1, keepdims=True)).mean(axis=0)
    return {name: float(share) for name, share in zip(values, shares, strict=True)}


def _widening(n: int) -> float:
    """Return by how much n values drawn again scatter less than their mean does."""
    # Not scipy.stats: that takes longer to import than most commands take to run.
    from scipy.special import ndtri, stdtrit

    return math.sqrt(n / (n - 1)) * float(stdtrit(n - 1, 0.975)) / float(ndtri(0.975))
