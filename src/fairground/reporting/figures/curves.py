"""Learning curves: the validation score after each epoch, one line a method, a band over its seeds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from fairground.reporting.drawing import Draw, plain_axes
from fairground.reporting.headings import heading, shorten, unit
from fairground.reporting.methods import Method
from fairground.reporting.palette import Palette, dash_of, series_of
from fairground.reporting.tables import ResultTable
from fairground.spec.measurement_names import is_share

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, kw_only=True)
class LearningCurve:
    """One method: mean, lowest and highest score over its seeds at each epoch, and how many seeds reached it."""

    label: str
    epochs: tuple[int, ...]
    means: tuple[float, ...]
    lows: tuple[float, ...]
    highs: tuple[float, ...]
    counts: tuple[int, ...]
    series: int | None


@dataclass(frozen=True, kw_only=True)
class Curves:
    """All curves, best method first."""

    axis: str
    curves: tuple[LearningCurve, ...]


def curves_of(table: ResultTable, metric: str | None = None) -> Curves:
    """Return the data of the figure for one metric, the one the runs were selected by if not said.

    A method measured once, as before any training, has no curve.
    """
    metric = metric or table.primary
    found = [_curve(row.method, metric, index) for index, row in enumerate(table.rows)]
    curves = tuple(curve for curve in found if len(curve.epochs) > 1)
    return Curves(axis=f"{heading(metric)}{unit(metric)} on validation classes", curves=curves)


def draw_curves(curves: Curves, *, has_legend: bool = False) -> Draw:
    """Return the drawing; the page has its own legend, a file needs one."""

    def draw(figure: "Figure", palette: Palette) -> None:
        axes = figure.add_subplot()
        draw_on(axes, curves, palette, has_legend=has_legend)

    return draw


def draw_on(axes: "Axes", curves: Curves, palette: Palette, *, has_legend: bool) -> None:
    """Draw onto given axes, so that a picture can hold several figures."""
    from matplotlib.ticker import MaxNLocator

    plain_axes(axes, palette)
    axes.grid(visible=False, axis="x")
    # The best last, so that it lies on top.
    for curve in reversed(curves.curves):
        is_distinguished = curve.series is not None
        colour = palette.colour(curve.series)
        if is_distinguished:
            axes.fill_between(curve.epochs, curve.lows, curve.highs, color=colour, alpha=0.14, linewidth=0)
        axes.plot(
            curve.epochs,
            curve.means,
            color=colour,
            linestyle=dash_of(curve.series),
            linewidth=2.0 if is_distinguished else 0.8,
            alpha=1.0 if is_distinguished else 0.45,
            marker="o" if len(curve.epochs) == 1 else None,
            markersize=4,
        )
    axes.set_xlabel("epoch", color=palette.soft)
    axes.set_ylabel(curves.axis, color=palette.soft)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.margins(x=0.02)
    if has_legend and curves.curves:
        _draw_legend(axes, curves, palette)


def _draw_legend(axes: "Axes", curves: Curves, palette: Palette) -> None:
    from matplotlib.lines import Line2D

    shown = [curve for curve in curves.curves if curve.series is not None]
    handles = [Line2D([], [], color=palette.colour(c.series), linestyle=dash_of(c.series), linewidth=2) for c in shown]
    # The leading space: matplotlib hides a name that begins with an underscore.
    names = [" " + shorten(curve.label, 36) for curve in shown]
    axes.legend(handles, names, frameon=False, fontsize=9, labelcolor=palette.ink, loc="lower right")


def _curve(method: Method, metric: str, index: int) -> LearningCurve:
    factor = 100.0 if is_share(metric) else 1.0
    at: dict[int, list[float]] = {}
    for record in method.records:
        for row in record.epochs:
            if metric in row.validation:
                at.setdefault(row.epoch, []).append(factor * row.validation[metric])
    epochs = sorted(at)

    def each(function: Callable[[Sequence[float]], float]) -> tuple[float, ...]:
        return tuple(function(at[epoch]) for epoch in epochs)

    return LearningCurve(
        label=method.label,
        epochs=tuple(epochs),
        means=each(fmean),
        lows=each(min),
        highs=each(max),
        counts=tuple(len(at[epoch]) for epoch in epochs),
        series=series_of(index),
    )
