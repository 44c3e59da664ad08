"""Is any method better than the one in use? The picked ones against one control, those that were dropped counted in.

Formula
    d_ib = y_ib - y_0b on unit b of n, mean over repeats;   t_i = mean_b d_ib / sqrt(var_b d_ib / n)
    law   the highest t_i where no method differs from the control, drawn `DRAWS` times as it was come by: of all that
          were tried the m highest are picked, then measured anew on the same units (`Picking`)
    c     from the law: the interval of method i against the control is mean d_i ± c sqrt(var d_i / n)
    p     from the same law: p <= error exactly where the interval leaves out 0
    The best of many is lucky on these units, and further repeats on them do not show it. Counted in like this, a method
    that is no better is called better in at most `error` of all studies, however many were tried.

Paper
    Dunnett, "A multiple comparison procedure for comparing several treatments with a control", 1955; Westfall and
    Young, "Resampling-based multiple testing", 1993, for the law of the highest statistic of what is correlated.

Departures from the paper
    Variances are not pooled: methods near the control differ from it far less than others do. `law.CAUTION` is kept.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import stdtr

from fairground.errors import require
from fairground.statistics.compare import compare_values, default_margin
from fairground.statistics.comparison import Comparison, Pair
from fairground.statistics.law import critical_value, p_values, t_statistics
from fairground.statistics.layout import Array
from fairground.statistics.runs import Runs
from fairground.statistics.verdicts import verdict_of

DRAWS = 6_000
#: numbers held in memory at a time
_BLOCK = 2_000_000


@dataclass(frozen=True, kw_only=True, eq=False)
class Picking:
    """How methods were picked: `tried` (units, tried) are differences from the control in the repeat that picked.

    They are drawn as N(0, S), S the covariance of `tried`, in two parts: what goes along with the mean of the picked
    ones, and the rest. Of the rest the share `kept` is of the units and comes back in other repeats; `noise` is the
    variance that the mean over other repeats has by itself. Without other repeats everything comes back.
    """

    tried: Array
    common: Array
    n_picked: int
    kept: float
    noise: float

    @classmethod
    def of(cls, tried: Array, repeats: Array) -> "Picking":
        """Return how methods were picked that have differences `repeats` (repeats, units, methods) by now."""
        n_repeats, n, n_picked = repeats.shape
        means = repeats.mean(axis=0)
        tried = tried - tried.mean(axis=0)
        direction = means.mean(axis=1) - means.mean()
        size = float((direction**2).sum())
        common = np.outer(direction, direction @ tried) / size if size > 0 else np.zeros_like(tried)
        rest = float(((tried - common) ** 2).sum()) / (max(1, n - 2) * tried.shape[1])
        if n_repeats == 1 or rest == 0:
            return cls(tried=tried, common=common, n_picked=n_picked, kept=1.0, noise=0.0)
        single = float(((repeats - means) ** 2).sum()) / ((n_repeats - 1) * n * n_picked)
        return cls(
            tried=tried,
            common=common,
            n_picked=n_picked,
            kept=max(0.0, 1 - single / rest),
            noise=single / n_repeats,
        )

    def highest(self) -> Array:
        """Return the law of the highest statistic, ascending."""
        n, k = self.tried.shape
        random = np.random.default_rng(18)
        step = max(1, min(DRAWS, _BLOCK // (n * max(n, k))))
        sizes = [min(step, DRAWS - begin) for begin in range(0, DRAWS, step)]
        return np.sort(np.concatenate([self._draw(size, random) for size in sizes]))

    def _draw(self, size: int, random: np.random.Generator) -> Array:
        n, k = self.tried.shape
        drawn = random.standard_normal((size, n, n)) / math.sqrt(n - 1)
        common, every = drawn @ self.common, drawn @ self.tried
        m = min(self.n_picked, k)
        picked = np.argpartition(-every.mean(axis=1), m - 1, axis=1)[:, None, :m]
        common, every = (np.take_along_axis(part, picked, axis=2) for part in (common, every))
        rest = (every - common) * self.kept
        spread = np.sqrt(self.kept * (1 - self.kept) * ((self.tried - self.common) ** 2).sum() / (max(1, n - 2) * k))
        again = common + rest + math.sqrt(spread**2 + self.noise) * random.standard_normal((size, n, m))
        highest: Array = _signed_statistics(again.mean(axis=1), standard_errors(again)).max(axis=1)
        return highest


def compare_with_control(
    values: Mapping[str, Sequence[Sequence[float]]],
    control: str,
    *,
    tried: Sequence[Sequence[float]] = (),
    error: float,
    higher_is_better: bool = True,
) -> Comparison:
    """Compare methods with a control by their values, repeat by repeat, on the same units: `{"A": [[0.31, 0.33]]}`.

    `tried` are the differences from the control of everything that was tried, in the repeat that picked these methods;
    without it, these are all. `error` is how often a method that is no better may be called better. Means, their
    intervals and the chances of being best are those of `compare_values`; the only pairs are those with the control.
    """
    require(control in values, f"no control '{control}' among {', '.join(values)}")
    tables = {name: np.asarray(repeats, dtype=np.float64) for name, repeats in values.items()}
    by_unit = {name: dict(enumerate(table.mean(axis=0))) for name, table in tables.items()}
    margin = default_margin(Runs.from_values(by_unit))
    base = compare_values(by_unit, margin=margin, higher_is_better=higher_is_better, is_planned=False)
    sign = 1.0 if higher_is_better else -1.0
    names = [name for name in tables if name != control]
    repeats = sign * np.stack([tables[name] - tables[control] for name in names], axis=2)
    means = repeats.mean(axis=0)
    every = sign * np.column_stack([np.asarray(one, dtype=np.float64) for one in tried]) if tried else means
    law = Picking.of(every, repeats).highest()
    found = _AgainstControl(
        control=control, differences=means, law=law, error=error, margin=margin, n_tried=every.shape[1], sign=sign
    )
    pairs = tuple(found.pair(name, place) for place, name in enumerate(names))
    beaten = {pair.b for pair in pairs if pair.verdict == "better"}
    methods = tuple(replace(one, is_among_best=one.name not in beaten) for one in base.methods)
    return replace(base, methods=methods, pairs=pairs)


@dataclass(frozen=True, kw_only=True, eq=False)
class _AgainstControl:
    control: str
    differences: Array
    law: Array
    error: float
    margin: float
    n_tried: int
    sign: float

    def pair(self, name: str, place: int) -> Pair:
        """Return the pair of a method and the control, whichever leads."""
        mean = float(self.differences[:, place].mean())
        deviation = float(standard_errors(self.differences)[place])
        half = critical_value(self.law, self.error) * deviation if deviation else 0.0
        ahead = abs(mean)
        statistic = t_statistics(np.array([ahead]), np.array([deviation]))
        n = len(self.differences)
        p = float(p_values(self.law, statistic)[0])
        p_alone = min(p, float(stdtr(n - 1, -statistic)[0]))
        verdict, reason = verdict_of(ahead, half, p_alone=p_alone, margin=self.margin, level=1 - self.error)
        ends = sorted((self.sign * (ahead - half), self.sign * (ahead + half)))
        a, b = (name, self.control) if mean > 0 else (self.control, name)
        return Pair(
            a=a,
            b=b,
            difference=self.sign * ahead,
            low=ends[0],
            high=ends[1],
            p=p,
            p_alone=p_alone,
            verdict=verdict,
            reason=reason,
            n_a=n,
            n_b=n,
            n_shared=n,
            more_seeds=None,
            n_pairs=self.n_tried,
            margin=self.margin,
            level=1 - 2 * self.error,
            higher_is_better=self.sign > 0,
            over="classes",
            n_classes=n,
        )


def standard_errors(differences: Array) -> Array:
    """Return the standard error of each mean difference; differences are (..., units, methods)."""
    found: Array = np.sqrt(differences.var(axis=-2, ddof=1) / differences.shape[-2])
    return found


def _signed_statistics(means: Array, errors: Array) -> Array:
    """Return mean / error; 0 where nothing varies."""
    return np.divide(means, errors, out=np.zeros_like(means), where=errors > 0)
