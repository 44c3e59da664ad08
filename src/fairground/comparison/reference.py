"""What chance alone would show: the comparison of equal methods, simulated with the same runs on the same seeds.

Formula
    t_ab = |mu^_a - mu^_b| / sqrt(sum_i w_abi v_i + w_ab var(b)), the weights of `layout`, the variances of `scatter`
    Equal methods whose standard deviations are spread evenly on a log scale from 1 to 4, in random order, are drawn
    up to `DRAWS` times; `highest` is the highest t_ab of each draw, `alone` that of one pair.

Paper
    Westfall and Young, "Resampling-based multiple testing", 1993, for the law of the highest statistic; Tukey's
    studentised range is its special case of equal variances.

To be borne in mind
    The law depends on who was run on which seed, not on the scores. Its draws come from a fixed seed.
    Studies of thousands of runs or pairs have fewer draws, `FEWEST` at least: by those the rate of errors is known up
    to 0.3 %, less than `law.CAUTION` leaves unspent. Where their methods share all seeds, the means and Q_i of
    `scatter` are drawn instead of every run: sigma_i z / sqrt(s), and a chi squared of s - 1 degrees of freedom times
    sigma_i^2 (1 - 2 / k) + sum sigma^2 / k^2, its expectation. That neglects how Q_i and Q_j go together, by 1 / k^2;
    it is done for so many methods or so many seeds that this cannot be seen.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from fairground.comparison.layout import Array, Layout, layout_of
from fairground.comparison.scatter import Scatter, scatter_from, scatter_of, seed_ratio

DRAWS = 20_000
FEWEST = 4_000
#: runs and pairs of all draws; more of them would take longer than reading their records
_MOST_DRAWN = 80_000_000
#: runs and pairs of a study that is drawn run by run, if its methods share all seeds
_MOST_BY_RUN = _MOST_DRAWN // DRAWS
#: how far the standard deviations of methods lie apart in the draws
SPREAD = 4.0
#: numbers held in memory at a time
_BLOCK = 250_000
#: methods whose statistics with all others are worked out at a time
_ROWS = 40


@dataclass(frozen=True, kw_only=True, eq=False)
class ReferenceLaw:
    """`highest` and `alone` ascend; `errors` (draws, methods) are errors of means in standard errors.

    `common` is the error that all blocked methods share, in its standard errors; `variances` ascends and holds by what
    factor the true variance of a pair's difference exceeds the estimated one.
    """

    highest: Array
    alone: Array
    errors: Array
    common: Array
    variances: Array


def reference_of(layout: Layout, ratio: float = 0.0) -> ReferenceLaw:
    """Return the law of a layout where var(b) / var(e) is about `ratio`; the last few are kept."""
    index = int(layout.choose(np.array(ratio)))
    return _reference(layout.has_run.tobytes(), layout.n_methods, layout.choices[index].ratio)


@lru_cache(maxsize=48)
def _reference(has_run: bytes, n_methods: int, ratio: float) -> ReferenceLaw:
    layout = layout_of(np.frombuffer(has_run, dtype=bool).reshape(n_methods, -1))
    random = np.random.default_rng(16)
    n_drawn, n_pairs = layout.n_methods if _is_large(layout) else _n_runs(layout), len(layout.pairs[0])
    n_draws = int(np.clip(_MOST_DRAWN // (n_drawn + n_pairs), FEWEST, DRAWS))
    step = max(1, min(n_draws, _BLOCK // max(n_drawn, n_pairs, 1)))
    parts = [_draw(layout, ratio, min(step, n_draws - start), random) for start in range(0, n_draws, step)]
    highest, alone, errors, variances = (np.concatenate(part) for part in zip(*parts, strict=True))
    freedom = layout.block_freedom
    common = random.standard_t(freedom, size=n_draws) if freedom else np.zeros(n_draws)
    return ReferenceLaw(
        highest=np.sort(highest), alone=np.sort(alone), errors=errors, common=common, variances=np.sort(variances)
    )


def _n_runs(layout: Layout) -> int:
    return int(layout.has_run.sum())


def _is_large(layout: Layout) -> bool:
    """Whether means and sums of squares are drawn, not every run."""
    return layout.is_complete and _n_runs(layout) + len(layout.pairs[0]) > _MOST_BY_RUN


def _deviations(n_methods: int) -> Array:
    return np.geomspace(SPREAD**-0.5, SPREAD**0.5, n_methods) if n_methods > 1 else np.ones(1)


def _draw(layout: Layout, ratio: float, n: int, random: np.random.Generator) -> tuple[Array, Array, Array, Array]:
    """Return what `ReferenceLaw` holds of n studies: highest and single statistics, errors of means, factors."""
    k = layout.n_methods
    deviations = random.permuted(np.tile(_deviations(k), (n, 1)), axis=1)
    # On the same seeds all pairs have the same law, and any of them stands for it.
    if _is_large(layout):
        part = _draw_summaries(layout, deviations, random)
        one = random.integers(len(layout.pairs[0]), size=n)
        found = part.statistics(one, deviations), part.errors(np.zeros((n, 0)))
    else:
        y, blocks = _draw_runs(layout, ratio, deviations, random)
        scatter = scatter_of(layout, y)
        chosen = layout.choose(seed_ratio(layout, scatter))
        one = random.integers(max(1, len(layout.pairs[0])), size=n)
        found = np.empty((n, 3)), np.empty((n, k))
        for index in np.unique(chosen):
            # Without a choice all studies as they are: picking them would copy every draw.
            some = chosen == index if len(layout.choices) > 1 else slice(None)
            choice = layout.choices[index]
            part = _Part(choice, choice.means_of(y[some]), scatter.select(some))
            found[0][some] = part.statistics(one[some], deviations[some])
            found[1][some] = part.errors(blocks[some])
    return found[0][:, 0], found[0][:, 1], found[1], found[0][:, 2]


def _draw_runs(layout: Layout, ratio: float, deviations: Array, random: np.random.Generator) -> tuple[Array, Array]:
    """Return the runs of studies, (studies, runs), and what seeds do to them, (studies, seeds)."""
    n, k = deviations.shape
    rows, _ = layout.cells
    y = random.standard_normal((n, len(rows)))
    if layout.is_complete:
        y.reshape(n, k, -1)[...] *= deviations[:, :, None]
    else:
        y *= deviations[:, rows]
    blocks = np.zeros((n, 0))
    if layout.needs_seed_variance:
        blocks = random.standard_normal((n, layout.seeds.shape[1])) * np.sqrt(ratio * (_deviations(k) ** 2).mean())
        y += blocks @ layout.seeds.T
    return y, blocks


def _draw_summaries(layout: Layout, deviations: Array, random: np.random.Generator) -> "_Part":
    """Return studies whose methods share all seeds, by their means and sums of squares alone."""
    k, s = layout.has_run.shape
    squares = deviations**2
    means = deviations * random.standard_normal(deviations.shape) / np.sqrt(s)
    expected = squares * (1 - 2 / k) + squares.sum(axis=1, keepdims=True) / k**2
    q = expected * random.chisquare(s - 1, size=deviations.shape)
    return _Part(layout, means, scatter_from(layout, q, np.zeros(len(q))))


def _highest_square(layout: Layout, means: Array, own: Array) -> Array:
    """Return the highest t_ab^2 of every study whose methods were all run on the same seeds."""
    highest = np.zeros(len(means))
    for start in range(0, layout.n_methods, _ROWS):
        # Some methods with themselves and all later ones at once: faster than picking each pair once, and half the
        # work of all with all.
        some, rest = slice(start, start + _ROWS), slice(start, None)
        found = _squared(means[:, some, None] - means[:, None, rest], own[:, some, None] + own[:, None, rest], layout)
        np.maximum(highest, found.reshape(len(means), -1).max(axis=1), out=highest)
    return highest


def _squared(differences: Array, variances: Array, layout: Layout) -> Array:
    """Return t_ab^2 of pairs, in the memory of what it is made of."""
    differences *= differences
    variances /= layout.has_run.shape[1]
    differences /= variances
    return differences


class _Part:
    """Studies whose means have the same weights."""

    def __init__(self, layout: Layout, means: Array, scatter: Scatter) -> None:
        self.layout, self.means, self.scatter = layout, means, scatter

    def statistics(self, one: NDArray[np.int64], deviations: Array) -> Array:
        """Return the highest statistic, that of pair `one`, and true over estimated variance of that pair."""
        layout, scatter, n = self.layout, self.scatter, len(one)
        a, b = layout.pairs
        if not len(a):
            return np.tile([0.0, 0.0, 1.0], (n, 1))
        rows = np.arange(n)
        if layout.is_complete:
            means, own, i, j = self.means, scatter.own, a[one], b[one]
            highest = _highest_square(layout, means, own)
            chosen = _squared(means[rows, i] - means[rows, j], own[rows, i] + own[rows, j], layout)
            # Two of the weights are not 0, and these are the same: all of them would be a row of methods for each pair.
            weight = 1 / layout.has_run.shape[1]
            true, estimated = (all_of[rows, i] * weight + all_of[rows, j] * weight for all_of in (deviations**2, own))
        else:
            found = (self.means[:, a] - self.means[:, b]) ** 2 / layout.pair_variances(scatter.own, scatter.seeds)
            highest, chosen = found.max(axis=1), found[rows, one]
            weights = layout.pair_weights[one]
            true, estimated = ((all_of * weights).sum(axis=1) for all_of in (deviations**2, scatter.own))
        return np.column_stack([np.sqrt(highest), np.sqrt(chosen), true / estimated])

    def errors(self, blocks: Array) -> Array:
        """Return the errors of means in standard errors, without what seeds do to all blocked methods."""
        layout, scatter = self.layout, self.scatter
        squares = scatter.own @ layout.own_weights.T + scatter.seeds[:, None] * layout.own_seed_weight
        shared = blocks @ layout.seed_mean[: blocks.shape[1]]
        found: Array = (self.means - np.where(layout.is_blocked, shared[:, None], 0.0)) / np.sqrt(squares)
        return found
