"""What each metric says about the same embeddings: one line a metric, one mark a method.

Paper
    Musgrave, Belongie and Lim, "A Metric Learning Reality Check", ECCV 2020, figure 1, which does so for three toy
    examples.
"""

from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from fairground.reporting.drawing import Draw, legend_below, plain_axes
from fairground.reporting.figure import ReportFigure
from fairground.reporting.figure_inputs import FigureInputs, count
from fairground.reporting.headings import heading
from fairground.reporting.palette import N_SERIES, Palette, sign_of
from fairground.spec.measurement_names import goodness, is_share

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAGE_ORDER = 80


@dataclass(frozen=True, kw_only=True)
class MetricLine:
    """One metric: each method's mean in per cent, and which methods tie with the best by its own tests."""

    metric: str
    means: dict[str, float]
    higher_is_better: bool = True

    @property
    def leader(self) -> str:
        """The method with the best mean."""
        return max(self.means, key=lambda label: goodness(self.means[label], self.higher_is_better))


def metric_lines_of(inputs: FigureInputs) -> list[MetricLine]:
    """Return a line for every metric that is a share, the widest apart first."""
    lines = []
    for metric in filter(is_share, inputs.table.metrics):
        scores = {method.label: inputs.scores(method, metric) for method in inputs.methods[:N_SERIES]}
        means = {label: fmean(values) for label, values in scores.items() if values}
        if len(means) > 1:
            is_higher = inputs.table.higher_is_better[metric] is not False
            lines.append(MetricLine(metric=metric, means=means, higher_is_better=is_higher))
    return sorted(lines, key=lambda line: min(line.means.values()) - max(line.means.values()))


def figure_of(inputs: FigureInputs) -> ReportFigure | None:
    """Return the figure for two methods and two metrics at least."""
    lines = metric_lines_of(inputs)
    if len(lines) < 2:
        return None
    leaders = {line.leader for line in lines}
    agree = "All name the same leader" if len(leaders) == 1 else f"They name {len(leaders)} different leaders"
    labels = list(lines[0].means)
    left_out = len(inputs.methods) - len(inputs.methods[:N_SERIES])
    which = count(len(labels), "method") if not left_out else f"the {len(labels)} best of {len(inputs.methods)} methods"
    return ReportFigure(
        name="metrics_apart",
        title="What each metric says about the same runs",
        sentence=(
            f"Means over seeds of {which} by {count(len(lines), 'metric')}, the metric that "
            f"sets them furthest apart first. {agree}. After figure 1 of Musgrave et al., 2020."
        ),
        draw=lambda is_narrow: _drawn(lines, inputs, is_narrow),
        height=1.5 + 0.36 * len(lines),
        narrow_height=2.4 + 0.36 * len(lines),
        columns=("metric", *labels),
        numbers=tuple(
            (heading(line.metric), *(f"{line.means[label]:.2f}" if label in line.means else "-" for label in labels))
            for line in lines
        ),
    )


def _drawn(lines: list[MetricLine], inputs: FigureInputs, is_narrow: bool) -> Draw:
    def draw(figure: "Figure", palette: Palette) -> None:
        axes = figure.add_subplot()
        plain_axes(axes, palette)
        for y, line in enumerate(lines):
            axes.plot([min(line.means.values()), max(line.means.values())], [y, y], color=palette.rule, linewidth=3)
            for label, mean in line.means.items():
                series = inputs.series[label]
                axes.plot(mean, y, sign_of(series), color=palette.colour(series), markersize=7)
        axes.set_yticks(range(len(lines)), [heading(line.metric) for line in lines], color=palette.ink)
        axes.set_ylim(len(lines) - 0.5, -0.5)
        axes.set_xlabel("%", color=palette.soft)
        entries = [(label, inputs.series[label]) for label in lines[0].means]
        legend_below(figure, entries, palette, is_narrow=is_narrow, lines=False)

    return draw
