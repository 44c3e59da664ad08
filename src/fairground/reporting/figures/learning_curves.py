"""Learning curves: the validation score after each epoch, one line per method, a band over its seeds."""

from dataclasses import dataclass
from statistics import fmean
from typing import Any

from fairground.reporting.drawing import Key, Line, Panel, panels, series_of
from fairground.reporting.figure import FigureInputs, ReportFigure, axis_of, factor_of
from fairground.reporting.headings import clean
from fairground.reporting.tables import ResultTable


@dataclass(frozen=True, kw_only=True)
class LearningCurve:
    """One method: mean, lowest and highest score over its seeds at each epoch."""

    label: str
    epochs: tuple[int, ...]
    means: tuple[float, ...]
    lows: tuple[float, ...]
    highs: tuple[float, ...]
    series: int | None


@dataclass(frozen=True, kw_only=True)
class LearningCurves:
    """All curves, best method first."""

    axis: str
    curves: tuple[LearningCurve, ...]

    @property
    def description(self) -> str:
        listed = "; ".join(f"{clean(curve.label)} ends at {curve.means[-1]:.2f}" for curve in self.curves[:12])
        return f"{self.axis} after each epoch, mean and range over seeds: {listed}"

    @property
    def keys(self) -> list[Key]:
        return [Key(text=curve.label, series=curve.series, kind="line") for curve in self.curves]

    def panel(self) -> Panel:
        lines = []
        for curve in reversed(self.curves):  # the best on top
            grey = {"width": 0.8, "alpha": 0.45}
            band = {"low": curve.lows, "high": curve.highs}
            look: dict[str, Any] = grey if curve.series is None else band
            lines.append(Line(x=curve.epochs, y=curve.means, series=curve.series, **look))
        return Panel(items=lines, x="epoch", y=self.axis, margin=0.02, has_whole_x=True)


def learning_curves_of(table: ResultTable) -> LearningCurves:
    """Return the curves by the metric of selection; a method measured once, as before any training, has none."""
    metric = table.primary
    factor = factor_of(metric)
    found = []
    for rank, row in enumerate(table.rows):
        at: dict[int, list[float]] = {}
        for epoch in (epoch for record in row.method.records for epoch in record.epochs):
            if metric in epoch.validation:
                at.setdefault(epoch.epoch, []).append(factor * epoch.validation[metric])
        if len(at) > 1:
            scores = [at[epoch] for epoch in sorted(at)]
            found.append(
                LearningCurve(
                    label=row.label,
                    epochs=tuple(sorted(at)),
                    means=tuple(map(fmean, scores)),
                    lows=tuple(map(min, scores)),
                    highs=tuple(map(max, scores)),
                    series=series_of(rank),
                )
            )
    return LearningCurves(axis=f"{axis_of(metric)} on validation classes", curves=tuple(found))


def figure_for_paper(inputs: FigureInputs) -> ReportFigure | None:
    """Return the figure for a file; the page has its own legend."""
    found = learning_curves_of(inputs.table)
    if not found.curves:
        return None
    draw = panels([found.panel()], keys=found.keys)
    return ReportFigure(
        name="learning_curves", title="Learning curves", sentence=found.description, draw=draw, height=4.2
    )
