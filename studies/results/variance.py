"""Where the variance of a table of losses comes from: what two tables share, step by step.

Formula
    c(same ...) = mean covariance over losses of two columns of scores that have these in common, and nothing else
    loss            c(neither data set, split, settings nor seed)
    loss × data set c(same data set) - the above
    loss × split    c(same data set and split) - c(same data set)
    loss × search   c(same data set, split and settings) - the above
    seed            variance of a column - the above

A column is one table of losses: one split, one search (or kind of settings) and one seed. The share of the loss is the
correlation to expect of two tables that have only their losses in common. Of a balanced design these are the estimates
of an analysis of variance. None is below 0. Intervals leave out one loss at a time: a jackknife of log odds.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import sqrt

import numpy as np
from scipy import stats

NAMES = ("loss", "loss × data set", "loss × split", "loss × search", "seed")
#: added to both odds, so that a share of 0 has some
OFFSET = 0.02


@dataclass(frozen=True, kw_only=True)
class Share:
    """The share of one component in the variance between the rows of a table, with its interval."""

    value: float
    low: float
    high: float


def components(sets: Sequence[np.ndarray]) -> np.ndarray:
    """Return the variances of `NAMES` of data sets, each scores (losses, splits, settings, seeds) of the same losses.

    Of one data set, what losses have on it alone counts as the loss, and so does what they have on one split alone; of
    several sets with one split each, that counts as the data set. Of one kind of settings, there is no search.
    """
    steps = np.mean([_shared(scores) for scores in sets], axis=0)
    common = steps[0] if len(sets) == 1 else _between(sets)
    return np.maximum(0.0, np.diff([0.0, common, *steps]))


def shares(sets: Sequence[np.ndarray], *, level: float = 0.95) -> dict[str, Share]:
    """Return the share of every component with its interval over losses."""
    n = len(sets[0])
    rests = [_share([np.delete(scores, row, axis=0) for scores in sets]) for row in range(n)]
    value, others = _log_odds(_share(sets)), _log_odds(np.array(rests))
    error = (n - 1) / sqrt(n) * others.std(axis=0, ddof=1)
    width = stats.t.ppf((1 + level) / 2, n - 1) * error
    low, high, share = _from_log_odds(value - width), _from_log_odds(value + width), _share(sets)
    return {
        name: Share(value=float(share[place]), low=float(low[place]), high=float(high[place]))
        for place, name in enumerate(NAMES)
    }


def _shared(scores: np.ndarray) -> list[float]:
    """Return the covariances of columns of one data set: sharing nothing else, the split, settings too, everything."""
    n_losses, n_splits, n_settings, n_seeds = scores.shape
    covariances = np.cov(scores.reshape(n_losses, -1), rowvar=False)
    split, settings, seed = np.indices((n_splits, n_settings, n_seeds)).reshape(3, -1)
    same = [index[:, np.newaxis] == index for index in (split, settings, seed)]
    everything, of_run = same[0] & same[1] & same[2], same[0] & same[1] & ~same[2]
    steps = [covariances[of_run].mean(), covariances[everything].mean()]
    if n_settings == n_splits == 1:
        return [steps[0], steps[0], *steps]
    if n_settings == 1:
        return [covariances[~same[0]].mean(), steps[0], *steps]
    if n_splits == 1:
        return [*2 * [covariances[~same[1]].mean()], *steps]
    return [covariances[~same[0] & ~same[1]].mean(), covariances[same[0] & ~same[1]].mean(), *steps]


def _between(sets: Sequence[np.ndarray]) -> float:
    """Return the mean covariance of columns of two data sets, over losses.

    Searches of one number try the same settings on every set, so that columns with different ones are compared.
    """
    centred = [scores.mean(axis=(1, 3)) - scores.mean(axis=(0, 1, 3)) for scores in sets]
    found = []
    for one, other in combinations(centred, 2):
        covariances = one.T @ other / (len(one) - 1)
        differ = ~np.eye(len(covariances), dtype=bool)
        found.append(covariances[differ].mean() if differ.any() else covariances.mean())
    return float(np.mean(found))


def _share(sets: Sequence[np.ndarray]) -> np.ndarray:
    found = components(sets)
    return found / found.sum()


def _log_odds(share: np.ndarray) -> np.ndarray:
    return np.log((share + OFFSET) / (1 - share + OFFSET))


def _from_log_odds(value: np.ndarray) -> np.ndarray:
    odds = np.exp(value)
    return np.clip((odds * (1 + OFFSET) - OFFSET) / (1 + odds), 0, 1)
