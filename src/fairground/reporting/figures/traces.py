"""The course of each method's search: every trial's validation score, and the best so far.

Paper
    Musgrave, Belongie and Lim, "A Metric Learning Reality Check", ECCV 2020, optimisation plots of its supplementary
    page.
"""

from collections.abc import Sequence

from fairground.reporting.drawing import Line, Panel, Points, panels
from fairground.reporting.figure import FigureInputs, ReportFigure, axis_of, count, factor_of
from fairground.studies.search_analysis import TracePoint, trace

PAGE_ORDER = 100
_MOST = 8


def traces_of(inputs: FigureInputs) -> dict[str, list[TracePoint]]:
    """Return the course of every search with a finished trial."""
    found = {label: trace(trials) for label, trials in inputs.trials.items()}
    return {label: points for label, points in found.items() if any(point.score is not None for point in points)}


def figure_of(inputs: FigureInputs) -> ReportFigure | None:
    """Return the figure when settings were searched."""
    found = traces_of(inputs)
    if not found:
        return None
    axis, factor = f"Validation {axis_of(inputs.metric)}", factor_of(inputs.metric)
    drawn = [_panel(label, points, factor) for label, points in list(found.items())[:_MOST]]
    n_trials = sum(len(points) for points in found.values())
    left_out = f" The first {_MOST} are drawn." if len(found) > _MOST else ""
    return ReportFigure(
        name="traces",
        title="The course of each search",
        sentence=(
            f"{axis} of every finished trial in order, and the best so far: {count(n_trials, 'trial')} of "
            f"{count(len(found), 'method')}. A line still rising at the end suggests more trials.{left_out}"
        ),
        draw=panels(drawn, y=axis, has_shared_y=True),
        height=0.6 + 2.1 * -(-len(drawn) // 2),
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


def _panel(label: str, points: Sequence[TracePoint], factor: float) -> Panel:
    scored = [(point.number, factor * point.score) for point in points if point.score is not None]
    best = [(point.number, factor * point.best) for point in points if point.best is not None]
    return Panel(
        items=[
            Points(x=[n for n, _ in scored], y=[y for _, y in scored], series="soft", size=4, alpha=0.7),
            Line(x=[n for n, _ in best], y=[y for _, y in best], is_stepped=True),
        ],
        title=label,
        x="trial",
        has_whole_x=True,
    )
