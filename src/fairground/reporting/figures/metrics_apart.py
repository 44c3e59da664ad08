"""What each metric says about the same embeddings: one row per metric, one mark per method.

Paper
    Musgrave, Belongie and Lim, "A Metric Learning Reality Check", ECCV 2020, figure 1, which does so for three toy
    examples.
"""

from typing import NamedTuple

from fairground.reporting.drawing import N_SERIES, Key, Line, Panel, Points, panels
from fairground.reporting.figure import FigureInputs, ReportFigure, count
from fairground.reporting.headings import heading
from fairground.spec.measurement_names import goodness, is_share

PAGE_ORDER = 80


class MetricLine(NamedTuple):
    """One metric: each method's mean in per cent, and the method it names best."""

    metric: str
    means: dict[str, float]
    leader: str


def metric_lines_of(inputs: FigureInputs) -> list[MetricLine]:
    """Return one line per metric that is a share, the widest apart first."""
    drawn = [method.label for method in inputs.methods[:N_SERIES]]
    lines = []
    for metric in filter(is_share, inputs.table.metrics):
        means = {label: mean for label, mean in inputs.means(metric).items() if label in drawn}
        is_higher = inputs.table.higher_is_better[metric] is not False
        good = {label: goodness(mean, is_higher) for label, mean in means.items()}
        if len(means) > 1:
            lines.append(MetricLine(metric, means, leader=max(good, key=good.__getitem__)))
    return sorted(lines, key=lambda line: min(line.means.values()) - max(line.means.values()))


def figure_of(inputs: FigureInputs) -> ReportFigure | None:
    """Return the figure for at least two methods and two metrics."""
    lines = metric_lines_of(inputs)
    if len(lines) < 2:
        return None
    n_leaders = len({line.leader for line in lines})
    agree = "All name the same leader" if n_leaders == 1 else f"They name {n_leaders} different leaders"
    labels = list(lines[0].means)
    n_all = len(inputs.methods)
    which = count(len(labels), "method") if n_all <= N_SERIES else f"the {len(labels)} best of {n_all} methods"
    items: list[Line | Points] = []
    for row, line in enumerate(lines):
        ends = min(line.means.values()), max(line.means.values())
        items.append(Line(x=ends, y=(row, row), series="rule", width=3))
        for label, mean in line.means.items():
            items.append(Points(x=[mean], y=[row], series=inputs.series[label], size=7, alpha=1))
    return ReportFigure(
        name="metrics_apart",
        title="What each metric says about the same runs",
        sentence=(
            f"Means over seeds of {which} by {count(len(lines), 'metric')}, the metric that "
            f"sets them furthest apart first. {agree}. After figure 1 of Musgrave et al., 2020."
        ),
        draw=panels(
            [Panel(items=items, rows=[heading(line.metric) for line in lines], x="%")],
            keys=[Key(text=label, series=inputs.series[label]) for label in labels],
        ),
        height=1.5 + 0.36 * len(lines),
        columns=("metric", *labels),
        numbers=tuple(
            (heading(line.metric), *(f"{line.means[label]:.2f}" if label in line.means else "-" for label in labels))
            for line in lines
        ),
    )
