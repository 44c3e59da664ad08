"""Anyone's numbers compared: a CSV file of values by method and seed in, the verdicts of every pair out.

Columns are `method, seed, value`, optionally `dataset` and `fold`. Folds are averaged within their repeat. Each data
set is compared by itself; over data sets the methods are ranked.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairground.comparison.comparison_result import Comparison
from fairground.comparison.over_datasets import OverDatasets
from fairground.comparison.run_scores import Values
from fairground.errors import InputError, require
from fairground.files import read_csv, shown
from fairground.reporting.comparison import plain_pair
from fairground.reporting.headings import clean, shorten

NEEDED = ("method", "seed", "value")
OPTIONAL = ("dataset", "fold")
#: more would be 20,000 pairs, which nobody reads
MAX_METHODS = 200
#: values by seed and fold ("" for none) of each method of each data set
_Read = dict[str, dict[str, dict[str, dict[str, float]]]]


def read_values(path: Path) -> dict[str, Values]:
    """Return the values of each data set ("" where the file names none) by method and seed, folds by name."""
    table = read_csv(path)
    missing = [name for name in NEEDED if name not in table.columns]
    require(
        not missing,
        f"{path} needs the columns {', '.join(NEEDED)}, and may have {', '.join(OPTIONAL)}; "
        f"{', '.join(missing)} is missing from {', '.join(table.columns)}",
    )
    read: _Read = {}
    for cells, line in zip(table.rows, table.lines, strict=True):
        _take(read, dict(zip(table.columns, cells, strict=True)), f"{path}, line {line}")
    require(len(read) > 0, f"{path} has a heading and no values")
    most = max(map(len, read.values()))
    require(most <= MAX_METHODS, f"{path} has {most:,} methods; every pair is compared, of {MAX_METHODS} at most")
    return {
        dataset: {
            method: {seed: folds[""] if set(folds) == {""} else folds for seed, folds in seeds.items()}
            for method, seeds in methods.items()
        }
        for dataset, methods in read.items()
    }


def comparison_text(comparison: Comparison, *, dataset: str = "") -> str:
    """Return who is best, each method's mean, and the verdict on every pair, for a terminal."""
    name = f"{clean(dataset)}: " if dataset else ""
    lines = [f"{name}{shorten(comparison.sentence, 1000)}"]
    width = max(len(shorten(method.name, 48)) for method in comparison.methods)
    for method in comparison.methods:
        half = "" if method.half_width is None else f" ± {method.half_width:.4g}"
        seeds = f"{method.n} seed{'s' if method.n != 1 else ''}"
        lines.append(f"  {shorten(method.name, 48):<{width}}  {method.mean:.4g}{half}  {seeds}")
    if comparison.pairs:
        held = f"hold at once at {100 * comparison.level:g} %"
        lines.append(f"Intervals of differences {held}; equivalent is within ±{comparison.margin:g}:")
    lines += [f"  {shorten(pair.sentence, 1000)}" for pair in comparison.pairs]
    return "\n".join(lines) + "\n"


def comparison_plain(comparison: Comparison) -> dict[str, Any]:
    """Return a comparison as JSON-ready data."""
    return {
        "level": comparison.level,
        "margin": comparison.margin,
        "higher_is_better": comparison.higher_is_better,
        "sentence": comparison.sentence,
        "is_settled": comparison.is_settled,
        "best": list(comparison.best),
        "methods": [dict(vars(method)) for method in comparison.methods],
        "pairs": [plain_pair(pair, pair.sentence) for pair in comparison.pairs],
    }


def over_text(found: OverDatasets) -> str:
    """Return mean ranks and interquartile means over data sets with their intervals, then the mean differences."""
    at = f"{100 * found.level:g} %"
    lines = [f"Over {len(found.datasets)} data sets, ranks with intervals that hold at once at {at}, 1 being best:"]
    width = max(len(shorten(one.name, 48)) for one in found.aggregates)
    for one in found.aggregates:
        rank = f"rank {one.rank:.2f} [{one.rank_low:.2f}, {one.rank_high:.2f}]"
        iqm = f"interquartile mean {one.iqm:.4g} [{one.iqm_low:.4g}, {one.iqm_high:.4g}]"
        lines.append(f"  {shorten(one.name, 48):<{width}}  {rank}  {iqm}")
    lines.append("Mean differences over data sets:")
    lines += [f"  {shorten(pair.sentence, 1000)}" for pair in found.improvement.pairs]
    return "\n".join(lines) + "\n"


def over_plain(found: OverDatasets) -> dict[str, Any]:
    """Return the aggregates over data sets as JSON-ready data."""
    return {
        "datasets": list(found.datasets),
        "level": found.level,
        "methods": [{**vars(one), "profile": list(one.profile)} for one in found.aggregates],
        "scores": list(found.scores),
        "improvement": comparison_plain(found.improvement),
    }


def _take(read: _Read, row: Mapping[str, str], where: str) -> None:
    """Put one line where it belongs; a value given twice is refused."""
    words = {name: row.get(name, "").strip() for name in (*NEEDED, *OPTIONAL)}
    for name in NEEDED:
        require(words[name] != "", f"{where}: {name} is empty")
    try:
        value = float(words["value"])
    except ValueError as error:
        raise InputError(f"{where}: value must be a number; got {shown(words['value'])}") from error
    folds = read.setdefault(words["dataset"], {}).setdefault(words["method"], {}).setdefault(words["seed"], {})
    fold = f", fold {words['fold']}" if words["fold"] else ""
    complaint = f"{where}: method '{words['method']}', seed {words['seed']}{fold} is there twice"
    require(words["fold"] not in folds, clean(complaint))
    folds[words["fold"]] = value
