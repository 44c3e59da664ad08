"""A CSV file (`compare --values`) of method, seed, value and, if any, dataset and fold: read, compared and shown."""

from pathlib import Path

from fairground.comparison import Comparison, InputError, Values, read_csv, require, shown
from fairground.reporting import clean, indented, plain_pair, shorten, table_formats

NEEDED = ("method", "seed", "value")
OPTIONAL = ("dataset", "fold")
#: this many methods are 20,000 pairs
MAX_METHODS = 200


def read_values(path: Path) -> dict[str, Values]:
    """Return the values of each data set ("" where the file names none) by method and seed, folds by name."""
    table = read_csv(path)
    missing = [name for name in NEEDED if name not in table.columns]
    require(
        not missing,
        f"{path} needs the columns {', '.join(NEEDED)}, and may have {', '.join(OPTIONAL)}; "
        f"{', '.join(missing)} is missing from {', '.join(table.columns)}",
    )
    read: dict[str, dict[str, dict[str, dict[str, float]]]] = {}
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


def values_text(comparison: Comparison, *, dataset: str = "") -> str:
    """Return the best method, each method's mean, and the verdict on every pair of a file's values."""
    rows = []
    for method in comparison.methods:
        half = "" if method.half_width is None else f" ± {method.half_width:.4g}"
        rows.append((method.name, str(method.n), f"{method.mean:.4g}{half}"))
    name = f"{clean(dataset)}: " if dataset else ""
    lines = [f"{name}{shorten(comparison.sentence, 1000)}"]
    lines.append(table_formats.text_table([("method", "n", "value"), *rows]))
    if comparison.pairs:
        at = f"{100 * comparison.level:g} %"
        lines.append(f"Intervals of differences hold at once at {at}; equivalent is within ±{comparison.margin:g}:")
    return "\n".join([*lines, *indented(pair.sentence for pair in comparison.pairs)]) + "\n"


def values_plain(comparison: Comparison) -> dict[str, object]:
    return {
        **{key: getattr(comparison, key) for key in ("level", "margin", "higher_is_better", "sentence", "is_settled")},
        "best": list(comparison.best),
        "methods": [dict(vars(method)) for method in comparison.methods],
        "pairs": [plain_pair(pair, pair.sentence) for pair in comparison.pairs],
    }
