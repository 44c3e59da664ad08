"""Two kinds of generality, kept apart: other trainings, other test classes, and both together.

Formula
    x_isc the mean over the queries of class c, run of method i on seed s; w_c the weight of class c, sum_c w_c = 1
    seeds     sum_c w_c x_isc compared over seeds, with these test classes (`compare_values`)
    classes   x_i.c over seeds, compared over classes, with these trainings:
              cov(mu_a, mu_b) = C / (C - 1) sum_c w_c^2 (x_a.c - mu_a)(x_b.c - mu_b)
    both      as follows, and never a shorter interval or smaller p than over seeds or classes alone
              var = V_seeds + V_classes - V_rest, at least the larger of the first two; V_rest, the part of seeds and
              classes crossed, is in both of the first: sum_c w_c^2 var_s(d_sc - d_s.) / S
    All intervals of a kind hold simultaneously: c is the quantile of the highest |difference| / error over draws of
    both, from Student's t with C - 1 degrees of freedom for classes and from `null_distribution` for seeds.

Paper
    Liang and Zeger, "Longitudinal data analysis using generalized linear models", Biometrika 1986, for classes as
    clusters. Cameron, Gelbach and Miller, "Robust inference with multiway clustering", 2011, and Owen, "The pigeonhole
    bootstrap", 2007, for V_seeds + V_classes - V_rest. Hothorn, Bretz and Westfall, "Simultaneous inference in general
    parametric models", 2008, for c.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from fairground.comparison import LEVEL, Array, Comparison, Findings, GeneralityKind, Model, Runs, compare_values
from fairground.comparison.null_distribution import DRAWS, critical_value, p_values, shares_of_best, t_statistics

#: each method's mean over the queries of every class, by seed
PerClass = Mapping[str, Mapping[Any, Sequence[float] | Array]]


@dataclass(frozen=True, kw_only=True)
class Generality:
    """The same methods compared over `seeds`, over `classes`, and over `both`, which is the headline."""

    seeds: Comparison
    classes: Comparison
    both: Comparison
    n_classes: int

    def over(self, kind: GeneralityKind) -> Comparison:
        return {"seeds": self.seeds, "classes": self.classes, "both": self.both}[kind]


def generality_of(
    per_class: PerClass,
    *,
    weights: Sequence[float] | Array | None = None,
    level: float = LEVEL,
    margin: float | None = None,
    higher_is_better: bool = True,
) -> Generality:
    """Compare over seeds, over classes and over both; `weights` counts the queries of each class, by default equal."""
    table = {name: {seed: np.asarray(x, dtype=float) for seed, x in by.items()} for name, by in per_class.items()}
    n_classes = len(next(iter(table[next(iter(table))].values())))
    w = np.ones(n_classes) if weights is None else np.asarray(weights, dtype=float)
    w = w / w.sum()
    runs = Runs.from_values({name: {seed: float(x @ w) for seed, x in by.items()} for name, by in table.items()})
    margin = compare_values.default_margin(runs) if margin is None else margin
    compare_values.check_settings(level, margin)
    asked: Any = {"level": level, "margin": margin, "higher_is_better": higher_is_better}
    seeds = compare_values.compare_runs(runs, error=1 - level, **asked)
    model = compare_values.fit(runs, higher_is_better=higher_is_better)
    assert model is not None
    values = [table[name] for name in model.names]
    means = np.array([np.mean(list(by.values()), axis=0) for by in values])
    deviations = (means - (means @ w)[:, None]) * w
    covariance = np.asarray(len(w) / (len(w) - 1) * deviations @ deviations.T)
    own, (a, b) = np.diag(covariance), model.layout.pairs
    squares, of_seeds = np.maximum(0.0, own[a] + own[b] - 2 * covariance[a, b]), model.pair_errors**2
    rest = np.minimum(_rest(values, w), np.minimum(squares, of_seeds))
    left = np.divide(squares - rest, squares, out=np.zeros_like(squares), where=squares > 0)
    random = np.random.default_rng(17)
    sizes, vectors = np.linalg.eigh(covariance)
    z = random.standard_normal((DRAWS, len(sizes))) / np.sqrt(
        random.chisquare(n_classes - 1, (DRAWS, 1)) / (n_classes - 1)
    )
    errors, nothing = np.asarray((z * np.sqrt(np.maximum(sizes, 0.0))) @ vectors.T), np.zeros((DRAWS, len(values)))
    over_classes = _findings(model, squares, errors, np.ones_like(squares), (nothing, nothing), level)
    both = of_seeds + squares - rest
    over_both = _findings(model, both, errors, left, (model.errors, model.mean_errors), level)
    # Never surer than over seeds or classes alone: lighter tails could make it so.
    halves = model.critical(1 - level) * model.pair_errors
    over_both = replace(
        over_both,
        half_widths=np.maximum.reduce([over_both.half_widths, over_classes.half_widths, halves]),
        p=np.maximum.reduce([over_both.p, over_classes.p, model.p_values()]),
        p_alone=np.maximum.reduce([over_both.p_alone, over_classes.p_alone, model.p_values(is_alone=True)]),
    )

    def over(kind: GeneralityKind, findings: Findings) -> Comparison:
        found = compare_values.conclude(runs, findings, **asked)
        return replace(found, pairs=tuple(replace(pair, over=kind, n_classes=n_classes) for pair in found.pairs))

    return Generality(
        seeds=seeds, classes=over("classes", over_classes), both=over("both", over_both), n_classes=n_classes
    )


def _rest(values: Sequence[Mapping[Any, Array]], weights: Array) -> Array:
    """Return V_rest of each pair, from the seeds its methods share; 0, which is wider, for fewer than two."""
    found = []
    for one, other in combinations(values, 2):
        d = np.array([one[seed] - other[seed] for seed in one if seed in other])
        crossed = d - (d @ weights)[:, None] if len(d) > 1 else np.zeros((2, len(weights)))
        found.append(float(weights**2 @ crossed.var(axis=0, ddof=1)) / len(crossed))
    return np.array(found)


def _findings(
    model: Model, squares: Array, errors: Array, left: Array, of_seeds: tuple[Array, Array], level: float
) -> Findings:
    """Return findings where pairs differ with variance `squares`.

    `left` is the share of the variance over classes that seeds do not hold already, `of_seeds` the errors of means
    that come from seeds: compared with one another, and of each by itself.
    """
    seeds, own_seeds = of_seeds
    a, b = model.layout.pairs
    highest, alone, sizes = np.zeros(DRAWS), np.zeros(DRAWS), np.sqrt(squares)
    for i in np.flatnonzero(sizes > 0):
        moved = np.sqrt(left[i]) * (errors[:, a[i]] - errors[:, b[i]])
        t = np.abs(seeds[:, a[i]] - seeds[:, b[i]] + moved) / sizes[i]
        highest = np.maximum(highest, t)
        alone[i :: len(a)] = t[i :: len(a)]
    statistics = t_statistics(model.differences, sizes)
    highest = np.sort(highest)
    return Findings(
        names=model.names,
        means=model.means,
        half_widths=critical_value(highest, 1 - level) * sizes,
        p=p_values(highest, statistics),
        p_alone=p_values(np.sort(alone), statistics),
        mean_half_widths=np.quantile(np.abs(own_seeds + errors), level, axis=0),
        probabilities=shares_of_best(model.means + seeds + errors),
    )
