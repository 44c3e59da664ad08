"""What a score costs: accuracy against the time and the peak memory of a run."""

from itertools import groupby
from statistics import fmean
from typing import NamedTuple

from fairground.reporting.drawing import Key, Panel, Points, panels
from fairground.reporting.figure import FigureInputs, ReportFigure, axis_of, count
from fairground.reporting.headings import duration, size

PAGE_ORDER = 110


class Cost(NamedTuple):
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
    axis = axis_of(inputs.metric)
    machines = len({run.provenance.hardware for method in inputs.methods for run in method.done})
    caveat = f" The runs were made on {machines} different machines: times do not compare." if machines > 1 else ""
    seconds = {cost.label: cost.seconds for cost in costs}
    megabytes = {cost.label: cost.bytes / 1e6 for cost in costs}
    # The best last, to be on top; neighbours of one colour together, for there may be hundreds.
    alike = [list(some) for _, some in groupby(reversed(costs), key=lambda cost: inputs.series[cost.label])]
    drawn = [
        Panel(
            items=[
                Points(
                    x=[spent[cost.label] for cost in some],
                    y=[cost.score for cost in some],
                    series=inputs.series[some[0].label],
                    size=8,
                    alpha=0.85,
                )
                for some in alike
            ],
            x=name,
            y=axis,
            log="x" if max(spent.values()) > 20 * max(min(spent.values()), 1e-9) else "",
            margin=0.15,
        )
        for name, spent in (("seconds per run", seconds), ("peak memory, MB", megabytes))
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
