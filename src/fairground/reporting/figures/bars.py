"""Final scores: a line for each of the first `MOST_BARS` methods, its interval, and up to `MOST_DOTS` runs as dots."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairground.reporting.drawing import Draw, plain_axes
from fairground.reporting.headings import heading, show_interval, squeeze, unit
from fairground.reporting.palette import Palette, series_of
from fairground.reporting.tables import ResultTable, TableCell
from fairground.spec.measurement_names import is_share

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: dots a method; more would only blacken the line, and make the page heavy
MOST_DOTS = 100
#: methods drawn; the table has all of them, and nobody compares lines that are pages apart
MOST_BARS = 40
#: below this share of the largest value, differences drawn from zero would be too small to see
_VISIBLE = 0.15


@dataclass(frozen=True, kw_only=True)
class Bar:
    """One method's line; numbers are in the unit shown. Methods beyond the palette have no colour of their own."""

    label: str
    mean: float
    low: float | None
    high: float | None
    runs: tuple[float, ...]
    text: str
    series: int | None


@dataclass(frozen=True, kw_only=True)
class Bars:
    """All lines, best first. `from_zero` is off when the differences are small beside the values."""

    axis: str
    bars: tuple[Bar, ...]
    from_zero: bool


def bars_of(table: ResultTable, metric: str | None = None) -> Bars:
    """Return the data of the figure for one metric, the one the runs were selected by if not said."""
    metric = metric or table.primary
    factor = 100.0 if is_share(metric) else 1.0
    bars = []
    scored = [
        (index, row) for index, row in enumerate(table.rows) if metric in row.cells and row.cells[metric].interval
    ]
    for index, row in scored[:MOST_BARS]:
        cell = row.cells[metric]
        interval = cell.interval
        assert interval is not None
        bars.append(
            Bar(
                label=row.label,
                mean=factor * interval.mean,
                low=None if interval.low is None else factor * interval.low,
                high=None if interval.high is None else factor * interval.high,
                runs=tuple(factor * value for value in _spread(cell.values)),
                text=show_interval(metric, interval),
                series=series_of(index),
            )
        )
    values = [value for bar in bars for value in bar.runs]
    spread = max(values) - min(values) if values else 0.0
    from_zero = len(bars) == 1 or (bool(values) and min(values) >= 0 and spread >= _VISIBLE * max(values))
    axis = (
        f"{heading(metric)}{unit(metric)} on {table.split} classes{_left_out([row.cells[metric] for _, row in scored])}"
    )
    return Bars(axis=axis, bars=tuple(bars), from_zero=from_zero)


def _left_out(cells: Sequence[TableCell]) -> str:
    """Say of what only a part is drawn."""
    runs = f"; {MOST_DOTS} runs of each method drawn" if any(len(cell.values) > MOST_DOTS for cell in cells) else ""
    methods = f"; the first {MOST_BARS} of {len(cells)} methods drawn" if len(cells) > MOST_BARS else ""
    return runs + methods


def _spread(values: Sequence[float]) -> Sequence[float]:
    """Return all values, or as many as are drawn: from the lowest to the highest at equal shares of the runs."""
    if len(values) <= MOST_DOTS:
        return values
    ordered = sorted(values)
    return [ordered[round(place * (len(ordered) - 1) / (MOST_DOTS - 1))] for place in range(MOST_DOTS)]


def height_of(bars: Bars) -> float:
    """Return a height in inches that gives every method its line."""
    return 0.9 + 0.42 * max(1, len(bars.bars))


def draw_bars(bars: Bars, *, is_narrow: bool = False) -> Draw:
    """Return the drawing; narrow ones put the label above its line instead of beside it."""

    def draw(figure: "Figure", palette: Palette) -> None:
        axes = figure.add_subplot()
        draw_on(axes, bars, palette, is_narrow=is_narrow)

    return draw


def draw_on(axes: "Axes", bars: Bars, palette: Palette, *, is_narrow: bool = False) -> None:
    """Draw onto given axes, so that a picture can hold several figures."""
    plain_axes(axes, palette)
    axes.grid(visible=False, axis="y")
    for line, bar in enumerate(bars.bars):
        colour = palette.colour(bar.series)
        if bars.from_zero:
            axes.barh(line, bar.mean, height=0.5, color=colour, alpha=0.22, linewidth=0)
        if bar.low is not None and bar.high is not None:
            axes.plot([bar.low, bar.high], [line, line], color=colour, linewidth=2.2, solid_capstyle="butt")
            axes.plot([bar.low, bar.high], [line, line], "|", color=colour, markersize=9, markeredgewidth=2)
        # Below the line, where neither the interval nor the mean hides them.
        axes.plot(
            bar.runs, [line + 0.24] * len(bar.runs), "o", color=colour, markersize=4.5, alpha=0.6, markeredgewidth=0
        )
        axes.plot(bar.mean, line, "D", color=colour, markersize=6.5, markeredgewidth=0)
        axes.annotate(
            bar.text,
            (bar.mean, line),
            xytext=(0, 7),
            textcoords="offset points",
            ha="center",
            fontsize=9,
            color=palette.ink,
        )
        if is_narrow:
            edge = axes.get_yaxis_transform()
            axes.text(0, line - 0.46, squeeze(bar.label, 42), transform=edge, fontsize=9.5, color=palette.ink)
    _frame(axes, bars, palette, is_narrow=is_narrow)


def _frame(axes: "Axes", bars: Bars, palette: Palette, *, is_narrow: bool) -> None:
    labels = ["" if is_narrow else squeeze(bar.label, 44) for bar in bars.bars]
    axes.set_yticks(range(len(bars.bars)), labels, color=palette.ink)
    axes.set_ylim(len(bars.bars) - 0.5, -0.75)
    axes.set_xlabel(bars.axis, color=palette.soft)
    if bars.from_zero:
        ends = [end for bar in bars.bars for end in (bar.high, *bar.runs) if end is not None]
        axes.set_xlim(0, 1.08 * max(ends, default=1.0))
    else:
        axes.margins(x=0.12)
