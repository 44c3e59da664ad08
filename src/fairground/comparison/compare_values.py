"""Is A better than B? Values per method and seed in, a verdict on every pair out, all read from one model.

Formula
    pair     mu^_a - mu^_b ± c sqrt(its variance), means of `paired_table`, variances of `pooled_variance`; c from the
             highest statistic among equal methods (`null_distribution`): all intervals of a study hold simultaneously
    p        from the same draws: p <= 1 - level exactly where the interval leaves out 0
    mean     mu^_i ± the `level` quantile of |its own error + what all methods of its seeds share|
    P(best)  share of draws in which mu^_i + error_i is the highest, ties shared

Paper
    Tukey, "The problem of multiple comparisons", 1953.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Literal

import numpy as np

from fairground.comparison import Runs, Scatter, Values, more_seeds, null_distribution, require, scatter_of
from fairground.comparison.comparison_result import LEVEL, Comparison, Estimate, Pair, Reason, Verdict
from fairground.comparison.null_distribution import NullDistribution, critical_value, shares_of_best
from fairground.comparison.paired_table import Array, Layout, MeanWeights, layout_of

#: what is asked of pairs
PairsAsked = Literal["planned", "compared", "none"]


def compare_values(
    values: Values,
    *,
    level: float = LEVEL,
    margin: float | None = None,
    higher_is_better: bool = True,
    pairs: PairsAsked = "planned",
) -> Comparison:
    """Compare methods by their values per seed: `{"A": {0: 0.31, 1: 0.33}, "B": {...}}`.

    A value may itself be a mapping of folds, which are averaged. Runs may be missing; methods with one run are listed
    and never called better. `margin` is the difference that does not matter, in the unit of the values: by default half
    a point, which is 0.005 where every value is in [-1, 1] and 0.5 otherwise. `pairs` are compared and planned, how
    many more seeds would settle each; or compared only; or, as hundreds of methods have many, left out.
    """
    runs = Runs.from_values(values)
    margin = default_margin(runs) if margin is None else margin
    check_settings(level, margin)
    return compare_runs(
        runs, error=1 - level, level=level, margin=margin, higher_is_better=higher_is_better, pairs=pairs
    )


def default_margin(runs: Runs) -> float:
    """Return half a point in the unit of the values: shares of 1, or per cent."""
    return 0.005 if float(np.nanmax(np.abs(runs.table))) <= 1 else 0.5


def check_settings(level: float, margin: float) -> None:
    require(0.5 <= level <= 0.999, f"level must be between 0.5 and 0.999; got {level}")
    require(margin >= 0, f"margin must be 0 or more, in the unit of the values; got {margin}")


def compare_runs(
    runs: Runs, *, error: float, level: float, margin: float, higher_is_better: bool, pairs: PairsAsked = "planned"
) -> Comparison:
    """Compare with error rate `error` for the intervals of pairs; `level` is that of single means."""
    model = fit(runs, higher_is_better=higher_is_better)
    findings = None
    if model is not None:
        findings = Findings(
            names=model.names,
            means=model.means,
            half_widths=model.critical(error) * model.pair_errors,
            p=model.p_values(),
            p_alone=model.p_values(is_alone=True),
            mean_half_widths=np.quantile(np.abs(model.mean_errors), level, axis=0),
            probabilities=shares_of_best(model.means + model.errors),
            more_seeds=more_seeds(model, error, margin) if pairs == "planned" else None,
        )
    has_pairs = pairs != "none"
    return conclude(runs, findings, level=level, margin=margin, higher_is_better=higher_is_better, has_pairs=has_pairs)


@dataclass(frozen=True, kw_only=True, eq=False)
class Model:
    """One comparison fitted; methods with fewer than two runs are not part of it. Higher values are better."""

    names: tuple[str, ...]
    layout: Layout
    weights: MeanWeights
    means: Array
    scatter: Scatter
    chance: NullDistribution

    @cached_property
    def differences(self) -> Array:
        a, b = self.layout.pairs
        return np.asarray(self.means[a] - self.means[b])

    @cached_property
    def pair_errors(self) -> Array:
        return np.sqrt(self.weights.pair_variances(self.scatter.own, self.scatter.seeds))

    def critical(self, error: float) -> float:
        """Return c: t_ab above it is separated, in at most `error` of all studies of equal methods."""
        return critical_value(self.chance.highest, error)

    def p_values(self, *, is_alone: bool = False) -> Array:
        """Return each pair's p, corrected for all pairs or as if it were the only one."""
        draws = self.chance.alone if is_alone else self.chance.highest
        return null_distribution.p_values(draws, null_distribution.t_statistics(self.differences, self.pair_errors))

    @cached_property
    def errors(self) -> Array:
        """How far each mean may be from the truth, but for what all blocked methods share, (draws, methods)."""
        weights, scatter = self.weights, self.scatter
        squares = weights.own_weights @ scatter.own + weights.own_seed_weight * scatter.seeds
        return np.asarray(self.chance.errors * np.sqrt(squares))

    @cached_property
    def mean_errors(self) -> Array:
        """How far each mean by itself may be from the truth, (draws, methods)."""
        blocked, errors = self.layout.is_blocked, self.errors
        if not blocked.any():
            return errors
        shared = math.sqrt(float(self.scatter.seeds) * float((self.weights.seed_mean**2).sum()))
        centred = errors - errors[:, blocked].mean(axis=1, keepdims=True) + shared * self.chance.common[:, None]
        return np.where(blocked, centred, errors)


def fit(runs: Runs, *, higher_is_better: bool) -> Model | None:
    """Fit the model to the methods with at least two runs, higher being better; None where there is none."""
    oriented = runs if higher_is_better else replace(runs, table=-runs.table)
    averages, counts = oriented.averages, oriented.counts
    # Sorted, so that results are bit-identical in whatever order runs are given.
    ordered = sorted(np.flatnonzero(counts >= 2), key=lambda i: (-counts[i], -averages[i], runs.names[i]))
    if not ordered:
        return None
    chosen = oriented.select(np.array(ordered, dtype=np.int64))
    layout = layout_of(chosen.has_run)
    y = chosen.table[layout.cells]
    # Centred, so that the residuals keep their digits.
    scatter = scatter_of(layout, y - y.mean())
    weights = layout.choices[int(layout.choose(scatter.ratio))]
    chance = null_distribution.null_distribution_of(layout, int(layout.choose(scatter.ratio + 1 / layout.block_weight)))
    if float(scatter.pooled) <= (4 * np.finfo(float).eps * float(np.abs(y).max())) ** 2:
        # Nothing but rounding: the runs do not scatter at all.
        scatter = scatter._replace(own=np.zeros_like(scatter.own))
    means = chosen.averages if weights.ratio == 0 else weights.weights @ y
    return Model(names=chosen.names, layout=layout, weights=weights, means=means, scatter=scatter, chance=chance)


@dataclass(frozen=True, kw_only=True, eq=False)
class Findings:
    """What a model finds for `names`, higher being better: of pairs, in the order of `triu_indices`, and of means."""

    names: tuple[str, ...]
    means: Array
    half_widths: Array
    p: Array
    p_alone: Array
    mean_half_widths: Array
    probabilities: Array
    more_seeds: np.ndarray | None = None


def conclude(
    runs: Runs,
    findings: Findings | None,
    *,
    level: float,
    margin: float,
    higher_is_better: bool,
    has_pairs: bool = True,
) -> Comparison:
    """Return the comparison of all methods of `runs`; those without findings have a mean and nothing else."""
    sign = 1.0 if higher_is_better else -1.0
    # Plain numbers: of 200 methods there are 19,900 pairs, and picking single numbers out of an array is slow.
    averages, counts = runs.averages.tolist(), runs.counts.tolist()
    has_run = runs.has_run.astype(np.float64)
    n_shared = (has_run @ has_run.T).astype(np.int64).tolist()
    means = dict(zip(runs.names, [sign * average for average in averages], strict=True))
    halves: dict[str, float] = {}
    chances: dict[str, float] = {}
    known: dict[tuple[str, str], tuple[float | None, float, float, int]] = {}
    if findings is not None:
        names = findings.names
        means |= zip(names, findings.means.tolist(), strict=True)
        halves |= zip(names, findings.mean_half_widths.tolist(), strict=True)
        # Among some methods only, none can be called the best of all.
        if len(names) == len(runs.names):
            chances |= zip(names, findings.probabilities.tolist(), strict=True)
        needed = np.zeros(len(findings.p), dtype=np.int64) if findings.more_seeds is None else findings.more_seeds
        columns = findings.half_widths, findings.p, np.minimum(findings.p, findings.p_alone), needed
        rows = zip(*(column.tolist() for column in columns), strict=True)
        known = dict(zip(combinations(names, 2), rows, strict=True))
    order = sorted(range(len(counts)), key=lambda i: (-means[runs.names[i]], runs.names[i]))
    pairs = []
    for i, j in combinations(order, 2) if has_pairs else ():
        one, other = runs.names[i], runs.names[j]
        ahead = means[one] - means[other]
        low: float | None = None
        high: float | None = None
        verdict: Verdict = "unsettled"
        reason: Reason = "too few runs"
        half, p, p_alone, more = known.get((one, other)) or known.get((other, one)) or (None, 1.0, 1.0, 0)
        if half is not None:
            low, high = sorted((sign * (ahead - half), sign * (ahead + half)))
            reason = "separated alone" if p_alone <= 1 - level else "interval holds 0"
            if ahead - half > 0:
                verdict, reason = "better", "interval leaves out 0"
            elif ahead + half < margin and half - ahead < margin:
                verdict, reason = "equivalent", "within margin"
        pairs.append(
            Pair(
                a=one,
                b=other,
                difference=sign * ahead,
                low=low,
                high=high,
                p=p,
                p_alone=p_alone,
                verdict=verdict,
                reason=reason,
                n_a=counts[i],
                n_b=counts[j],
                n_shared=n_shared[i][j],
                more_seeds=more if verdict == "unsettled" and more else None,
                n_pairs=len(known),
                margin=margin,
                level=level,
                higher_is_better=higher_is_better,
            )
        )
    beaten = {pair.b for pair in pairs if pair.verdict == "better"}
    methods = []
    for i in order:
        name = runs.names[i]
        mean, half = sign * means[name], halves.get(name)
        methods.append(
            Estimate(
                name=name,
                mean=mean,
                average=averages[i],
                low=None if half is None else mean - half,
                high=None if half is None else mean + half,
                n=counts[i],
                probability_best=chances.get(name),
                is_among_best=name not in beaten,
            )
        )
    return Comparison(
        methods=tuple(methods), pairs=tuple(pairs), level=level, margin=margin, higher_is_better=higher_is_better
    )
