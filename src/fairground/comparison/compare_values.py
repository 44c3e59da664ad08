"""Is A better than B? Numbers by method and seed in, verdicts on every pair out.

```python
found = compare_values({"A": {0: 0.31, 1: 0.33, 2: 0.32}, "B": {0: 0.25, 1: 0.27, 2: 0.26}})
found.pairs[0].verdict    # "better"
found.pairs[0].sentence   # "A is better than B by ..."
```
"""

import numpy as np

from fairground.comparison.comparison import Comparison
from fairground.comparison.intervals import LEVEL
from fairground.comparison.model import Model, fit
from fairground.comparison.runs import Runs, Values
from fairground.comparison.seeds_needed import more_seeds
from fairground.comparison.verdicts import ModelFindings, conclude
from fairground.errors import require


def compare_values(
    values: Values,
    *,
    level: float = LEVEL,
    margin: float | None = None,
    higher_is_better: bool = True,
    is_planned: bool = True,
) -> Comparison:
    """Compare methods by their values by seed: `{"A": {0: 0.31, 1: 0.33}, "B": {...}}`.

    A value may itself be a mapping of folds, which are averaged. Runs may be missing; methods of one run are listed and
    never called better. `margin` is the difference that does not matter, in the unit of the values: by default half a
    point, which is 0.005 where every value lies in [-1, 1] and 0.5 otherwise. `is_planned` says whether to work out how
    many more seeds would settle each pair.
    """
    runs = Runs.from_values(values)
    margin = default_margin(runs) if margin is None else margin
    check_settings(level, margin)
    return compare_runs(
        runs, error=1 - level, level=level, margin=margin, higher_is_better=higher_is_better, is_planned=is_planned
    )


def default_margin(runs: Runs) -> float:
    """Return half a point in the unit of the values: shares of 1, or per cent."""
    return 0.005 if float(np.nanmax(np.abs(runs.table))) <= 1 else 0.5


def check_settings(level: float, margin: float) -> None:
    """Refuse a level or margin that no comparison can have."""
    require(0.5 <= level <= 0.999, f"level must be between 0.5 and 0.999; got {level}")
    require(margin >= 0, f"margin must be 0 or more, in the unit of the values; got {margin}")


def compare_runs(
    runs: Runs, *, error: float, level: float, margin: float, higher_is_better: bool, is_planned: bool = True
) -> Comparison:
    """Compare with a rate of errors of `error` for the intervals of pairs; `level` is that of single means."""
    model = fit_repeated(runs, higher_is_better=higher_is_better)
    findings = None if model is None else _findings(model, error, level, margin, is_planned=is_planned)
    return conclude(runs, findings, level=level, margin=margin, higher_is_better=higher_is_better)


def fit_repeated(runs: Runs, *, higher_is_better: bool) -> Model | None:
    """Fit the model to the methods with at least two runs, higher being better; None where there is none."""
    table = runs.table if higher_is_better else -runs.table
    oriented = Runs(names=runs.names, seeds=runs.seeds, table=table)
    means, counts = oriented.averages, oriented.counts
    # In an order of their own, so that the same runs give the same digits in whatever order they are given.
    ordered = sorted(np.flatnonzero(counts >= 2), key=lambda i: (-counts[i], -means[i], runs.names[i]))
    return fit(oriented.select(np.array(ordered, dtype=np.int64))) if ordered else None


def _findings(model: Model, error: float, level: float, margin: float, *, is_planned: bool) -> ModelFindings:
    none = np.zeros(len(model.layout.pairs[0]), dtype=np.int64)
    return ModelFindings(
        names=model.names,
        means=model.means,
        half_widths=model.critical(error) * model.pair_errors,
        p=model.p_values(),
        p_alone=model.p_values(is_alone=True),
        more_seeds=more_seeds(model, error=error, margin=margin) if is_planned else none,
        mean_half_widths=model.half_widths(level),
        probabilities=model.probabilities(),
    )
