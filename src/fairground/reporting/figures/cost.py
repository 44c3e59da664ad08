"""What a score costs: accuracy against the time a run took and the memory it held."""

from dataclasses import dataclass
from itertools import groupby
from statistics import fmean
from typing import TYPE_CHECKING

from fairground.reporting.drawing import Draw, axes_in, legend_below, log_axis, plain_axes
from fairground.reporting.figure import ReportFigure
from fairground.reporting.figure_inputs import FigureInputs, count
from fairground.reporting.headings import duration, heading, size, unit
from fairground.reporting.palette import Palette, sign_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAGE_ORDER = 110


@dataclass(frozen=True, kw_only=True)
class Cost:
    """One method: mean score, seconds and bytes of a run, over `n_runs`."""

    label: str
    score: float
    seconds: float
    bytes: float
    n_runs: int


def costs_of(inputs: FigureInputs) -> list[Cost]:
    """Return what each method with a score took, best first."""
    found = []
    for method in inputs.methods:
        scores = inputs.scores(method)
        if scores:
            seconds = fmean(run.provenance.wall_seconds for run in method.done)
            memory = fmean(run.provenance.peak_memory_bytes for run in method.done)
            found.append(
                Cost(label=method.label, score=fmean(scores), seconds=seconds, bytes=memory, n_runs=len(scores))
            )
    return found


def figure_of(inputs: FigureInputs) -> ReportFigure | None:
    """Return the figure for two methods at least."""
    costs = costs_of(inputs)
    if len(costs) < 2:
        return None
    axis = f"{heading(inputs.metric)}{unit(inputs.metric)}"
    machines = len({run.provenance.hardware for method in inputs.methods for run in method.done})
    caveat = f" The runs were made on {machines} different machines: times do not compare." if machines > 1 else ""
    return ReportFigure(
        name="cost",
        title="Accuracy against time and memory",
        sentence=(
            f"Mean {axis} against the mean time and peak memory of a run, {count(len(costs), 'method')}, "
            f"{count(sum(cost.n_runs for cost in costs), 'run')}. Up and to the left is better.{caveat}"
        ),
        draw=lambda is_narrow: _drawn(costs, axis, inputs, is_narrow),
        height=3.7,
        narrow_height=5.6,
        columns=("method", axis, "time", "peak memory"),
        numbers=tuple((c.label, f"{c.score:.2f}", duration(c.seconds), size(c.bytes)) for c in costs),
    )


def _drawn(costs: list[Cost], axis: str, inputs: FigureInputs, is_narrow: bool) -> Draw:
    def draw(figure: "Figure", palette: Palette) -> None:
        sides = (("seconds a run", [c.seconds for c in costs]), ("peak memory, MB", [c.bytes / 1e6 for c in costs]))
        for axes, (word, values) in zip(axes_in(figure, 2, is_narrow=is_narrow), sides, strict=True):
            plain_axes(axes, palette)
            # The best last, so that it lies on top; neighbours that look alike at once, for there may be hundreds.
            points = reversed(list(zip(costs, values, strict=True)))
            for series, some in groupby(points, key=lambda point: inputs.series[point[0].label]):
                alike = list(some)
                axes.plot(
                    [value for _, value in alike],
                    [cost.score for cost, _ in alike],
                    sign_of(series),
                    color=palette.colour(series),
                    markersize=8,
                    alpha=0.85,
                    markeredgewidth=0,
                )
            if max(values) > 20 * max(min(values), 1e-9):
                log_axis(axes, "x")
            axes.set_xlabel(word, color=palette.soft)
            axes.set_ylabel(axis, color=palette.soft)
            axes.margins(0.15)
        entries = [(cost.label, inputs.series[cost.label]) for cost in costs]
        legend_below(figure, entries, palette, is_narrow=is_narrow, lines=False)

    return draw
