"""Results of others: the rows of a CSV file as records that say that they are imported.

A row has a `method` or a `loss`, a `dataset`, perhaps a `seed` and a `protocol`, and test metrics by any of their
names; `validation/` and `final/test/` may stand before. Of a history with a `step`, the last row of a run counts.
"""

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairground.records import IMPORTED, Provenance, RunRecord, Score, SplitName
from fairground.spec import MetricDeclaration, Value, declared_metric, hash_of, nearest, read_csv, require, shown

COLUMNS = ("method", "loss", "dataset", "seed", "protocol", "step")
#: what exports call some of them, in small letters
_ALSO: Mapping[str, str] = {"name": "method", "data": "dataset", "_step": "step"}


def records_of_csv(path: Path, said: Mapping[str, Value], *, is_percent: bool) -> tuple[list[RunRecord], list[str]]:
    """Return the runs of a file, and its unused columns; `said` are, by our names, its columns or values for all."""
    table = read_csv(path)
    # Where a file has both, our own name for a column counts.
    ordered = sorted(table.columns, key=lambda column: column.lower() in COLUMNS)
    found = {_ALSO.get(column.lower(), column.lower()): column for column in ordered}
    own = {key: str(said.get(key, found.get(key, ""))) for key in COLUMNS}
    metrics = {column: metric for column in table.columns if (metric := _metric(column))}
    for key, column in ((key, str(column)) for key, column in said.items() if key not in COLUMNS):
        metric, wanted = _metric(key), f"it must be {', '.join(COLUMNS)} or a metric.{nearest(key, COLUMNS)}"
        require(metric is not None, f"no column '{key}': {wanted}")
        require(column in table.columns, f"{shown(path)} has no column '{column}'.{nearest(column, table.columns)}")
        metrics |= {column: metric} if metric else {}
    lacking = f"{shown(path)} has no column of a metric, like recall@1: name one, like recall@1={table.columns[-1]}"
    require(len(metrics) > 0, lacking)
    runs: dict[str, tuple[float, RunRecord]] = {}
    counts: dict[tuple[str, ...], int] = {}
    for cells, line in zip(table.rows, table.lines, strict=True):
        row, where = dict(zip(table.columns, cells, strict=True)), f"{shown(path)}, line {line}"
        scores = tuple(_score(row[name], *metrics[name], where, is_percent) for name in metrics if row[name].strip())
        if not scores:  # a run that failed, or a step without an evaluation
            continue
        method, loss, data, seed, protocol, step = (row.get(own[key], own[key]).strip() for key in COLUMNS)
        loss = "" if re.fullmatch(r"[-+.\de]+", loss.lower()) else loss  # a training loss, not the name of one
        method = method or loss
        for what, value in (("method", method), ("dataset", data)):
            require(bool(value), f"{where}: no {what}: add a column {what}, or say {what}=NAME")
        place, at = (method, loss, data, protocol), _number(step, "step", where) if step else 0.0
        counted = counts.get(place, 0)
        counts[place] = counted + (not step)
        spec: dict[str, Value] = {"protocol": protocol or "imported", "data": {"name": data}}
        spec |= {"loss": {"name": loss or method}, "imported": {"method": method, "file": path.name}}
        spec["seed"] = int(_number(seed, "seed", where)) if seed else counted
        name, note = f"{IMPORTED}{hash_of(spec)}", f"imported from {path.name}, line {line}"
        last = runs[name][0] if name in runs else -math.inf
        require(at != last, f"{where}: seed {spec['seed']} of {method} comes twice")
        if at > last:
            notes = (f"{note}: nothing of how it was made can be checked",)
            made: dict[str, Any] = {"name": name, "method": hash_of(spec | {"seed": 0}), "spec": spec, "scores": scores}
            runs[name] = (at, RunRecord(**made, notes=notes, provenance=Provenance()))
    unused = [column for column in table.columns if column not in {*metrics, *own.values()}]
    return [record for _, record in runs.values()], unused


def _metric(column: str) -> tuple[SplitName, MetricDeclaration] | None:
    """Return the split that a column is about, and its metric; None if it is not a metric."""
    name = column.strip().removeprefix("final/")
    split: SplitName = "validation" if name.startswith("validation/") else "test"
    found = declared_metric(name.removeprefix(f"{split}/"))
    return None if found is None else (split, found)


def _score(text: str, split: SplitName, metric: MetricDeclaration, where: str, is_percent: bool) -> Score:
    value, unit = _number(text, metric.word, where), 100 if is_percent and metric.is_share else 1
    hint = "" if is_percent else "; say --percent if the file has per cent"
    span = f"[{unit * metric.lowest:g}, {unit}]"
    require(metric.allows(value / unit), f"{where}: {metric.word} must be in {span}; got {value:g}{hint}")
    return Score(metric=metric.word, split=split, value=value / unit, higher_is_better=metric.higher_is_better)


def _number(text: str, what: str, where: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    require(math.isfinite(value), f"{where}: {what} must be a number; got {shown(text)}")
    return value
