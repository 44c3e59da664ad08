"""The course of each method's search: every trial's validation score, and the best so far.

Paper
    Musgrave, Belongie and Lim, "A Metric Learning Reality Check", ECCV 2020, optimisation plots of its supplementary
    page.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from fairground.reporting.drawing import Draw, axes_in, plain_axes
from fairground.reporting.figure import ReportFigure
from fairground.reporting.figure_inputs import FigureInputs, count, factor_of
from fairground.reporting.headings import heading, squeeze, unit
from fairground.reporting.palette import Palette
from fairground.studies.search_analysis import TracePoint, trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PAGE_ORDER = 100
_MOST = 8

Traces = Mapping[str, Sequence[TracePoint]]


def traces_of(inputs: FigureInputs) -> dict[str, list[TracePoint]]:
    """Return the course of every search with a finished trial."""
    found = {label: trace(trials) for label, trials in inputs.trials.items()}
    return {label: points for label, points in found.items() if any(point.score is not None for point in points)}


def figure_of(inputs: FigureInputs) -> ReportFigure | None:
    """Return the figure when settings were searched."""
    found = traces_of(inputs)
    if not found:
        return None
    axis, factor = f"Validation {heading(inputs.metric)}{unit(inputs.metric)}", factor_of(inputs.metric)
    shown = dict(list(found.items())[:_MOST])
    n_trials = sum(len(points) for points in found.values())
    left_out = f" The first {_MOST} are drawn." if len(found) > _MOST else ""
    rows = -(-len(shown) // 2)
    return ReportFigure(
        name="traces",
        title="The course of each search",
        sentence=(
            f"{axis} of every finished trial in the order of asking, and the best so far: {count(n_trials, 'trial')} "
            f"of {count(len(found), 'method')}. A line still moving at the end asks for more trials.{left_out}"
        ),
        draw=lambda is_narrow: _drawn(shown, axis, factor, is_narrow),
        height=0.6 + 2.1 * rows,
        narrow_height=0.6 + 1.9 * len(shown),
        columns=("method", "trials", "finished", "best"),
        numbers=tuple(
            (
                label,
                str(len(points)),
                str(sum(p.score is not None for p in points)),
                f"{factor * (points[-1].best or 0):.2f}",
            )
            for label, points in found.items()
        ),
    )


def _drawn(found: Traces, axis: str, factor: float, is_narrow: bool) -> Draw:
    def draw(figure: "Figure", palette: Palette) -> None:
        every = axes_in(figure, len(found), is_narrow=is_narrow, share_y=True)
        for axes, (label, points) in zip(every, found.items(), strict=True):
            _draw_one(axes, label, points, factor, palette)
        figure.supylabel(axis, color=palette.soft, fontsize=9.5)

    return draw


def _draw_one(axes: "Axes", label: str, points: Sequence[TracePoint], factor: float, palette: Palette) -> None:
    from matplotlib.ticker import MaxNLocator

    plain_axes(axes, palette)
    scored = [(point.number, factor * point.score) for point in points if point.score is not None]
    best = [(point.number, factor * point.best) for point in points if point.best is not None]
    axes.plot(*zip(*scored, strict=True), "o", color=palette.soft, markersize=4, alpha=0.7, markeredgewidth=0)
    axes.plot(*zip(*best, strict=True), color=palette.series[0], linewidth=2, drawstyle="steps-post")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_title(squeeze(label, 44), fontsize=10, color=palette.ink, loc="left")
    axes.set_xlabel("trial", color=palette.soft, fontsize=9)
