"""Which method was run on which seed, as the algebra a comparison needs: means, residuals, weights and variances.

Formula
    y_is = mu_i + b_s + e_is, e_is with variance sigma_i^2; b_s is what seed s does to every method that shares it
    A method is blocked when at least two of its seeds are shared with other blocked methods; only blocked methods have
    b_s. A method that shares no seeds is free: the effect of its seeds is part of its scatter.
    means      mu^ = W y, generalised least squares with var(b) / var(e) = ratio, rounded to the nearest of `RATIOS`.
               On the same seeds these are plain means.
    residuals  of the least-squares fit with a fixed effect for each method and each seed;
               Q_i their sum of squares over the runs of method i, d_i its expectation where all sigma_i = 1
    variances  s_0^2 = sum_i Q_i / sum_i d_i;   v_i = (PRIOR s_0^2 + Q_i) / (PRIOR + d_i)
               Three runs know their variance up to a factor of 40, the runs of all methods far better.
    blocks     MS_b the mean square of seeds adjusted for methods:  E MS_b = sigma^2 + k_0 var(b);
               var(b) is estimated as MS_b / k_0, which is never too small on average
    complete   k methods on the same s seeds: plain means, residuals centred over methods and over seeds,
               d_i = (s - 1) (k - 1) / k and k_0 = k. Nothing grows with the square of the runs.

Paper
    Henderson, "Estimation of variance and covariance components", Biometrics 1953, method III, for MS_b and k_0.
    Smyth, "Linear models and empirical Bayes methods for assessing differential expression in microarray experiments",
    2004, section 3 (moderated t), for v_i.

Departures from the paper
    PRIOR is fixed. Smyth estimates it from the spread of the variances; four methods of three runs hardly determine it,
    and where the spread looks small by chance the test would trust the pooled variance too much. In simulations a fixed
    value separates more methods at the same error rate. Eight stands for: sigma_i within a factor of 1.7 of each other
    in two of three methods.
"""

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

#: the values of var(b) / var(e) that means are taken for
RATIOS = (0.0, 0.25, 1.0, 4.0, 16.0, 64.0)
#: degrees of freedom that the variance of all methods counts for
PRIOR = 8.0
#: where one value becomes the next
_BOUNDS = (0.1, 0.5, 2.0, 8.0, 32.0)


@dataclass(frozen=True, kw_only=True, eq=False)
class Layout:
    """`has_run` (methods, seeds) has at least two runs in every row; `ratio` is var(b) / var(e)."""

    has_run: Mask
    ratio: float = 0.0

    @property
    def n_methods(self) -> int:
        return int(self.has_run.shape[0])

    @cached_property
    def is_complete(self) -> bool:
        """Whether at least two methods were all run on the same seeds."""
        return self.n_methods > 1 and bool(self.has_run.all())

    @cached_property
    def is_blocked(self) -> Mask:
        """Which methods share at least two seeds with others that do."""
        kept: Mask = np.ones(self.n_methods, dtype=bool)
        while True:
            is_shared = self.has_run[kept].sum(axis=0) >= 2
            found: Mask = kept & (self.has_run[:, is_shared].sum(axis=1) >= 2)
            if (found == kept).all():
                return found
            kept = found

    @cached_property
    def cells(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        rows, columns = np.nonzero(self.has_run)
        return rows, columns

    @cached_property
    def methods(self) -> Array:
        """Which run belongs to which method, (runs, methods)."""
        return np.eye(self.n_methods)[self.cells[0]]

    @cached_property
    def seeds(self) -> Array:
        """Which run of a blocked method belongs to which seed, (runs, seeds)."""
        rows, columns = self.cells
        found: Array = np.eye(self.has_run.shape[1])[columns] * self.is_blocked[rows][:, None]
        return found

    @cached_property
    def block_basis(self) -> Array:
        """Orthonormal columns that span seeds once methods are taken out, (runs, freedom of seeds)."""
        counts = self.methods.sum(axis=0)
        within = self.seeds - self.methods @ (self.methods.T @ self.seeds / counts[:, None])
        u, sizes, _ = np.linalg.svd(within, full_matrices=False)
        return u[:, sizes > 1e-9 * max(1.0, float(sizes.max(initial=0.0)))]

    @cached_property
    def block_freedom(self) -> int:
        return self.has_run.shape[1] - 1 if self.is_complete else int(self.block_basis.shape[1])

    @cached_property
    def block_weight(self) -> float:
        """k_0: how much of var(b) a mean square of seeds holds."""
        if self.is_complete:
            return float(self.n_methods)
        freedom = self.block_freedom
        return float(((self.block_basis.T @ self.seeds) ** 2).sum() / freedom) if freedom else 1.0

    @cached_property
    def basis(self) -> Array:
        """Orthonormal columns that span methods and seeds."""
        return np.hstack([self.methods / np.sqrt(self.methods.sum(axis=0)), self.block_basis])

    @cached_property
    def freedom(self) -> Array:
        """d_i: the degrees of freedom that each method's residuals have."""
        if self.is_complete:
            return np.full(self.n_methods, self.block_freedom * (1 - 1 / self.n_methods))
        left: Array = (1 - (self.basis**2).sum(axis=1)) @ self.methods
        return np.maximum(left, 0.0)

    @cached_property
    def weights(self) -> Array:
        """W: what each run counts in each mean, (methods, runs)."""
        if self.ratio == 0 or not self.is_blocked.any():
            plain: Array = self.methods.T / self.methods.sum(axis=0)[:, None]
            return plain
        # (I + ratio Z Z')^-1 M by Woodbury's identity: Z'Z is diagonal, the number of runs per seed.
        shrunk = self.ratio / (1 + self.ratio * self.seeds.sum(axis=0))
        solved = self.methods - self.seeds @ (shrunk[:, None] * (self.seeds.T @ self.methods))
        found: Array = np.linalg.solve(self.methods.T @ solved, solved.T)
        return found

    @cached_property
    def on_seeds(self) -> Array:
        """What each seed counts in each mean, (methods, seeds)."""
        if self.is_complete:
            return np.full(self.has_run.shape, 1 / self.has_run.shape[1])
        found: Array = self.weights @ self.seeds
        return found

    @cached_property
    def seed_mean(self) -> Array:
        """What each seed counts in the mean of all blocked methods."""
        # Without blocked methods no seed counts anywhere.
        found: Array = self.on_seeds[self.is_blocked | ~self.is_blocked.any()].mean(axis=0)
        return found

    @cached_property
    def pairs(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return np.triu_indices(self.n_methods, 1)

    @cached_property
    def pair_weights(self) -> Array:
        """How much of each sigma_i^2 the variance of each pair's difference holds, (pairs, methods)."""
        a, b = self.pairs
        if self.is_complete:
            every: Array = np.eye(self.n_methods) / self.has_run.shape[1]
            both: Array = every[a] + every[b]
            return both
        return ((self.weights[a] - self.weights[b]) ** 2) @ self.methods

    @cached_property
    def pair_seed_weight(self) -> Array:
        """How much of var(b) the variance of each pair's difference holds; 0 on the same seeds."""
        a, b = self.pairs
        if self.is_complete:
            return np.zeros(len(a))
        found: Array = ((self.on_seeds[a] - self.on_seeds[b]) ** 2).sum(axis=1)
        return np.where(found < 1e-12, 0.0, found)

    @cached_property
    def own_weights(self) -> Array:
        """How much of each sigma_i^2 the variance of each mean holds, (methods, methods)."""
        if self.is_complete:
            every: Array = np.eye(self.n_methods) / self.has_run.shape[1]
            return every
        held: Array = (self.weights**2) @ self.methods
        return held

    @cached_property
    def own_seed_weight(self) -> Array:
        """How much of var(b) the variance of each mean against the mean of all blocked methods holds."""
        centred = np.where(self.is_blocked[:, None], self.on_seeds - self.seed_mean, 0.0)
        found: Array = (centred**2).sum(axis=1)
        return np.where(found < 1e-12, 0.0, found)

    def means_of(self, y: Array) -> Array:
        """Return the means of one study or of many: `y` is (..., runs)."""
        if self.is_complete:
            plain: Array = y.reshape(*y.shape[:-1], *self.has_run.shape).mean(axis=-1)
            return plain
        return y @ self.weights.T

    def pair_variances(self, own: Array, seeds: Array) -> Array:
        """Return the variance of every pair's difference, from those of runs, (..., methods), and of seeds."""
        if self.is_complete:
            a, b = self.pairs
            plain: Array = (own[..., a] + own[..., b]) / self.has_run.shape[1]
            return plain
        return own @ self.pair_weights.T + np.asarray(seeds)[..., None] * self.pair_seed_weight

    @property
    def needs_seed_variance(self) -> bool:
        """Tell whether any pair was run on other seeds, so that what seeds do does not cancel out."""
        return bool(self.pair_seed_weight.any())

    @cached_property
    def choices(self) -> "tuple[Layout, ...]":
        """The layout for each of `RATIOS`; itself alone where all methods were run on the same seeds."""
        return tuple(replace(self, ratio=ratio) for ratio in RATIOS) if self.needs_seed_variance else (self,)

    def choose(self, ratios: Array) -> NDArray[np.int64]:
        """Return which of the `choices` fits each var(b) / var(e)."""
        return np.searchsorted(_BOUNDS, ratios) if len(self.choices) > 1 else np.zeros(np.shape(ratios), dtype=np.int64)


def layout_of(has_run: Mask) -> Layout:
    """Return the layout of plain means; the last few are kept, as their algebra costs more than most comparisons."""
    return _layout(has_run.tobytes(), int(has_run.shape[0]))


@lru_cache(maxsize=48)
def _layout(has_run: bytes, n_methods: int) -> Layout:
    return Layout(has_run=np.frombuffer(has_run, dtype=bool).reshape(n_methods, -1))


@dataclass(frozen=True, kw_only=True, eq=False)
class Scatter:
    """`own` (..., methods) are the variances v_i of a run, `pooled` s_0^2, `seeds` the variance var(b)."""

    own: Array
    pooled: Array
    seeds: Array

    def select(self, some: NDArray[np.bool_] | slice) -> "Scatter":
        """Return some of many studies."""
        return Scatter(own=self.own[some], pooled=self.pooled[some], seeds=self.seeds[some])


def scatter_of(layout: Layout, y: Array) -> Scatter:
    """Return the variances of one study, or of many at once: `y` is (..., runs)."""
    q, on_blocks = _sums_of_squares(layout, y)
    pooled = q.sum(axis=-1) / max(float(layout.freedom.sum()), 1e-300)
    own = (PRIOR * pooled[..., None] + q) / (PRIOR + layout.freedom)
    freedom = layout.block_freedom
    seeds = on_blocks / freedom / layout.block_weight if freedom else np.zeros_like(pooled)
    return Scatter(own=own, pooled=pooled, seeds=seeds)


def _sums_of_squares(layout: Layout, y: Array) -> tuple[Array, Array]:
    """Return Q_i, (..., methods), and the sum of squares of seeds adjusted for methods."""
    if layout.is_complete:
        table = y.reshape(*y.shape[:-1], *layout.has_run.shape)
        centred = table - table.mean(axis=-1, keepdims=True)
        of_seeds = centred.mean(axis=-2)
        centred -= of_seeds[..., None, :]
        return np.einsum("...ks,...ks->...k", centred, centred), layout.n_methods * (of_seeds**2).sum(axis=-1)
    fitted = y @ layout.basis
    residuals = y - fitted @ layout.basis.T
    return (residuals**2) @ layout.methods, (fitted[..., layout.n_methods :] ** 2).sum(axis=-1)


def seed_ratio(layout: Layout, scatter: Scatter) -> Array:
    """Return var(b) / var(e), 0 where seeds do not scatter more than runs."""
    found = np.divide(scatter.seeds, scatter.pooled, out=np.zeros_like(scatter.pooled), where=scatter.pooled > 0)
    return np.maximum(0.0, found - 1 / layout.block_weight)
