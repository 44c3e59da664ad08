"""How many more seeds would settle each pair, by the very test that left it open.

Formula
    With m more seeds for both methods the variance of their difference falls from V to
    V' = sum_i w_i v_i n_i / (n_i + m), and the difference seen then is normal around the one seen now with variance
    V - V'. It settles when its interval leaves out 0 or lies within the margin:
        P(|d'| > h') + P(|d'| < margin - h') >= POWER,   h' = c' sqrt(V')
    c' falls from c towards its value for known variances, the studentised range's, as (n + 1) / (n + m + 1).
    The variance itself is known only roughly: the probability is a mean over what it may be, true over estimated as
    among the draws of `reference`, and m more seeds bring its estimate nearer to the truth.

Paper
    Spiegelhalter, Freedman and Blackburn, "Monitoring clinical trials: conditional or predictive power?", 1986.

To be borne in mind
    The number is a plan, not evidence: looking again after every seed is what `sequential` corrects for.
"""

import math

import numpy as np
from numpy.typing import NDArray

from fairground.comparison.law import CAUTION
from fairground.comparison.layout import Array
from fairground.comparison.model import Model
from fairground.comparison.ranks import range_reached
from fairground.comparison.scatter import PRIOR

POWER = 0.8
#: nobody runs more seeds than this to tell two methods apart
REACH = 1000
#: the quantiles of what the variance may be over which the probability is a mean
_CENTRES = (np.arange(9) + 0.5) / 9
#: of this many pairs the numbers of seeds are tried in pieces, which for fewer would take longer than all at once
_MANY, _PIECES = 200, 12


def more_seeds(model: Model, *, error: float, margin: float) -> NDArray[np.int64]:
    """Return for each pair how many more seeds settle it in four of five cases; 0 for none within reach or needed."""
    size, half_width = np.abs(model.differences), model.critical(error) * model.pair_errors
    is_open = (size <= half_width) & (size + half_width >= margin)
    found = np.zeros(len(size), dtype=np.int64)
    if is_open.any():
        found[is_open] = _more_seeds(model, is_open, error=error, margin=margin)
    return found


def _more_seeds(model: Model, some: NDArray[np.bool_], *, error: float, margin: float) -> NDArray[np.int64]:
    pairs = np.flatnonzero(some)
    found = np.zeros(len(pairs), dtype=np.int64)
    left = np.arange(len(pairs))
    # A few steps at a time: most pairs are settled by the first, and need not be asked about the others.
    for m in np.array_split(_steps(), 1 if len(pairs) < _MANY else _PIECES):
        if not len(left):
            break
        reached = _chances(model, pairs[left], m, error=error, margin=margin) >= POWER
        is_reached = reached.any(axis=1)
        found[left[is_reached]] = m[reached[is_reached].argmax(axis=1)]
        left = left[~is_reached]
    return found


def _chances(model: Model, pairs: NDArray[np.int64], m: NDArray[np.int64], *, error: float, margin: float) -> Array:
    """Return how probably each of some pairs is settled by each number of further seeds, (pairs, numbers)."""
    counts = model.layout.has_run.sum(axis=1)
    a, b = (one[pairs] for one in model.layout.pairs)
    before = model.pair_errors[pairs][:, None] ** 2
    after = before * _shrink(counts, a, b, m)
    fewest = np.minimum(counts[a], counts[b])[:, None]
    known = range_reached(model.layout.n_methods, 1 - CAUTION * error) / math.sqrt(2)
    critical = known + np.maximum(0.0, model.critical(error) - known) * (fewest + 1) / (fewest + m + 1)
    difference = np.abs(model.differences)[pairs][:, None]
    settled = np.zeros_like(after)
    for factor in np.quantile(model.reference.variances, _CENTRES):
        # PRIOR and the runs so far say 1, m more runs say `factor`.
        seen = (PRIOR + fewest - 1 + factor * m) / (PRIOR + fewest - 1 + m)
        spread, half = np.sqrt(factor * (before - after)), critical * np.sqrt(seen * after)
        settled += _settles(difference, spread, half, margin) / len(_CENTRES)
    return settled


def _steps() -> NDArray[np.int64]:
    """Return numbers of seeds to try: each up to a hundred, then one in twenty."""
    further = np.unique(np.geomspace(100, REACH, 50).round().astype(np.int64))
    return np.union1d(np.arange(1, 100), further)


def _shrink(counts: NDArray[np.int64], a: NDArray[np.int64], b: NDArray[np.int64], m: NDArray[np.int64]) -> Array:
    """Return V' / V for equal variances of the two."""
    now = 1 / counts[a] + 1 / counts[b]
    then = 1 / (counts[a][:, None] + m) + 1 / (counts[b][:, None] + m)
    found: Array = then / now[:, None]
    return found


def _settles(difference: Array, spread: Array, half: Array, margin: float) -> Array:
    from scipy.special import ndtr

    spread = np.maximum(spread, 1e-300)
    apart = ndtr((difference - half) / spread) + ndtr((-difference - half) / spread)
    room = np.maximum(0.0, margin - half)
    within = ndtr((room - difference) / spread) - ndtr((-room - difference) / spread)
    # Where half is below margin / 2 the two overlap; together they never exceed 1.
    found: Array = np.minimum(1.0, apart + np.maximum(0.0, within))
    return found
