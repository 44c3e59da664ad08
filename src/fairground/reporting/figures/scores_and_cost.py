"""Scores with intervals and single runs, learning curves, and what a score costs in time and memory."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import fmean
from typing import Any, NamedTuple

from fairground.reporting.drawing import SOLID, Bar, Key, Line, Panel, Points, panels, series_of
from fairground.reporting.figure import FigureInputs, ReportFigure, axis_of, count, factor_of
from fairground.reporting.headings import clean, duration, show_interval, size
from fairground.reporting.tables import ResultTable

PAGE_ORDER = {"scores": 0, "learning_curves": 1, "cost": 110}
#: dots per method: more would only blacken the line and make the page heavy
MOST_DOTS = 100
#: methods drawn; the table has all of them
MOST_BARS = 40
#: below this share of the largest value, differences drawn from zero would be too small to see
_VISIBLE = 0.15


class ScoreBar(NamedTuple):
    """One method's row; numbers are in the unit shown. Methods beyond the palette have no colour of their own."""

    label: str
    mean: float
    ends: tuple[float, float] | None
    runs: tuple[float, ...]
    text: str
    series: int | None


@dataclass(frozen=True, kw_only=True)
class ScoreBars:
    """All rows, best first. `from_zero` is off when the differences are small beside the values."""

    axis: str
    bars: tuple[ScoreBar, ...]
    from_zero: bool

    @property
    def height(self) -> float:
        return 0.9 + 0.42 * max(1, len(self.bars))

    @property
    def description(self) -> str:
        listed = "; ".join(f"{clean(bar.label)} {bar.text}" for bar in self.bars[:12])
        return f"{self.axis}, mean, 95 % interval and single runs: {listed}"

    def panel(self) -> Panel:
        items: list[Bar | Line | Points] = []
        for row, (_, mean, ends, runs, text, series) in enumerate(self.bars):
            if self.from_zero:
                items.append(Bar(row=row, value=mean, series=series, height=0.5, alpha=0.22))
            if ends is not None:
                items.append(Line(x=ends, y=(row, row), series=series, dash=SOLID, width=2.2))
                items.append(Points(x=ends, y=(row, row), series=series, sign="|", size=9, alpha=1))
            # Below the line, where neither the interval nor the mean hides them.
            items.append(Points(x=runs, y=[row + 0.24] * len(runs), series=series, sign="o", size=4.5, alpha=0.6))
            items.append(Points(x=[mean], y=[row], series=series, sign="D", size=6.5, alpha=1, text=text))
        most = max((value for bar in self.bars for value in (*(bar.ends or ()), *bar.runs)), default=1.0)
        return Panel(
            items=items,
            rows=[bar.label for bar in self.bars],
            x=self.axis,
            x_range=(0, 1.08 * most) if self.from_zero else None,
            y_range=(len(self.bars) - 0.5, -0.75),
            margin=0.12,
        )


def score_bars_of(table: ResultTable) -> ScoreBars:
    """Return the rows of the figure by the metric the runs were selected by."""
    metric, factor = table.primary, factor_of(table.primary)
    cells = [(rank, row.label, row.cells[metric]) for rank, row in enumerate(table.rows) if metric in row.cells]
    bars, n_most = [], 0
    for rank, label, cell in cells:
        interval = cell.interval
        if interval is None:
            continue
        n_most = max(n_most, len(cell.values))
        low, high = interval.low, interval.high
        ends = None if low is None or high is None else (factor * low, factor * high)
        runs = tuple(factor * value for value in _drawn_runs(cell.values))
        text = show_interval(metric, interval)
        bars.append(ScoreBar(label, factor * interval.mean, ends, runs, text, series_of(rank)))
    some_runs = f"; {MOST_DOTS} runs per method drawn" if n_most > MOST_DOTS else ""
    some_methods = f"; the first {MOST_BARS} of {len(bars)} methods drawn" if len(bars) > MOST_BARS else ""
    values = [value for bar in bars[:MOST_BARS] for value in bar.runs]
    is_wide = bool(values) and min(values) >= 0 and max(values) - min(values) >= _VISIBLE * max(values)
    return ScoreBars(
        axis=f"{axis_of(metric)} on {table.split} classes{some_runs}{some_methods}",
        bars=tuple(bars[:MOST_BARS]),
        from_zero=len(bars) == 1 or is_wide,
    )


def _drawn_runs(values: Sequence[float]) -> Sequence[float]:
    """Return all values, or evenly spaced quantiles of very many."""
    if len(values) <= MOST_DOTS:
        return values
    ordered = sorted(values)
    return [ordered[round(place * (len(ordered) - 1) / (MOST_DOTS - 1))] for place in range(MOST_DOTS)]


def scores(inputs: FigureInputs) -> ReportFigure | None:
    """Each method's mean with its interval and its single runs; the page shows it with the results."""
    found = score_bars_of(inputs.table)
    if not found.bars:
        return None
    return ReportFigure(
        name="scores",
        title="Scores",
        sentence=f"{found.description}.",
        draw=panels([found.panel()]),
        height=found.height,
        is_for_page=False,
    )


class LearningCurve(NamedTuple):
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
        for _, epochs, means, lows, highs, series in reversed(self.curves):  # the best on top
            look: dict[str, Any] = {"width": 0.8, "alpha": 0.45} if series is None else {"low": lows, "high": highs}
            lines.append(Line(x=epochs, y=means, series=series, **look))
        return Panel(items=lines, x="epoch", y=self.axis, margin=0.02, has_whole_x=True)


def learning_curves_of(table: ResultTable) -> LearningCurves:
    """Return the curves by the metric of selection; a method measured once, as before any training, has none."""
    metric, factor = table.primary, factor_of(table.primary)
    found = []
    for rank, row in enumerate(table.rows):
        at: dict[int, list[float]] = {}
        for epoch in (epoch for record in row.method.records for epoch in record.epochs):
            if metric in epoch.validation:
                at.setdefault(epoch.epoch, []).append(factor * epoch.validation[metric])
        if len(at) > 1:
            epochs, values = zip(*sorted(at.items()), strict=True)
            means, ends = tuple(map(fmean, values)), (tuple(map(min, values)), tuple(map(max, values)))
            found.append(LearningCurve(row.label, epochs, means, *ends, series_of(rank)))
    return LearningCurves(axis=f"{axis_of(metric)} on validation classes", curves=tuple(found))


def learning_curves(inputs: FigureInputs) -> ReportFigure | None:
    """The validation score after each epoch, a line per method and a band over its seeds; the page has a legend."""
    found = learning_curves_of(inputs.table)
    if not found.curves:
        return None
    return ReportFigure(
        name="learning_curves",
        title="Learning curves",
        sentence=f"{found.description}.",
        draw=panels([found.panel()], keys=found.keys),
        height=4.2,
        is_for_page=False,
    )


def cost(inputs: FigureInputs) -> ReportFigure | None:
    """Accuracy against the time and the peak memory of a run, for at least two methods."""
    rows = [
        (
            method.label,
            fmean(values),
            fmean(run.provenance.wall_seconds for run in method.done),
            fmean(run.provenance.peak_memory_bytes for run in method.done),
        )
        for method in inputs.methods
        if (values := inputs.scores(method))
    ]
    if len(rows) < 2:
        return None
    axis = axis_of(inputs.metric)
    n_runs = sum(len(inputs.scores(method)) for method in inputs.methods)
    machines = len({run.provenance.hardware for run in inputs.done})
    caveat = f" The runs were made on {machines} different machines: times do not compare." if machines > 1 else ""
    # The best last, to be on top; neighbours of one colour together, for there may be hundreds.
    alike = [(series, list(some)) for series, some in groupby(reversed(rows), key=lambda row: inputs.series[row[0]])]
    drawn = []
    for name, column, unit in (("seconds per run", 2, 1.0), ("peak memory, MB", 3, 1e6)):
        spent = {row[0]: float(row[column]) / unit for row in rows}
        items = [
            Points(x=[spent[row[0]] for row in some], y=[row[1] for row in some], series=series, size=8, alpha=0.85)
            for series, some in alike
        ]
        is_wide = max(spent.values()) > 20 * max(min(spent.values()), 1e-9)
        drawn.append(Panel(items=items, x=name, y=axis, log="x" if is_wide else "", margin=0.15))
    return ReportFigure(
        name="cost",
        title="Accuracy against time and memory",
        sentence=(
            f"Mean {axis} against the mean time and peak memory of a run, {count(len(rows), 'method')}, "
            f"{count(n_runs, 'run')}. Up and to the left is better.{caveat}"
        ),
        draw=panels(drawn, keys=[Key(text=label, series=inputs.series[label]) for label, *_ in rows]),
        height=3.7,
        columns=("method", axis, "time", "peak memory"),
        rows=[(label, score, duration(seconds), size(memory)) for label, score, seconds, memory in rows],
    )
