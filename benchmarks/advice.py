"""How often does `fairground recommend` take what is no better than the frozen network? Races whose truth is known.

A race tries many methods on the same classes, picks three by one repeat, measures these on fresh repeats, and compares
them with the frozen network. Methods share what a class gains from training; beyond that each has gains and losses of
its own in every class, and in every fold of every repeat.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.harness import Table
from fairground.comparison.compare_values import compare_values
from fairground.comparison.paired_table import Array

PAGE = Path(__file__).parent.parent / "docs" / "recommend.md"
STUDIES, REPEATS, PICKED = 1000, 3, 3
#: of the 5 % of a recommendation, each of the two metrics that decide has half
ERROR = 0.025
GAINS = (0.5, 0.8, 1.2)
#: standard deviations of what folds and single measurements add to a class in one repeat; that of classes is 1
FOLD, NOISE = 0.3, 0.7
#: classes, methods tried, share of a class's gain that all methods have alike
CELLS = ((9, 40, 0.9), (9, 40, 0.5), (18, 40, 0.7))
SCATTERS: dict[str, Callable[[np.random.Generator, tuple[int, int]], Array]] = {
    "bell curve": lambda random, size: random.standard_normal(size),
    "heavy tails": lambda random, size: random.standard_t(3, size) / np.sqrt(3),
    "few classes lose much": lambda random, size: 1 - random.exponential(size=size),
    "few classes gain much": lambda random, size: random.exponential(size=size) - 1,
}


def tables() -> Iterator[Table]:
    """Yield the table of false recommendations and that of the differences found."""
    yield Table(
        title="Recommended although no better",
        note=f"Share of {STUDIES:,} races in which any of {PICKED} picked methods is called better than the frozen "
        f"network by one metric, no method being better; {100 * ERROR:g} % are allowed for each of two metrics.",
        header=["classes, methods tried, alike", *SCATTERS],
        rows=[[_cell(cell), *(f"{100 * _share(cell, one, 0.0):.1f} %" for one in SCATTERS)] for cell in CELLS],
    )
    yield Table(
        title="Differences found",
        note="Share of races in which a picked method is recommended, all methods being better by so many standard "
        "deviations of a class (bell curve).",
        header=["classes, methods tried, alike", *(f"{gain:g}" for gain in GAINS)],
        rows=[[_cell(cell), *(f"{100 * _share(cell, 'bell curve', gain):.0f} %" for gain in GAINS)] for cell in CELLS],
    )


def _cell(cell: tuple[int, int, float]) -> str:
    return f"{cell[0]}, {cell[1]}, {100 * cell[2]:.0f} %"


def _share(cell: tuple[int, int, float], scatter: str, gain: float) -> float:
    """Return the share of races that end with a recommendation."""
    random = np.random.default_rng([cell[0], cell[1], list(SCATTERS).index(scatter)])
    return float(np.mean([_is_any_better(_race(random, cell, scatter, gain)) for _ in range(STUDIES)]))


def _race(random: np.random.Generator, cell: tuple[int, int, float], scatter: str, gain: float) -> Array:
    """Return differences from frozen (repeats, classes, picked), of the methods that repeat 0 puts first."""
    n, tried, alike = cell
    draw = SCATTERS[scatter]
    gains = gain + np.sqrt(alike) * draw(random, (n, 1)) + np.sqrt(1 - alike) * draw(random, (n, tried))

    def repeat() -> Array:
        folds = random.permutation(n) % max(2, min(4, n // 4))
        found: Array = gains + FOLD * random.standard_normal((4, tried))[folds]
        found += NOISE * random.standard_normal((n, tried))
        return found

    picked = np.argsort(-repeat().mean(axis=0))[:PICKED]
    return np.stack([repeat()[:, picked] for _ in range(REPEATS)])


def _is_any_better(fresh: Array) -> bool:
    """Compare as `recommend.decision` does: all pairs, classes as units, means over fresh repeats."""
    means = fresh.mean(axis=0)
    # What a class scores by itself cancels out of every difference.
    base = 2 * np.random.default_rng(0).standard_normal(len(means))
    values = {"frozen": dict(enumerate(base))}
    values |= {str(i): dict(enumerate(base + means[:, i])) for i in range(means.shape[1])}
    found = compare_values(values, level=1 - ERROR)
    pairs = [found.pair(name, "frozen") for name in values if name != "frozen"]
    return any(pair.verdict == "better" and pair.b == "frozen" for pair in pairs)
