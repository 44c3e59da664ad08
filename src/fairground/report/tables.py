"""The result table: methods by metrics, each cell a mean with its interval, and who is separated from the best.

A cell is marked best only if its interval lies apart from every other method's. Otherwise all methods whose intervals
overlap that of the highest mean are marked `level`: not separated from the best. Nothing is marked when a method has
one run only, because one run has no interval.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from fairground.errors import require
from fairground.records.record import RunRecord, SplitName
from fairground.report.headings import is_share
from fairground.report.methods import Method, methods_of
from fairground.statistics.intervals import LEVEL, Interval, t_interval

Standing = Literal["best", "level", ""]


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One method's metric: the single runs, their mean with its interval, and how it stands."""

    values: tuple[float, ...]
    interval: Interval | None
    standing: Standing


@dataclass(frozen=True, kw_only=True)
class Row:
    """One method: how many of its runs finished out of how many begun, and a cell for each metric."""

    method: Method
    n_done: int
    n_runs: int
    cells: Mapping[str, Cell]

    @property
    def label(self) -> str:
        """What the method is called."""
        return self.method.label


@dataclass(frozen=True, kw_only=True)
class ResultTable:
    """Rows are sorted by `primary`, the metric the runs were selected by; methods without a finished run come last."""

    metrics: tuple[str, ...]
    primary: str
    split: SplitName
    level: float
    rows: tuple[Row, ...]

    @classmethod
    def from_records(
        cls,
        records: Iterable[RunRecord],
        *,
        split: SplitName | None = None,
        metrics: Sequence[str] | None = None,
        names: Mapping[str, str] | None = None,
        level: float = LEVEL,
    ) -> "ResultTable":
        """Make the table; `split` left out means test, or validation while the test split is sealed."""
        methods = methods_of(records, names)
        split = split or _opened_split(methods)
        found = tuple(metrics or _metrics_of(methods, split))
        primary = _primary(methods, found)
        # What the runs were selected by comes first, unless the caller chose the columns.
        metrics = found if metrics or not primary else (primary, *(metric for metric in found if metric != primary))
        columns = {metric: _column(methods, metric, split, level) for metric in metrics}
        rows = [
            Row(
                method=method,
                n_done=len(method.done),
                n_runs=len(method.records),
                cells={metric: columns[metric][i] for metric in metrics},
            )
            for i, method in enumerate(methods)
        ]
        rows.sort(key=lambda row: _rank(row.cells.get(primary), primary))
        return cls(metrics=metrics, primary=primary, split=split, level=level, rows=tuple(rows))

    def row(self, label: str) -> Row:
        """Return the row of the method called `label`."""
        found = next((row for row in self.rows if row.label == label), None)
        require(found is not None, f"no method '{label}' in the table; there are: {[row.label for row in self.rows]}")
        assert found is not None
        return found

    @property
    def has_marks(self) -> bool:
        """Tell whether any cell is marked, so that the marks need explaining."""
        return any(cell.standing for row in self.rows for cell in row.cells.values())


def _opened_split(methods: Sequence[Method]) -> SplitName:
    has_test = any(score.split == "test" for method in methods for record in method.done for score in record.scores)
    return "test" if has_test else "validation"


def _metrics_of(methods: Sequence[Method], split: SplitName) -> list[str]:
    scores = [score for method in methods for record in method.done for score in record.scores]
    return list(dict.fromkeys(score.metric for score in scores if score.split == split))


def _primary(methods: Sequence[Method], metrics: Sequence[str]) -> str:
    """Return the metric the runs were selected by; the last column when they were selected by several or another."""
    evaluations = [method.records[0].spec.get("evaluation") for method in methods]
    chosen = {str(evaluation.get("select_by")) for evaluation in evaluations if isinstance(evaluation, Mapping)}
    wanted = chosen.pop() if len(chosen) == 1 else ""
    return wanted if wanted in metrics else (metrics[-1] if metrics else "")


def _column(methods: Sequence[Method], metric: str, split: SplitName, level: float) -> list[Cell]:
    values = [tuple(method.values(metric, split)) for method in methods]
    intervals = [t_interval(some, level=level) if some else None for some in values]
    standings: list[Standing] = _standings(intervals) if is_share(metric) else [""] * len(methods)
    return [
        Cell(values=some, interval=interval, standing=standing)
        for some, interval, standing in zip(values, intervals, standings, strict=True)
    ]


def _standings(intervals: Sequence[Interval | None]) -> list[Standing]:
    known = [interval for interval in intervals if interval is not None]
    if len(known) < 2 or any(interval.n == 1 for interval in known):
        return [""] * len(intervals)
    top = max(known, key=lambda interval: interval.mean)
    leading = [interval is not None and interval.overlaps(top) for interval in intervals]
    mark: Standing = "best" if sum(leading) == 1 else "level"
    return [mark if leads else "" for leads in leading]


def _rank(cell: Cell | None, metric: str) -> tuple[bool, float]:
    if cell is None or cell.interval is None:
        return True, 0.0
    return False, -cell.interval.mean if is_share(metric) else cell.interval.mean
