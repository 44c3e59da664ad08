"""Compare the values of a CSV file, by method and seed.

Columns are `method, seed, value`, optionally `dataset` and `fold`. Folds are averaged within their repeat. Each data
set is compared on its own; over data sets, methods are ranked.
"""

from pathlib import Path
from typing import Any

from fairground.comparison.comparison_result import Comparison
from fairground.comparison.over_datasets import OverDatasets
from fairground.comparison.run_scores import Values
from fairground.errors import InputError, require
from fairground.files import read_csv, shown
from fairground.reporting import over_datasets
from fairground.reporting.comparison import plain_pair
from fairground.reporting.headings import clean, shorten
from fairground.reporting.table_formats import text_table

NEEDED = ("method", "seed", "value")
OPTIONAL = ("dataset", "fold")
#: this many methods are 20,000 pairs
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
        row, where = dict(zip(table.columns, cells, strict=True)), f"{path}, line {line}"
        cell = {name: row.get(name, "").strip() for name in (*NEEDED, *OPTIONAL)}
        for name in NEEDED:
            require(cell[name] != "", f"{where}: {name} is empty")
        try:
            value = float(cell["value"])
        except ValueError as error:
            raise InputError(f"{where}: value must be a number; got {shown(cell['value'])}") from error
        folds = read.setdefault(cell["dataset"], {}).setdefault(cell["method"], {}).setdefault(cell["seed"], {})
        fold = f", fold {cell['fold']}" if cell["fold"] else ""
        complaint = f"{where}: method '{cell['method']}', seed {cell['seed']}{fold} is given twice"
        require(cell["fold"] not in folds, clean(complaint))
        folds[cell["fold"]] = value
    require(len(read) > 0, f"{path} has no values below its heading")
    most = max(map(len, read.values()))
    require(most <= MAX_METHODS, f"{path} has {most:,} methods; at most {MAX_METHODS} can be compared in pairs")
    return {
        dataset: {
            method: {seed: folds[""] if set(folds) == {""} else folds for seed, folds in seeds.items()}
            for method, seeds in methods.items()
        }
        for dataset, methods in read.items()
    }


def comparison_text(comparison: Comparison, *, dataset: str = "") -> str:
    """Return the best method, each method's mean, and the verdict on every pair, for a terminal."""
    rows = []
    for method in comparison.methods:
        half = "" if method.half_width is None else f" ± {method.half_width:.4g}"
        rows.append((method.name, str(method.n), f"{method.mean:.4g}{half}"))
    name = f"{clean(dataset)}: " if dataset else ""
    lines = [f"{name}{shorten(comparison.sentence, 1000)}", text_table([("method", "n", "value"), *rows])]
    if comparison.pairs:
        at = f"{100 * comparison.level:g} %"
        lines.append(f"Intervals of differences hold at once at {at}; equivalent is within ±{comparison.margin:g}:")
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
    """Return ranks and interquartile means over data sets with their intervals, then the mean differences."""
    rows = [
        (one.name, over_datasets.shown_rank(one), f"{one.iqm:.4g} [{one.iqm_low:.4g}, {one.iqm_high:.4g}]")
        for one in found.aggregates
    ]
    at = f"{100 * found.level:g} %"
    lead = f"Over {len(found.datasets)} data sets. Rank 1 is best; the intervals of all ranks hold at once at {at}:"
    return over_datasets.over_text(lead, rows, (pair.sentence for pair in found.improvement.pairs))


def over_plain(found: OverDatasets) -> dict[str, Any]:
    """Return the aggregates over data sets as JSON-ready data."""
    return {**over_datasets.plain_aggregates(found), "improvement": comparison_plain(found.improvement)}
