"""What the training embeddings look like against how well unseen classes are retrieved.

Formula
    Pearson's r over runs between a measure of the training split and the test score, for pi_intra, pi_inter, pi_ratio
    and rho

Paper
    Roth et al., "Revisiting training strategies", ICML 2020, figure 5.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairground.reporting.drawing import Draw, axes_in, legend_below, plain_axes
from fairground.reporting.figure import ReportFigure
from fairground.reporting.figure_inputs import FigureInputs, count, factor_of
from fairground.reporting.headings import heading, unit
from fairground.reporting.palette import Palette, sign_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PAGE_ORDER = 50
LEAST_RUNS = 4
#: the measures of the paper, with the sign it writes
MEASURES = {"pi_intra": "π intra", "pi_inter": "π inter", "pi_ratio": "π intra / π inter", "rho": "\u03c1"}


@dataclass(frozen=True, kw_only=True)
class Cloud:
    """One measure against the score, a point a run; `r` is nan when either does not vary."""

    measure: str
    labels: tuple[str, ...]
    x: np.ndarray
    y: np.ndarray
    r: float

    @property
    def words(self) -> str:
        """The correlation in words."""
        return "none" if np.isnan(self.r) else f"{self.r:+.2f}"


def clouds_of(inputs: FigureInputs) -> list[Cloud]:
    """Return a cloud for every measure that enough runs have."""
    metric, split = inputs.habitual, inputs.table.split
    found = []
    for measure in MEASURES:
        if not any((measure, "train") in method.scored for method in inputs.methods):
            continue
        known = [
            (method.label, measured, scored)
            for method in inputs.methods
            for run in method.done
            if (measured := run.score(measure, "train")) is not None
            and (scored := run.score(metric, split)) is not None
        ]
        if len(known) < LEAST_RUNS:
            continue
        x, y = (np.array([point[axis] for point in known], dtype=float) for axis in (1, 2))
        varies = np.ptp(x) > 0 and np.ptp(y) > 0
        r = float(np.corrcoef(x, y)[0, 1]) if varies else float("nan")
        labels = tuple(point[0] for point in known)
        found.append(Cloud(measure=measure, labels=labels, x=x, y=factor_of(metric) * y, r=r))
    return found


def figure_of(inputs: FigureInputs) -> ReportFigure | None:
    """Return the figure when runs recorded analyses of their training split."""
    clouds = clouds_of(inputs)
    if not clouds:
        return None
    axis = f"{heading(inputs.habitual)}{unit(inputs.habitual)}"
    words = ", ".join(f"{MEASURES[cloud.measure]} {cloud.words}" for cloud in clouds)
    n_runs = max(len(cloud.x) for cloud in clouds)
    return ReportFigure(
        name="structure",
        title="Retrieval against the structure of the training embeddings",
        sentence=(
            f"{axis} on {inputs.table.split} classes against measures of the training classes' embeddings, a point a "
            f"run, {count(n_runs, 'run')}; correlations: {words}. As figure 5 of Roth et al., 2020."
        ),
        draw=lambda is_narrow: _drawn(clouds, axis, inputs, is_narrow),
        height=2.9 * -(-len(clouds) // 2) + 0.5,
        narrow_height=2.5 * len(clouds) + 0.9,
        columns=("measure", "r", "runs"),
        numbers=tuple((MEASURES[cloud.measure], cloud.words, str(len(cloud.x))) for cloud in clouds),
    )


def _drawn(clouds: list[Cloud], axis: str, inputs: FigureInputs, is_narrow: bool) -> Draw:
    def draw(figure: "Figure", palette: Palette) -> None:
        for axes, cloud in zip(axes_in(figure, len(clouds), is_narrow=is_narrow), clouds, strict=True):
            _draw_one(axes, cloud, axis, inputs, palette)
        present = {label for cloud in clouds for label in cloud.labels}
        entries = [(label, series) for label, series in inputs.series.items() if label in present]
        legend_below(figure, entries, palette, is_narrow=is_narrow, lines=False)

    return draw


def _draw_one(axes: "Axes", cloud: Cloud, axis: str, inputs: FigureInputs, palette: Palette) -> None:
    plain_axes(axes, palette)
    for label in dict.fromkeys(cloud.labels):
        here = np.array([other == label for other in cloud.labels])
        series = inputs.series[label]
        colour, sign = palette.colour(series), sign_of(series)
        axes.plot(cloud.x[here], cloud.y[here], sign, color=colour, markersize=5.5, alpha=0.75, markeredgewidth=0)
    if not np.isnan(cloud.r) and len(cloud.x) > 2:
        slope, height = np.polyfit(cloud.x, cloud.y, 1)
        ends = np.array([cloud.x.min(), cloud.x.max()])
        axes.plot(ends, slope * ends + height, color=palette.soft, linewidth=1.2, linestyle=(0, (4, 3)))
    axes.set_title(f"r = {cloud.words}", fontsize=10, color=palette.ink, loc="right")
    axes.set_xlabel(MEASURES[cloud.measure], color=palette.soft)
    axes.set_ylabel(axis, color=palette.soft, fontsize=9)
