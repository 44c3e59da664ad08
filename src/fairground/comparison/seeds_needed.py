"""How many more seeds settle a comparison in four of five cases.

Formula
    With m more seeds for both methods the variance of their difference falls from V to V' = sum_i w_i v_i n_i /
    (n_i + m), and the difference seen then is normal around the one seen now with variance V - V'. It settles when
    its interval leaves out 0 or is within the margin:  P(|d'| > h') + P(|d'| < margin - h') >= POWER, h' = c' sqrt(V')
    c' falls from c towards its value for known variances, the studentised range's, as (n + 1) / (n + m + 1). The
    variance itself is known only roughly: the probability is a mean over true / estimated variance as drawn, and m more
    seeds bring the estimate nearer to the truth. It is a plan, not evidence: `seed_waves` corrects for looking again.

Paper
    Spiegelhalter, Freedman and Blackburn, "Monitoring clinical trials: conditional or predictive power?", 1986.
"""

import math

import numpy as np

from fairground import comparison
from fairground.comparison import PRIOR, Array, null_distribution

POWER = 0.8
#: more seeds than this are not feasible
REACH = 1000
#: numbers of seeds to try: each up to a hundred, then one in twenty
_TRIED = np.union1d(np.arange(1, 100), np.geomspace(100, REACH, 50).round().astype(np.int64))
#: the quantiles of what the variance may be over which the probability is a mean
_CENTRES = (np.arange(9) + 0.5) / 9


def more_seeds(model: "comparison.Model", error: float, margin: float) -> np.ndarray:
    """Return per pair how many more seeds settle it in four of five cases; 0 where none are needed or feasible."""
    size, half_width = np.abs(model.differences), model.critical(error) * model.pair_errors
    left = np.flatnonzero((size <= half_width) & (size + half_width >= margin))
    found = np.zeros(len(size), dtype=np.int64)
    # Of many pairs a few numbers of seeds at a time: most are settled by the first and need not be tried with the rest.
    for m in np.array_split(_TRIED, 1 if len(left) < 200 else 12):
        reached = _chances(model, left, m, error, margin) >= POWER
        is_reached = reached.any(axis=1)
        found[left[is_reached]] = m[reached[is_reached].argmax(axis=1)]
        left = left[~is_reached]
    return found


def _chances(model: "comparison.Model", pairs: np.ndarray, m: np.ndarray, error: float, margin: float) -> Array:
    """Return how probably each of some pairs is settled by each number of further seeds, (pairs, numbers)."""
    from scipy.special import ndtr

    counts = model.layout.has_run.sum(axis=1)
    a, b = (one[pairs] for one in model.layout.pairs)
    before = model.pair_errors[pairs][:, None] ** 2
    now = (1 / counts[a] + 1 / counts[b])[:, None]
    after = before * ((1 / (counts[a][:, None] + m) + 1 / (counts[b][:, None] + m)) / now)
    fewest = np.minimum(counts[a], counts[b])[:, None]
    known = null_distribution.range_reached(model.layout.n_methods, 1 - null_distribution.CAUTION * error)
    known /= math.sqrt(2)
    critical = known + np.maximum(0.0, model.critical(error) - known) * (fewest + 1) / (fewest + m + 1)
    difference = np.abs(model.differences)[pairs][:, None]
    settled: Array = np.zeros_like(after)
    for factor in np.quantile(model.chance.variances, _CENTRES):
        # PRIOR and the runs so far say 1, m more runs say `factor`.
        seen = (PRIOR + fewest - 1 + factor * m) / (PRIOR + fewest - 1 + m)
        spread = np.maximum(np.sqrt(factor * (before - after)), 1e-300)
        half = critical * np.sqrt(seen * after)
        apart = ndtr((difference - half) / spread) + ndtr((-difference - half) / spread)
        room = np.maximum(0.0, margin - half)
        within = ndtr((room - difference) / spread) - ndtr((-room - difference) / spread)
        # Where half is below margin / 2 the two overlap; together they never exceed 1.
        settled += np.minimum(1.0, apart + np.maximum(0.0, within)) / len(_CENTRES)
    return settled
