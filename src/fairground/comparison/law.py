"""Critical values and p-values from draws of what chance alone would show.

Formula
    `level` allows errors in 1 - level of all studies, of which CAUTION is spent.
    p = (1 + number of draws that reach t) / (1 + number of draws) / CAUTION
    c = the highest value that more draws reach than the error allows:  t > c exactly where p <= error

Paper
    Phipson and Smyth, "Permutation p-values should never be zero", 2010.
"""

import math

import numpy as np

from fairground.comparison.layout import Array

#: how much of the stated rate of errors is spent; the rest is kept for scores that do not scatter like a bell curve
CAUTION = 0.85


def critical_value(law: Array, error: float) -> float:
    """Return c; `law` ascends."""
    n_allowed = math.floor(CAUTION * error * (1 + len(law)) - 1 + 1e-9)
    return float(law[-1 - n_allowed]) if n_allowed >= 0 else math.inf


def p_values(law: Array, statistics: Array) -> Array:
    """Return the p of each statistic; `law` ascends."""
    reached = len(law) - np.searchsorted(law, statistics, side="left")
    return np.minimum(1.0, (1 + reached) / (1 + len(law)) / CAUTION)


def t_statistics(differences: Array, errors: Array) -> Array:
    """Return |difference| / error; a difference without any scatter is certain."""
    size = np.abs(differences)
    return np.divide(size, errors, out=np.where(size > 0, math.inf, 0.0), where=errors > 0)


def shares_of_best(draws: Array) -> Array:
    """Return in what share of draws each column is the highest; ties share."""
    winners = draws == draws.max(axis=1, keepdims=True)
    found: Array = (winners / winners.sum(axis=1, keepdims=True)).mean(axis=0)
    return found
