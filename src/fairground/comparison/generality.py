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
from typing import Any

import numpy as np

from fairground.comparison import compare_values
from fairground.comparison.compare_values import Findings, Model
from fairground.comparison.comparison_result import LEVEL, Comparison, GeneralityKind
from fairground.comparison.null_distribution import DRAWS, critical_value, p_values, shares_of_best, t_statistics
from fairground.comparison.paired_table import Array
from fairground.comparison.run_scores import Runs
from fairground.errors import require

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
    """Compare over seeds, over classes and over both; `weights` counts the queries of each class, by default equal.

    Methods with one run are listed and never called better.
    """
    table, w = _checked(per_class, weights)
    runs = Runs.from_values({name: {seed: float(x @ w) for seed, x in by.items()} for name, by in table.items()})
    margin = compare_values.default_margin(runs) if margin is None else margin
    compare_values.check_settings(level, margin)
    asked: Any = {"level": level, "margin": margin, "higher_is_better": higher_is_better}
    seeds = compare_values.compare_runs(runs, error=1 - level, **asked)
    model = compare_values.fit(runs, higher_is_better=higher_is_better)
    assert model is not None
    part = _ClassPart(model, [table[name] for name in model.names], w)
    over_classes, over_both = part.alone(level), part.with_seeds(level)
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
        return replace(found, pairs=tuple(replace(pair, over=kind, n_classes=len(w)) for pair in found.pairs))

    classes, both = over("classes", over_classes), over("both", over_both)
    return Generality(seeds=seeds, classes=classes, both=both, n_classes=len(w))


def _checked(per_class: PerClass, weights: Sequence[float] | Array | None) -> tuple[dict[str, dict[Any, Array]], Array]:
    table = {name: {seed: np.asarray(x, dtype=float) for seed, x in by.items()} for name, by in per_class.items()}
    require(len(table) > 0, "there is nothing to compare: no method was given")
    most = max((len(by) for by in table.values()), default=0)
    require(most >= 2, f"generality over seeds needs at least 2 runs of a method; got {most}")
    sizes = {x.shape for by in table.values() for x in by.values()}
    require(len(sizes) == 1, f"every run needs a mean for the same classes; got {sorted(sizes)}")
    (size,) = sizes
    require(len(size) == 1 and size[0] >= 2, f"generality over classes needs at least 2 of them; got {size}")
    w = np.ones(size[0]) if weights is None else np.asarray(weights, dtype=float)
    require(
        w.shape == size and bool((w >= 0).all()) and w.sum() > 0,
        f"weights must be one count of 0 or more for each of {size[0]} classes; got {w.tolist()[:5]}",
    )
    return table, w / w.sum()


class _ClassPart:
    """What the choice of classes adds to a model over seeds; methods are in the order of the model."""

    def __init__(self, model: Model, table: Sequence[Mapping[Any, Array]], weights: Array) -> None:
        self.model, self.table, self.weights = model, table, weights
        n = len(weights)
        means = np.array([np.mean(list(by.values()), axis=0) for by in table])
        deviations = (means - (means @ weights)[:, None]) * weights
        covariance = n / (n - 1) * deviations @ deviations.T
        own = np.diag(covariance)
        a, b = model.layout.pairs
        #: the variance of each pair's difference over classes
        self.squares: Array = np.maximum(0.0, own[a] + own[b] - 2 * covariance[a, b])
        random = np.random.default_rng(17)
        sizes, vectors = np.linalg.eigh(covariance)
        z = random.standard_normal((DRAWS, len(sizes))) / np.sqrt(random.chisquare(n - 1, (DRAWS, 1)) / (n - 1))
        #: errors of means that come from the choice of classes, (draws, methods)
        self.errors: Array = (z * np.sqrt(np.maximum(sizes, 0.0))) @ vectors.T

    def alone(self, level: float) -> Findings:
        """Return the findings over classes, with these trainings."""
        nothing = np.zeros_like(self.errors)
        return self._findings(self.squares, nothing, nothing, np.ones_like(self.squares), level)

    def with_seeds(self, level: float) -> Findings:
        """Return the findings over seeds and classes together."""
        seeds = self.model.pair_errors**2
        rest = np.minimum(self._rest(), np.minimum(self.squares, seeds))
        left = np.divide(self.squares - rest, self.squares, out=np.zeros_like(seeds), where=self.squares > 0)
        return self._findings(seeds + self.squares - rest, self.model.errors, self.model.mean_errors, left, level)

    def _rest(self) -> Array:
        """Return V_rest of each pair, from the seeds its methods share; 0, which is wider, for fewer than two."""
        found = []
        for a, b in np.transpose(self.model.layout.pairs).tolist():
            shared = [seed for seed in self.table[a] if seed in self.table[b]]
            if len(shared) < 2:
                found.append(0.0)
                continue
            d = np.array([self.table[a][seed] - self.table[b][seed] for seed in shared])
            crossed = d - (d @ self.weights)[:, None]
            found.append(float(self.weights**2 @ crossed.var(axis=0, ddof=1)) / len(shared))
        return np.array(found)

    def _findings(self, squares: Array, seeds: Array, own_seeds: Array, left: Array, level: float) -> Findings:
        """`left` is the share of the variance over classes that seeds do not hold already."""
        model, errors = self.model, np.sqrt(squares)
        a, b = model.layout.pairs
        highest, alone = np.zeros(DRAWS), np.zeros(DRAWS)
        for i in np.flatnonzero(errors > 0):
            moved = np.sqrt(left[i]) * (self.errors[:, a[i]] - self.errors[:, b[i]])
            t = np.abs(seeds[:, a[i]] - seeds[:, b[i]] + moved) / errors[i]
            highest = np.maximum(highest, t)
            alone[i :: len(a)] = t[i :: len(a)]
        statistics = t_statistics(model.differences, errors)
        highest = np.sort(highest)
        return Findings(
            names=model.names,
            means=model.means,
            half_widths=critical_value(highest, 1 - level) * errors,
            p=p_values(highest, statistics),
            p_alone=p_values(np.sort(alone), statistics),
            mean_half_widths=np.quantile(np.abs(own_seeds + self.errors), level, axis=0),
            probabilities=shares_of_best(model.means + seeds + self.errors),
        )
