"""Scores: each method's mean with its interval and its single runs, one row per method."""

from collections.abc import Sequence
from dataclasses import dataclass

from fairground.reporting.drawing import Bar, Label, Line, Panel, Points, panels, series_of
from fairground.reporting.figure import FigureInputs, ReportFigure, axis_of, factor_of
from fairground.reporting.headings import clean, show_interval
from fairground.reporting.tables import ResultTable

#: dots per method: more would only blacken the line and make the page heavy
MOST_DOTS = 100
#: methods drawn; the table has all of them
MOST_BARS = 40
#: below this share of the largest value, differences drawn from zero would be too small to see
_VISIBLE = 0.15


@dataclass(frozen=True, kw_only=True)
class ScoreBar:
    """One method's row; numbers are in the unit shown. Methods beyond the palette have no colour of their own."""

    label: str
    mean: float
    low: float | None
    high: float | None
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
        items: list[Bar | Label | Line | Points] = []
        for row, bar in enumerate(self.bars):
            if self.from_zero:
                items.append(Bar(row=row, value=bar.mean, series=bar.series, height=0.5, alpha=0.22))
            if bar.low is not None and bar.high is not None:
                ends = (bar.low, bar.high)
                items.append(Line(x=ends, y=(row, row), series=bar.series, dash=(0, ()), width=2.2))
                items.append(Points(x=ends, y=(row, row), series=bar.series, sign="|", size=9, alpha=1))
            # Below the line, where neither the interval nor the mean hides them.
            below = [row + 0.24] * len(bar.runs)
            items.append(Points(x=bar.runs, y=below, series=bar.series, sign="o", size=4.5, alpha=0.6))
            items.append(Points(x=[bar.mean], y=[row], series=bar.series, sign="D", size=6.5, alpha=1))
            items.append(Label(x=bar.mean, y=row, text=bar.text))
        ends_found = [end for bar in self.bars for end in (bar.high, *bar.runs) if end is not None]
        return Panel(
            items=items,
            rows=[bar.label for bar in self.bars],
            x=self.axis,
            x_range=(0, 1.08 * max(ends_found, default=1.0)) if self.from_zero else None,
            y_range=(len(self.bars) - 0.5, -0.75),
            margin=0.12,
        )


def score_bars_of(table: ResultTable) -> ScoreBars:
    """Return the rows of the figure by the metric the runs were selected by."""
    metric = table.primary
    factor = factor_of(metric)
    scored = [(rank, row) for rank, row in enumerate(table.rows) if metric in row.cells and row.cells[metric].interval]
    bars = []
    for rank, row in scored[:MOST_BARS]:
        interval = row.cells[metric].interval
        assert interval is not None
        bars.append(
            ScoreBar(
                label=row.label,
                mean=factor * interval.mean,
                low=None if interval.low is None else factor * interval.low,
                high=None if interval.high is None else factor * interval.high,
                runs=tuple(factor * value for value in _drawn_runs(row.cells[metric].values)),
                text=show_interval(metric, interval),
                series=series_of(rank),
            )
        )
    values = [value for bar in bars for value in bar.runs]
    spread = max(values) - min(values) if values else 0.0
    n_most = max((len(row.cells[metric].values) for _, row in scored), default=0)
    some_runs = f"; {MOST_DOTS} runs per method drawn" if n_most > MOST_DOTS else ""
    some_methods = f"; the first {MOST_BARS} of {len(scored)} methods drawn" if len(scored) > MOST_BARS else ""
    return ScoreBars(
        axis=f"{axis_of(metric)} on {table.split} classes{some_runs}{some_methods}",
        bars=tuple(bars),
        from_zero=len(bars) == 1 or (bool(values) and min(values) >= 0 and spread >= _VISIBLE * max(values)),
    )


def figure_for_paper(inputs: FigureInputs) -> ReportFigure | None:
    """Return the figure for a file; the page shows it with the results."""
    found = score_bars_of(inputs.table)
    if not found.bars:
        return None
    return ReportFigure(
        name="scores", title="Scores", sentence=found.description, draw=panels([found.panel()]), height=found.height
    )


def _drawn_runs(values: Sequence[float]) -> Sequence[float]:
    """Return all values, or evenly spaced quantiles of very many."""
    if len(values) <= MOST_DOTS:
        return values
    ordered = sorted(values)
    return [ordered[round(place * (len(ordered) - 1) / (MOST_DOTS - 1))] for place in range(MOST_DOTS)]
