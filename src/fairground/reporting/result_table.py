"""The result table: methods by metrics, each cell a mean with its interval, and marks for the primary metric.

Every metric has one comparison, from which its means and intervals are read. Marks stand for the primary metric only:
its comparisons are corrected for each other, so a false "better" appears in at most 5 of 100 tables. Rows of a metric
that does not declare a direction are sorted with the highest first and have no marks.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean
from typing import Literal

from fairground import comparison, reporting, studies
from fairground.comparison import LEVEL, Comparison, FairnessResult, GeneralityKind, Interval, check_fairness, seed_of
from fairground.comparison.compare_values import PairsAsked, compare_values
from fairground.records import RunRecord, SplitName
from fairground.reporting import Method, methods_of
from fairground.spec import SeedProcedure, StudySpec, data_name, flatten, in_unit, nearest, require

#: `best` the leader once it is settled against all, `equivalent` within the margin of the leader, `unsettled` the
#: leader and what these runs cannot tell from it
Mark = Literal["best", "equivalent", "unsettled", ""]
#: two names of the metric the papers draw, first choice first
PRECISION_AT_1 = ("recall@1", "precision@1")
#: what every row and verdict of an unfair table begins with
UNFAIR = "[unfair] "


@dataclass(frozen=True, kw_only=True)
class TableCell:
    """One method's metric: the single runs, their mean with its interval, and its mark."""

    values: tuple[float, ...]
    interval: Interval | None
    mark: Mark


@dataclass(frozen=True, kw_only=True)
class ResultTable:
    """Rows are methods with a cell per metric, sorted by `primary`, the metric of selection; unfinished ones come last.

    `higher_is_better` is None for a metric that does not declare a direction. `comparisons` are those of the metrics
    that a finished run has; `waves` is there if seeds were added in waves. `methods` are in the order of their runs.
    `imported` are rows of others' numbers on the same data, which are shown and take no part in anything else.
    `study` is the one they belong to: where it does not ask which method is best, none is marked.
    """

    metrics: tuple[str, ...]
    higher_is_better: Mapping[str, bool | None]
    primary: str
    split: SplitName
    level: float
    rows: tuple[Method, ...]
    comparisons: Mapping[str, Comparison]
    methods: tuple[Method, ...]
    waves: "comparison.Wave | None" = None
    imported: tuple[Method, ...] = ()
    study: StudySpec | None = None

    @classmethod
    def from_records(
        cls,
        records: Iterable[RunRecord],
        *,
        names: Mapping[str, str] | None = None,
        primary: str | None = None,
        has_all_metrics: bool = True,
        level: float = LEVEL,
        margin: float | None = None,
        over: GeneralityKind = "seeds",
        classes: "reporting.ClassScores | None" = None,
        study: StudySpec | None = None,
    ) -> "ResultTable":
        """Make the table on the test split, or on validation while that is sealed.

        `primary` is the metric to sort by and the first column, by default the metric of selection. `margin` is the
        difference that does not matter, in the unit shown; half a point by default. `over` is what intervals hold over,
        from `classes` where that is not seeds alone; the table then has `primary` alone.
        """
        kept = tuple(records)
        methods = methods_of([record for record in kept if not record.is_imported], names)
        ours = {data_name(record.spec.get("data")) for record in kept if not record.is_imported}
        found = [r for r in kept if r.is_imported and (not ours or data_name(r.spec.get("data")) in ours)]
        imported = methods_of(found, {r.method: f"{flatten(r.spec)['imported.method']} (imported)" for r in found})
        shown = methods or imported
        is_opened = any(one == "test" for method in shown for _, one in method.scored)
        split: SplitName = "test" if is_opened else "validation"
        known = list(dict.fromkeys(metric for method in shown for metric, one in method.scored if one == split))
        if primary is not None:
            hint = f"{nearest(primary, known)} There are {', '.join(known)}."
            require(primary in known, f"no {split} score '{primary}' in these runs.{hint}")
        primary = primary or _selected_by(methods, known)
        others = [metric for metric in known if metric != primary] if has_all_metrics and over == "seeds" else []
        comparer = MethodComparer(methods, level=level, margin=margin, over=over, classes=classes)
        metrics = (primary, *others) if primary else ()
        directions = {metric: _direction(methods, metric) for metric in metrics}
        comparisons = {
            # Seeds are planned by the primary metric only; by others only what figures draw is compared.
            metric: comparer.compare(
                metric,
                some,
                is_higher=directions[metric] is not False,
                pairs="planned" if metric == primary else "compared" if metric in PRECISION_AT_1 else "none",
            )
            for metric in metrics
            if (some := {method.label: by for method in methods if (by := method.by_seed(metric, split))})
        }
        is_ranked = study is None or study.kind == "ranking"
        has_marks = is_ranked and primary in comparisons and directions[primary] is not None
        marks = marks_of(comparisons[primary]) if has_marks else {}

        def row(method: Method, compared: Mapping[str, Comparison]) -> Method:
            cells = {}
            for metric in metrics:
                values = tuple(method.values(metric, split))
                interval: Interval | None = Interval(mean=fmean(values), n=len(values)) if values else None
                if metric in compared:
                    interval = compared[metric].estimates.get(method.label)
                mark = marks.get(method.label, "") if metric == primary else ""
                cells[metric] = TableCell(values=values, interval=interval, mark=mark)
            return replace(method, cells=cells)

        rows = [row(method, comparisons) for method in methods]
        ranked = [one.name for one in comparisons[primary].methods] if primary in comparisons else []
        rows.sort(key=lambda row: ranked.index(row.label) if row.label in ranked else len(ranked))
        return cls(
            metrics=metrics,
            higher_is_better=directions,
            primary=primary,
            split=split,
            level=comparer.level,
            waves=comparer.wave,
            rows=tuple(rows),
            comparisons=comparisons,
            methods=tuple(methods),
            imported=tuple(row(method, {}) for method in imported),
            study=study,
        )

    def values(self) -> dict[str, dict[int, float]]:
        found = {row.label: row.by_seed(self.primary, self.split) for row in self.rows}
        return {label: values for label, values in found.items() if values}

    @property
    def comparison(self) -> Comparison:
        """The comparison by the primary metric, there if a run has finished."""
        return self.comparisons[self.primary]

    @property
    def has_direction(self) -> bool:
        return self.higher_is_better.get(self.primary) is not None

    @property
    def best(self) -> tuple[str, ...]:
        """Every method that no other is better than; empty without a direction."""
        return self.comparison.best if self.has_direction else ()

    @property
    def extreme(self) -> str:
        return "lowest" if self.higher_is_better.get(self.primary) is False else "highest"

    @cached_property
    def fairness(self) -> FairnessResult:
        """Whether the methods may be compared; without a ranking or a direction no method is called better."""
        found, study = self.comparisons.get(self.primary), self.study
        return check_fairness(
            {method.label: method.records for method in self.methods},
            metric=self.primary,
            split=self.split,
            comparison=found if self.has_direction and (study is None or study.kind == "ranking") else None,
            varied=() if study is None else study.varied,
            imported=[row.label for row in self.imported],
        )

    @property
    def is_fair(self) -> bool:
        return not self.comparisons or self.fairness.is_fair

    def shown(self) -> "ResultTable":
        """Return the table to show: of runs that may not be compared, every row says so and none is marked as best."""
        if self.is_fair:
            return self
        marked = [{metric: replace(cell, mark="") for metric, cell in row.cells.items()} for row in self.rows]
        rows = zip(self.rows, marked, strict=True)
        return replace(self, rows=tuple(replace(row, label=UNFAIR + row.label, cells=cells) for row, cells in rows))

    @property
    def has_epochs(self) -> bool:
        return any(row.best_epochs for row in self.rows)

    @property
    def has_marks(self) -> bool:
        return any(cell.mark for row in self.rows for cell in row.cells.values())


def _selected_by(methods: Sequence[Method], metrics: Sequence[str]) -> str:
    """Return the metric of selection; the last column when there were several or it is not among the columns."""
    chosen = {method.settings.get("evaluation.select_by", "") for method in methods} - {""}
    wanted = chosen.pop() if len(chosen) == 1 else ""
    return wanted if wanted in metrics else (metrics[-1] if metrics else "")


def _direction(methods: Sequence[Method], metric: str) -> bool | None:
    declared = (record.higher_is_better(metric) for method in methods for record in method.done)
    return next((direction for direction in declared if direction is not None), None)


def marks_of(comparison: Comparison) -> dict[str, Mark]:
    """Return the marks of the methods that no other is better than; one run may be luck and has none."""
    comparison = comparison.repeated
    if len(comparison.methods) < 2:
        return {}
    leader, *others = comparison.best
    found: dict[str, Mark] = {}
    for label in others:
        found[label] = "equivalent" if comparison.pair(leader, label).verdict == "equivalent" else "unsettled"
    return {leader: "unsettled" if "unsettled" in found.values() else "best", **found}


class MethodComparer:
    """Compares methods by any metric, over seeds (a fixed number or in waves), over test classes, or over both.

    `margin` is in the unit shown. Where the records say that one procedure gave all runs their seeds in waves, every
    look it took is paid for, whatever metric is compared.
    """

    def __init__(
        self,
        methods: Sequence[Method],
        *,
        level: float = LEVEL,
        margin: float | None = None,
        over: GeneralityKind = "seeds",
        classes: "reporting.ClassScores | None" = None,
    ) -> None:
        self.methods, self.level, self.margin, self.over, self.classes = methods, level, margin, over, classes
        self.wave: comparison.Wave | None = None
        procedures = {record.seed_procedure for method in methods for record in method.records}
        self.procedure = procedures.pop() if len(procedures) == 1 and len(methods) > 1 else None
        if self.procedure is None:
            return
        refused = "runs made in waves are compared over seeds: generality must be 'seeds'"
        require(over == "seeds", f"{refused}; got '{over}'")
        planned = self.procedure.plan.level
        refused = f"these runs were made in waves at until_settled.level {planned:g}: level must be the same"
        require(level in (LEVEL, planned), f"{refused}; got {level:g}")
        values = {method.label: method.by_seed(self.procedure.metric, "test") for method in methods}
        self.level, self.wave = planned, _wave(methods, values, self.procedure)

    def compare(
        self, metric: str, values: Mapping[str, Mapping[int, float]], *, is_higher: bool, pairs: PairsAsked
    ) -> Comparison:
        """Compare the methods by their values by seed; `pairs` as in `compare_values`."""
        shown = self.margin
        if shown is None and self.procedure is not None and metric == self.procedure.metric:
            shown = self.procedure.plan.margin
        margin = None if shown is None else in_unit(metric, shown)
        if self.over != "seeds":
            assert self.classes is not None
            found = self.classes.generality(metric, self.methods, level=self.level, margin=margin, is_higher=is_higher)
            return found.over(self.over)
        if self.wave is None:
            return compare_values(values, level=self.level, margin=margin, higher_is_better=is_higher, pairs=pairs)
        return comparison.compare_in_waves(values, self.wave, margin=margin, higher_is_better=is_higher)


def _wave(
    methods: Sequence[Method], values: Mapping[str, Mapping[int, float]], procedure: SeedProcedure
) -> "comparison.Wave":
    if any("ensemble" in record.spec for method in methods for record in method.records):
        # Models are joined once the waves of their single ones are over: every look has been taken.
        plan = procedure.plan
        most = max((len(seeds) for seeds in values.values()), default=0)
        given = {label: tuple(seed for seed in procedure.seeds if seed in seeds) for label, seeds in values.items()}
        done, n_looks = {label: len(seeds) for label, seeds in given.items()}, sum(n <= most for n in plan.looks)
        return comparison.Wave(given=given, seeds=done, in_question=(), n_looks=n_looks, state="settled", plan=plan)
    lost = [
        (method.label, seed_of(record))
        for method in methods
        for record in method.records
        if record.state != "done" and seed_of(record) not in values[method.label]
    ]
    return studies.wave_of(values, lost, procedure, is_higher=_direction(methods, procedure.metric) is not False)
