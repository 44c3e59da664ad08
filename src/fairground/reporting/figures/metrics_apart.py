"""What each metric says about the same embeddings: one row per metric, one mark per method.

Paper
    Musgrave, Belongie and Lim, "A Metric Learning Reality Check", ECCV 2020, figure 1, which does so for three toy
    examples.
"""

from dataclasses import dataclass
from statistics import fmean

from fairground.reporting.drawing import N_SERIES, Key, Line, Panel, Points, panels
from fairground.reporting.figure import FigureInputs, ReportFigure, count
from fairground.reporting.headings import heading
from fairground.spec.measurement_names import goodness, is_share

PAGE_ORDER = 80


@dataclass(frozen=True, kw_only=True)
class MetricLine:
    """One metric: each method's mean in per cent."""

    metric: str
    means: dict[str, float]
    higher_is_better: bool = True

    @property
    def leader(self) -> str:
        return max(self.means, key=lambda label: goodness(self.means[label], self.higher_is_better))


def metric_lines_of(inputs: FigureInputs) -> list[MetricLine]:
    """Return one line per metric that is a share, the widest apart first."""
    lines = []
    for metric in filter(is_share, inputs.table.metrics):
        scores = {method.label: inputs.scores(method, metric) for method in inputs.methods[:N_SERIES]}
        means = {label: fmean(values) for label, values in scores.items() if values}
        if len(means) > 1:
            is_higher = inputs.table.higher_is_better[metric] is not False
            lines.append(MetricLine(metric=metric, means=means, higher_is_better=is_higher))
    return sorted(lines, key=lambda line: min(line.means.values()) - max(line.means.values()))


def figure_of(inputs: FigureInputs) -> ReportFigure | None:
    """Return the figure for at least two methods and two metrics."""
    lines = metric_lines_of(inputs)
    if len(lines) < 2:
        return None
    leaders = {line.leader for line in lines}
    agree = "All name the same leader" if len(leaders) == 1 else f"They name {len(leaders)} different leaders"
    labels = list(lines[0].means)
    left_out = len(inputs.methods) - len(inputs.methods[:N_SERIES])
    which = count(len(labels), "method") if not left_out else f"the {len(labels)} best of {len(inputs.methods)} methods"
    panel = Panel(
        items=[
            *(
                Line(x=(min(line.means.values()), max(line.means.values())), y=(row, row), series="rule", width=3)
                for row, line in enumerate(lines)
            ),
            *(
                Points(x=[mean], y=[row], series=inputs.series[label], size=7, alpha=1)
                for row, line in enumerate(lines)
                for label, mean in line.means.items()
            ),
        ],
        rows=[heading(line.metric) for line in lines],
        x="%",
    )
    return ReportFigure(
        name="metrics_apart",
        title="What each metric says about the same runs",
        sentence=(
            f"Means over seeds of {which} by {count(len(lines), 'metric')}, the metric that "
            f"sets them furthest apart first. {agree}. After figure 1 of Musgrave et al., 2020."
        ),
        draw=panels([panel], keys=[Key(text=label, series=inputs.series[label]) for label in labels]),
        height=1.5 + 0.36 * len(lines),
        columns=("metric", *labels),
        numbers=tuple(
            (heading(line.metric), *(f"{line.means[label]:.2f}" if label in line.means else "-" for label in labels))
            for line in lines
        ),
    )
