"""Is A better than B? Values per method and seed in, a verdict on every pair out.

```python
found = compare_values({"A": {0: 0.31, 1: 0.33, 2: 0.32}, "B": {0: 0.25, 1: 0.27, 2: 0.26}})
found.pairs[0].verdict    # "better"
found.pairs[0].sentence   # "A is better than B by ..."
```
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairground.comparison.comparison_result import Comparison, Estimate, Pair, Reason, Verdict
from fairground.comparison.intervals import LEVEL
from fairground.comparison.mixed_model import Model, fit, more_seeds
from fairground.comparison.paired_table import Array
from fairground.comparison.run_scores import Runs, Values
from fairground.errors import require


@dataclass(frozen=True, kw_only=True, eq=False)
class ModelFindings:
    """What a model finds for the methods `names`, higher being better; pairs are in the order of `triu_indices`.

    `half_widths` are those of differences, `mean_half_widths` those of single means; `more_seeds` is 0 for none known.
    """

    names: tuple[str, ...]
    means: Array
    half_widths: Array
    p: Array
    p_alone: Array
    more_seeds: NDArray[np.int64]
    mean_half_widths: Array
    probabilities: Array


def compare_values(
    values: Values,
    *,
    level: float = LEVEL,
    margin: float | None = None,
    higher_is_better: bool = True,
    is_planned: bool = True,
) -> Comparison:
    """Compare methods by their values per seed: `{"A": {0: 0.31, 1: 0.33}, "B": {...}}`.

    A value may itself be a mapping of folds, which are averaged. Runs may be missing; methods with one run are listed
    and never called better. `margin` is the difference that does not matter, in the unit of the values: by default half
    a point, which is 0.005 where every value is in [-1, 1] and 0.5 otherwise. `is_planned` decides whether to compute
    how many more seeds would settle each pair.
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
    """Compare with error rate `error` for the intervals of pairs; `level` is that of single means."""
    model = fit_repeated(runs, higher_is_better=higher_is_better)
    findings = None
    if model is not None:
        none = np.zeros(len(model.layout.pairs[0]), dtype=np.int64)
        findings = ModelFindings(
            names=model.names,
            means=model.means,
            half_widths=model.critical(error) * model.pair_errors,
            p=model.p_values(),
            p_alone=model.p_values(is_alone=True),
            more_seeds=more_seeds(model, error=error, margin=margin) if is_planned else none,
            mean_half_widths=model.half_widths(level),
            probabilities=model.probabilities(),
        )
    return conclude(runs, findings, level=level, margin=margin, higher_is_better=higher_is_better)


def fit_repeated(runs: Runs, *, higher_is_better: bool) -> Model | None:
    """Fit the model to the methods with at least two runs, higher being better; None where there is none."""
    table = runs.table if higher_is_better else -runs.table
    oriented = Runs(names=runs.names, seeds=runs.seeds, table=table)
    means, counts = oriented.averages, oriented.counts
    # Sorted, so that results are bit-identical in whatever order runs are given.
    ordered = sorted(np.flatnonzero(counts >= 2), key=lambda i: (-counts[i], -means[i], runs.names[i]))
    return fit(oriented.select(np.array(ordered, dtype=np.int64))) if ordered else None


def conclude(
    runs: Runs, findings: ModelFindings | None, *, level: float, margin: float, higher_is_better: bool
) -> Comparison:
    """Return the comparison of all methods of `runs`; those without findings have a mean and nothing else."""
    sign = 1.0 if higher_is_better else -1.0
    averages, counts = runs.averages, runs.counts
    places = {} if findings is None else {name: i for i, name in enumerate(findings.names)}
    means = {
        name: float(findings.means[places[name]]) if findings is not None and name in places else sign * float(average)
        for name, average in zip(runs.names, averages, strict=True)
    }
    order = sorted(range(len(counts)), key=lambda i: (-means[runs.names[i]], runs.names[i]))
    pairs = tuple(_pairs(runs, order, means, findings, places, level=level, margin=margin, sign=sign))
    beaten = {pair.b for pair in pairs if pair.verdict == "better"}
    methods = []
    for i in order:
        name = runs.names[i]
        mean, place = sign * means[name], places.get(name)
        half = None if findings is None or place is None else float(findings.mean_half_widths[place])
        # Among some methods only, none can be called the best of all.
        chance = None if findings is None or len(places) < len(order) else float(findings.probabilities[places[name]])
        methods.append(
            Estimate(
                name=name,
                mean=mean,
                average=float(averages[i]),
                low=None if half is None else mean - half,
                high=None if half is None else mean + half,
                n=int(counts[i]),
                probability_best=chance,
                is_among_best=name not in beaten,
            )
        )
    return Comparison(
        methods=tuple(methods), pairs=pairs, level=level, margin=margin, higher_is_better=higher_is_better
    )


def _pairs(
    runs: Runs,
    order: Sequence[int],
    means: Mapping[str, float],
    findings: ModelFindings | None,
    places: Mapping[str, int],
    *,
    level: float,
    margin: float,
    sign: float,
) -> Iterator[Pair]:
    """Yield every two methods of `order`, from best to worst, the leading one first."""
    has_run = runs.has_run.astype(np.float64)
    n_shared = (has_run @ has_run.T).astype(np.int64).tolist()
    # Plain numbers: of 200 methods there are 19,900 pairs, and picking single numbers out of an array is slow.
    known = []
    if findings is not None:
        columns = findings.half_widths, findings.p, np.minimum(findings.p, findings.p_alone), findings.more_seeds
        known = list(zip(*(column.tolist() for column in columns), strict=True))
    n = len(places)
    for at, i in enumerate(order):
        a = runs.names[i]
        for j in order[at + 1 :]:
            b = runs.names[j]
            ahead = means[a] - means[b]
            low: float | None = None
            high: float | None = None
            verdict: Verdict = "unsettled"
            reason: Reason = "too few runs"
            p = p_alone = 1.0
            needed = 0
            if a in places and b in places:
                first, second = sorted((places[a], places[b]))
                half, p, p_alone, needed = known[first * n - first * (first + 1) // 2 + second - first - 1]
                low, high = sorted((sign * (ahead - half), sign * (ahead + half)))
                verdict, reason = _verdict(ahead, half, p_alone, level, margin)
            yield Pair(
                a=a,
                b=b,
                difference=sign * ahead,
                low=low,
                high=high,
                p=p,
                p_alone=p_alone,
                verdict=verdict,
                reason=reason,
                n_a=n_shared[i][i],
                n_b=n_shared[j][j],
                n_shared=n_shared[i][j],
                more_seeds=needed if verdict == "unsettled" and needed else None,
                n_pairs=len(known),
                margin=margin,
                level=level,
                higher_is_better=sign > 0,
            )


def _verdict(ahead: float, half: float, p_alone: float, level: float, margin: float) -> tuple[Verdict, Reason]:
    if ahead - half > 0:
        return "better", "interval leaves out 0"
    if ahead + half < margin and half - ahead < margin:
        return "equivalent", "within margin"
    return "unsettled", "separated alone" if p_alone <= 1 - level else "interval holds 0"
