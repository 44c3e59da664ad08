"""Do verdicts keep their promise, and do they find what there is to find? Simulated studies whose truth is known.

A study draws the scores of k methods on n shared seeds. Its scores scatter
    like a bell curve;  with heavy tails (Student's t with 3 degrees of freedom);  skewed by 1 (gamma with shape 4);
    unequally: like bell curves whose standard deviations are spread evenly on a log scale from 0.5 to 2.
The tables go into docs/fairness.md, where verdicts are explained. All draws come from fixed seeds.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import Table
from fairground.comparison import (
    Comparison,
    Runs,
    critical_value,
    in_question,
    layout_of,
    look,
    null_distribution_of,
    scatter_of,
)
from fairground.comparison.compare_values import compare_values
from fairground.spec.study_spec import UntilSettledSpec

PAGE = Path(__file__).parent.parent / "docs" / "fairness.md"
METHODS = (4, 8, 16, 31)
SEEDS = (3, 5, 10)
SHAPES = ("bell curve", "heavy tails", "skewed by 1", "scatter differs fourfold")
N_STUDIES = 4000
N_SEQUENTIAL = 2000
Array = NDArray[np.float64]


def tables() -> Iterator[Table]:
    """Yield the tables, the cheapest first."""
    yield _false_verdicts()
    yield _power()
    yield _equivalence()
    yield _more_seeds()
    yield _sequential()


def deviations(k: int, shape: str) -> Array:
    """Return the standard deviation of a run of each method."""
    found: Array = np.geomspace(0.5, 2, k) if shape == "scatter differs fourfold" else np.ones(k)
    return found


def noise(random: np.random.Generator, shape: str, size: tuple[int, ...]) -> Array:
    """Return scores of mean 0 and standard deviation 1."""
    found: Array = random.standard_normal(size)
    if shape == "heavy tails":
        found = random.standard_t(3, size) / np.sqrt(3)
    elif shape == "skewed by 1":
        found = (random.gamma(4, size=size) - 4) / 2
    return found


def studies(random: np.random.Generator, n_studies: int, means: Array, n: int, shape: str) -> Array:
    """Return (studies, methods, seeds) scores; which method scatters how far is drawn for each study."""
    k = len(means)
    sizes = random.permuted(np.tile(deviations(k, shape), (n_studies, 1)), axis=1)
    found: Array = noise(random, shape, (n_studies, k, n)) * sizes[:, :, None] + means[:, None]
    return found


def intervals(scores: Array, *, level: float = 0.95) -> tuple[Array, Array]:
    """Return differences and half widths of all pairs, (studies, pairs), as `compare_values` has them of each study."""
    _, k, n = scores.shape
    layout = layout_of(np.ones((k, n), dtype=bool))
    weights = layout.choices[0]
    c = critical_value(null_distribution_of(layout).highest, 1 - level)
    a, b = layout.pairs
    differences, halves = [], []
    for some in np.array_split(scores.reshape(len(scores), -1), max(1, len(scores) // 250)):
        means = weights.means_of(some)
        differences.append(means[:, a] - means[:, b])
        halves.append(c * np.sqrt(weights.pair_variances(scatter_of(layout, some).own, np.zeros(len(some)))))
    return np.concatenate(differences), np.concatenate(halves)


def false_better(k: int, n: int, shape: str, *, n_studies: int = N_STUDIES) -> float:
    """Return in what share of studies of equal methods any is called better."""
    random = np.random.default_rng([1, k, n, SHAPES.index(shape)])
    difference, half = intervals(studies(random, n_studies, np.zeros(k), n, shape))
    return float((np.abs(difference) > half).any(axis=1).mean())


def power(k: int, n: int, shape: str, *, unit: float = 1.0, n_studies: int = N_STUDIES) -> float:
    """Return in what share the best is separated from the worst: equally spaced means, 5 `unit` from best to worst."""
    random = np.random.default_rng([2, k, n, SHAPES.index(shape)])
    difference, half = intervals(studies(random, n_studies, unit * np.linspace(5, 0, k), n, shape))
    return float((difference[:, k - 2] > half[:, k - 2]).mean())


def _false_verdicts() -> Table:
    rows = [[f"{k}, {n}", *(_percent(false_better(k, n, shape)) for shape in SHAPES)] for k in METHODS for n in SEEDS]
    return Table(
        title="False verdicts among equal methods",
        note=f"Share of {N_STUDIES:,} studies of equal methods in which any method is called better than any other.",
        header=("methods, seeds", *SHAPES),
        rows=rows,
    )


def _power() -> Table:
    rows = []
    for k in METHODS:
        for n in (3, 5):
            sizes = deviations(k, SHAPES[3])
            unequal = [power(k, n, SHAPES[3], unit=unit) for unit in (float(np.sqrt((sizes**2).mean())), 1.0)]
            rows.append([f"{k}, {n}", _percent(power(k, n, SHAPES[0])), *map(_percent, unequal)])
    return Table(
        title="Differences found",
        note=(
            f"Share of {N_STUDIES:,} studies in which the best of equally spaced methods is called better than the "
            "worst, the two being 5 standard deviations of a run apart. Where scatter differs fourfold, the standard "
            "deviation of a run is the root mean square over methods, or the geometric mean."
        ),
        header=("methods, seeds", "bell curve", "scatter differs fourfold, 5 root mean squares", "5 geometric means"),
        rows=rows,
    )


def false_equivalent(k: int, n: int, shape: str, margin: float, *, n_studies: int = N_STUDIES) -> tuple[float, float]:
    """Return how often methods that differ by the margin, and how often equal ones, are called equivalent."""
    random = np.random.default_rng([3, k, n, SHAPES.index(shape)])
    truth: Array = np.where(np.arange(k) >= k // 2, margin, 0.0)
    difference, half = intervals(studies(random, n_studies, truth, n, shape))
    called = (np.abs(difference) + half < margin) & (np.abs(difference) <= half)
    a, b = np.triu_indices(k, 1)
    wrong = (called & (truth[a] != truth[b])).any(axis=1).mean()
    return float(wrong), float((called & (truth[a] == truth[b])).any(axis=1).mean())


def _equivalence() -> Table:
    rows = []
    for k, n in ((2, 10), (4, 5), (4, 10), (8, 10), (31, 10)):
        for margin in (2.0, 3.0):
            found = [false_equivalent(k, n, shape, margin) for shape in (SHAPES[0], SHAPES[3])]
            # Of two methods that differ, no pair is truly equal.
            shares = [text for wrong, right in found for text in (_percent(wrong), _percent(right) if k > 2 else "")]
            rows.append([f"{k}, {n}", f"{margin:g}", *shares])
    return Table(
        title="False equivalence",
        note=(
            f"Share of {N_STUDIES:,} studies in which methods whose true difference is the margin (in standard "
            "deviations of a run) are called equivalent; half of the methods differ from the other half by it. Right: "
            "studies in which any two truly equal methods are called so."
        ),
        header=("methods, seeds", "margin", "bell curve: wrong", "right", "scatter differs fourfold: wrong", "right"),
        rows=rows,
    )


def settled_after_more(k: int, n: int, shape: str, *, apart: float, n_studies: int) -> tuple[float, float]:
    """Return in what share of studies an open pair is settled by the seeds advised, and the median advice."""
    random = np.random.default_rng([4, k, n, SHAPES.index(shape)])
    settled, advised = [], []
    # A standard deviation is one point, so that the margin is half of one.
    for scores in studies(random, n_studies, np.linspace(apart, 0, k), 400, shape):
        found = _compared(scores[:, :n])
        unsettled = [pair for pair in found.pairs if pair.more_seeds is not None and pair.more_seeds <= 400 - n]
        if unsettled:
            pair = unsettled[int(random.integers(len(unsettled)))]
            assert pair.more_seeds is not None
            advised.append(pair.more_seeds)
            difference, half = intervals(scores[None, :, : n + pair.more_seeds])
            i, j = sorted((int(pair.a), int(pair.b)))
            # Where the pair stands among all pairs in the order of `triu_indices`.
            place = i * k - i * (i + 1) // 2 + j - i - 1
            size, width = abs(float(difference[0, place])), float(half[0, place])
            settled.append(size > width or size + width < 0.5)
    return float(np.mean(settled)), float(np.median(advised))


def _more_seeds() -> Table:
    rows = []
    for k, shape in ((4, SHAPES[0]), (4, SHAPES[3]), (8, SHAPES[0])):
        share, median = settled_after_more(k, 3, shape, apart=5.0, n_studies=300)
        rows.append([f"{k}, 3", shape, f"{median:g}", _percent(share)])
    return Table(
        title="More seeds",
        note=(
            "300 studies of equally spaced methods, 5 points from best to worst, a standard deviation of one point, "
            "margin 0.5 points. One open pair of each study gets the seeds advised; it should be settled then in at "
            "least 80 %."
        ),
        header=("methods, seeds", "scatter", "median advice", "settled"),
        rows=rows,
    )


def run_in_waves(scores: Array, plan: UntilSettledSpec, *, margin: float = 0.0) -> tuple[Comparison, int]:
    """Return the last comparison of a study in waves and how many runs it took; `scores` are (methods, limit)."""
    k = len(scores)
    table = np.full(scores.shape, np.nan)
    names, seeds = tuple(map(str, range(k))), tuple(range(plan.limit))
    found: Comparison | None = None
    active: Sequence[str] = names
    for number, n in enumerate(plan.looks):
        for name in active:
            table[int(name), :n] = scores[int(name), :n]
        runs = Runs(names=names, seeds=seeds[:n], table=table[:, :n])
        found = look(runs, plan, number, found, margin=margin, higher_is_better=True)
        active = in_question(found)
        if not active:
            break
    assert found is not None
    return found, int((~np.isnan(table)).sum())


def in_waves(k: int, ahead: float, shape: str, plan: UntilSettledSpec, *, n_studies: int) -> tuple[float, float, float]:
    """Return shares of studies with a false verdict and with the best found, and seeds per method."""
    random = np.random.default_rng([5, k, SHAPES.index(shape), round(10 * ahead)])
    truth = np.where(np.arange(k) == 0, ahead, 0.0)
    wrong = right = n_runs = 0
    for scores in studies(random, n_studies, truth, plan.limit, shape):
        found, used = run_in_waves(scores, plan)
        called = [pair for pair in found.pairs if pair.verdict == "better"]
        wrong += any(truth[int(pair.a)] <= truth[int(pair.b)] for pair in called)
        right += found.best == ("0",)
        n_runs += used
    return wrong / n_studies, right / n_studies, n_runs / n_studies / k


def fixed_seeds(k: int, ahead: float, shape: str, share: float, *, limit: int = 60) -> int:
    """Return how many seeds of every method find the best in `share` of studies, looking once."""
    for n in range(3, limit):
        random = np.random.default_rng([6, k, n])
        difference, half = intervals(studies(random, 1000, np.where(np.arange(k) == 0, ahead, 0.0), n, shape))
        if (difference[:, : k - 1] > half[:, : k - 1]).all(axis=1).mean() >= share:
            return n
    return limit


def _sequential() -> Table:
    plan = UntilSettledSpec()
    rows = []
    for k, ahead, shape, n_studies in (
        (4, 0.0, SHAPES[0], N_SEQUENTIAL),
        (4, 0.0, SHAPES[3], N_SEQUENTIAL),
        (4, 3.0, SHAPES[0], 500),
        (4, 3.0, SHAPES[3], 500),
        (8, 3.0, SHAPES[0], 500),
    ):
        wrong, right, seeds = in_waves(k, ahead, shape, plan, n_studies=n_studies)
        fixed = fixed_seeds(k, ahead, shape, right) if ahead else 0
        saved = [_percent(right), str(fixed), f"{100 * (1 - seeds / fixed):.0f} %"] if ahead else ["", "", ""]
        rows.append([str(k), f"{ahead:g}", shape, str(n_studies), _percent(wrong), f"{seeds:.1f}", *saved])
    return Table(
        title="Seeds in waves",
        note=(
            f"Studies of at most {plan.limit} seeds, looked at after {', '.join(map(str, plan.looks))}: {plan.first} "
            f"seeds of every method, then {plan.wave} more of those in question. One method leads by so many standard "
            "deviations. A fixed design gives every method the same number of seeds, looks once, and finds the best "
            "as often."
        ),
        header=(
            "methods",
            "lead",
            "scatter",
            "studies",
            "false verdict",
            "seeds per method",
            "best found",
            "seeds of a fixed design",
            "saved",
        ),
        rows=rows,
    )


def _compared(scores: Array) -> Comparison:
    values = {str(i): dict(enumerate(row.tolist())) for i, row in enumerate(scores)}
    return compare_values(values, margin=0.5)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
