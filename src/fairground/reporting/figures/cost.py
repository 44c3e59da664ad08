"""What a score costs: accuracy against the time and the peak memory of a run."""

from dataclasses import dataclass
from itertools import groupby
from statistics import fmean

from fairground.reporting.drawing import Key, Panel, Points, panels
from fairground.reporting.figure import FigureInputs, ReportFigure, count
from fairground.reporting.headings import duration, heading, size, unit

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
    """Return the costs of each method with a score, best first."""
    return [
        Cost(
            label=method.label,
            score=fmean(scores),
            seconds=fmean(run.provenance.wall_seconds for run in method.done),
            bytes=fmean(run.provenance.peak_memory_bytes for run in method.done),
            n_runs=len(scores),
        )
        for method in inputs.methods
        if (scores := inputs.scores(method))
    ]


def figure_of(inputs: FigureInputs) -> ReportFigure | None:
    """Return the figure for at least two methods."""
    costs = costs_of(inputs)
    if len(costs) < 2:
        return None
    axis = f"{heading(inputs.metric)}{unit(inputs.metric)}"
    machines = len({run.provenance.hardware for method in inputs.methods for run in method.done})
    caveat = f" The runs were made on {machines} different machines: times do not compare." if machines > 1 else ""
    # The best last, to be on top; neighbours of one colour together, for there may be hundreds.
    alike = [list(some) for _, some in groupby(reversed(costs), key=lambda cost: inputs.series[cost.label])]
    seconds, megabytes = [cost.seconds for cost in costs], [cost.bytes / 1e6 for cost in costs]
    drawn = [
        Panel(
            items=[
                Points(
                    x=[cost.seconds if is_time else cost.bytes / 1e6 for cost in some],
                    y=[cost.score for cost in some],
                    series=inputs.series[some[0].label],
                    size=8,
                    alpha=0.85,
                )
                for some in alike
            ],
            x="seconds per run" if is_time else "peak memory, MB",
            y=axis,
            log="x" if max(values) > 20 * max(min(values), 1e-9) else "",
            margin=0.15,
        )
        for is_time, values in ((True, seconds), (False, megabytes))
    ]
    return ReportFigure(
        name="cost",
        title="Accuracy against time and memory",
        sentence=(
            f"Mean {axis} against the mean time and peak memory of a run, {count(len(costs), 'method')}, "
            f"{count(sum(cost.n_runs for cost in costs), 'run')}. Up and to the left is better.{caveat}"
        ),
        draw=panels(drawn, keys=[Key(text=cost.label, series=inputs.series[cost.label]) for cost in costs]),
        height=3.7,
        columns=("method", axis, "time", "peak memory"),
        numbers=tuple((c.label, f"{c.score:.2f}", duration(c.seconds), size(c.bytes)) for c in costs),
    )
