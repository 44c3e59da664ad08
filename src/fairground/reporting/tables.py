"""The result table: methods by metrics, each cell a mean with its interval, and how it stands against the best.

Every metric has one comparison (`statistics.compare`), from which its means, intervals and `marks` are read. Rows of a
metric of which nobody says which way is better are sorted with the highest first and have no marks.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean, pstdev

from fairground.comparison.comparison_result import Comparison, GeneralityKind
from fairground.comparison.intervals import LEVEL, Interval
from fairground.errors import require
from fairground.records.record import RunRecord, SplitName
from fairground.reporting.class_scores import ClassScores
from fairground.reporting.compare_methods import MethodComparer
from fairground.reporting.marks import Mark, marks_of
from fairground.reporting.methods import Method, methods_of
from fairground.spec.catalogue import nearest
from fairground.studies.status import WaveStatus


@dataclass(frozen=True, kw_only=True)
class TableCell:
    """One method's metric: the single runs, their mean with its interval, and how it stands."""

    values: tuple[float, ...]
    interval: Interval | None
    mark: Mark


@dataclass(frozen=True, kw_only=True)
class EpochSpread:
    """The epochs selected in a method's runs: their mean and population deviation, as Roth's column Max. Epoch."""

    mean: float
    deviation: float
    n: int

    @property
    def text(self) -> str:
        """The mean with the deviation, of several runs."""
        return f"{self.mean:.1f} ± {self.deviation:.1f}" if self.n > 1 else f"{self.mean:.0f}"


@dataclass(frozen=True, kw_only=True)
class TableRow:
    """One method: how many of its runs finished out of how many begun, and a cell for each metric."""

    method: Method
    n_done: int
    n_runs: int
    cells: Mapping[str, TableCell]

    @property
    def label(self) -> str:
        """What the method is called."""
        return self.method.label

    @cached_property
    def best_epoch(self) -> EpochSpread | None:
        """When the method's trained runs were best; None where no run says so, as those averaged over folds."""
        epochs = [run.best_epoch for run in self.method.done if run.best_epoch is not None and not run.is_untrained]
        return EpochSpread(mean=fmean(epochs), deviation=pstdev(epochs), n=len(epochs)) if epochs else None


@dataclass(frozen=True, kw_only=True)
class ResultTable:
    """Rows are sorted by `primary`, the metric the runs were selected by; methods without a finished run come last.

    `higher_is_better` says of each metric what its scores say; None where nobody does. `comparisons` are those of the
    metrics that a finished run has; `waves` says how far seeds were added in waves, where they were.
    """

    metrics: tuple[str, ...]
    higher_is_better: Mapping[str, bool | None]
    primary: str
    split: SplitName
    level: float
    rows: tuple[TableRow, ...]
    comparisons: Mapping[str, Comparison]
    waves: WaveStatus | None = None

    @classmethod
    def from_records(
        cls,
        records: Iterable[RunRecord],
        *,
        split: SplitName | None = None,
        metrics: Sequence[str] | None = None,
        names: Mapping[str, str] | None = None,
        primary: str | None = None,
        level: float = LEVEL,
        margin: float | None = None,
        over: GeneralityKind = "seeds",
        classes: ClassScores | None = None,
    ) -> "ResultTable":
        """Make the table; `split` left out means test, or validation while the test split is sealed.

        `primary` says by which metric to sort, if not by the one the runs were selected by. `margin` is the difference
        that does not matter, in the unit shown; half a point if left out. `over` says over what intervals hold, from
        `classes` where that is not seeds alone; metrics without scores by class are then left out.
        """
        methods = methods_of(records, names)
        split = split or _opened_split(methods)
        found = tuple(metrics or _metrics_of(methods, split))
        if primary is not None:
            refuse_unknown_metric(methods, primary)
        primary = primary or _primary(methods, found)
        # What the runs were selected by comes first, unless the caller chose the columns.
        metrics = found if metrics or not primary else (primary, *(metric for metric in found if metric != primary))
        comparer = MethodComparer.for_methods(methods, level=level, margin=margin, over=over, classes=classes)
        metrics = tuple(metric for metric in metrics if metric == primary or comparer.can_compare(metric))
        directions = {metric: _direction(methods, metric) for metric in metrics}
        by_metric = {
            metric: {method.label: some for method in methods if (some := method.by_seed(metric, split))}
            for metric in metrics
        }
        comparisons = {
            # Seeds are planned by one metric; nobody reads those of another.
            metric: comparer.compare(
                metric, some, is_higher=directions[metric] is not False, is_planned=metric == primary
            )
            for metric, some in by_metric.items()
            if some
        }
        marks = {metric: marks_of(one) if directions[metric] is not None else {} for metric, one in comparisons.items()}
        rows = [
            TableRow(
                method=method,
                n_done=len(method.done),
                n_runs=len(method.records),
                cells={
                    metric: TableCell(
                        values=tuple(method.values(metric, split)),
                        interval=comparisons[metric].interval(method.label) if metric in comparisons else None,
                        mark=marks.get(metric, {}).get(method.label, ""),
                    )
                    for metric in metrics
                },
            )
            for method in methods
        ]
        ranked = [one.name for one in comparisons[primary].methods] if primary in comparisons else []
        place = {label: i for i, label in enumerate(ranked)}
        rows.sort(key=lambda row: place.get(row.label, len(place)))
        return cls(
            metrics=metrics,
            higher_is_better=directions,
            primary=primary,
            split=split,
            level=comparer.level,
            waves=comparer.waves,
            rows=tuple(rows),
            comparisons=comparisons,
        )

    def row(self, label: str) -> TableRow:
        """Return the row of the method called `label`."""
        found = next((row for row in self.rows if row.label == label), None)
        require(found is not None, f"no method '{label}' in the table; there are: {[row.label for row in self.rows]}")
        assert found is not None
        return found

    def values(self, metric: str | None = None) -> dict[str, dict[int, float]]:
        """Return each method's value by seed, of the methods that have any."""
        chosen = metric or self.primary
        found = {row.label: row.method.by_seed(chosen, self.split) for row in self.rows}
        return {label: values for label, values in found.items() if values}

    @property
    def extreme(self) -> str:
        """What the best value by `primary` is: the lowest where less is better."""
        return "lowest" if self.higher_is_better.get(self.primary) is False else "highest"

    def without_marks(self) -> "ResultTable":
        """Return the table with nobody called best: for runs that may not be compared."""
        rows = [
            replace(row, cells={metric: replace(cell, mark="") for metric, cell in row.cells.items()})
            for row in self.rows
        ]
        return replace(self, rows=tuple(rows))

    @property
    def has_epochs(self) -> bool:
        """Tell whether any row has a best epoch."""
        return any(row.best_epoch is not None for row in self.rows)

    @property
    def has_marks(self) -> bool:
        """Tell whether any cell is marked, so that the marks need explaining."""
        return any(cell.mark for row in self.rows for cell in row.cells.values())


def refuse_unknown_metric(methods: Sequence[Method], metric: str) -> None:
    """Refuse a metric that no run has, suggesting the nearest right one."""
    split = _opened_split(methods)
    found = _metrics_of(methods, split)
    there = f"There are {', '.join(found)}."
    require(metric in found, f"no {split} score '{metric}' in these runs.{nearest(metric, found)} {there}")


def _opened_split(methods: Sequence[Method]) -> SplitName:
    return "test" if any(split == "test" for method in methods for _, split in method.scored) else "validation"


def _metrics_of(methods: Sequence[Method], split: SplitName) -> list[str]:
    return list(dict.fromkeys(metric for method in methods for metric, one in method.scored if one == split))


def _primary(methods: Sequence[Method], metrics: Sequence[str]) -> str:
    """Return the metric the runs were selected by; the last column when they were selected by several or another."""
    evaluations = [method.records[0].spec.get("evaluation") for method in methods]
    chosen = {str(evaluation.get("select_by")) for evaluation in evaluations if isinstance(evaluation, Mapping)}
    wanted = chosen.pop() if len(chosen) == 1 else ""
    return wanted if wanted in metrics else (metrics[-1] if metrics else "")


def _direction(methods: Sequence[Method], metric: str) -> bool | None:
    said = (record.higher_is_better(metric) for method in methods for record in method.done)
    return next((direction for direction in said if direction is not None), None)
