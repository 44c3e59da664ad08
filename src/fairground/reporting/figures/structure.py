"""Retrieval of unseen classes against the structure of the training embeddings.

Formula
    Pearson's r over runs between a measure of the training split and the test score, for pi_intra, pi_inter, pi_ratio
    and rho

Paper
    Roth et al., "Revisiting training strategies", ICML 2020, figure 5.
"""

from dataclasses import dataclass

import numpy as np

from fairground.reporting.drawing import DASHED, Key, Line, Panel, Points, panels
from fairground.reporting.figure import FigureInputs, ReportFigure, count, factor_of
from fairground.reporting.headings import heading, unit

PAGE_ORDER = 50
LEAST_RUNS = 4
#: the measures of the paper in its notation
MEASURES = {"pi_intra": "π intra", "pi_inter": "π inter", "pi_ratio": "π intra / π inter", "rho": "\u03c1"}


@dataclass(frozen=True, kw_only=True)
class Cloud:
    """One measure against the score, one point per run; `r` is nan when either does not vary."""

    measure: str
    labels: tuple[str, ...]
    x: np.ndarray
    y: np.ndarray
    r: float

    @property
    def shown_r(self) -> str:
        return "none" if np.isnan(self.r) else f"{self.r:+.2f}"


def clouds_of(inputs: FigureInputs) -> list[Cloud]:
    """Return one cloud per measure that enough runs have."""
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
    correlations = ", ".join(f"{MEASURES[cloud.measure]} {cloud.shown_r}" for cloud in clouds)
    n_runs = max(len(cloud.x) for cloud in clouds)
    present = {label for cloud in clouds for label in cloud.labels}
    keys = [Key(text=label, series=series) for label, series in inputs.series.items() if label in present]
    return ReportFigure(
        name="structure",
        title="Retrieval against the structure of the training embeddings",
        sentence=(
            f"{axis} on {inputs.table.split} classes against measures of the training embeddings, one point "
            f"per run, {count(n_runs, 'run')}; correlations: {correlations}. As in figure 5 of Roth et al., 2020."
        ),
        draw=panels([_panel(cloud, axis, inputs) for cloud in clouds], keys=keys),
        height=2.9 * -(-len(clouds) // 2) + 0.5,
        columns=("measure", "r", "runs"),
        numbers=tuple((MEASURES[cloud.measure], cloud.shown_r, str(len(cloud.x))) for cloud in clouds),
    )


def _panel(cloud: Cloud, axis: str, inputs: FigureInputs) -> Panel:
    items: list[Points | Line] = []
    for label in dict.fromkeys(cloud.labels):
        here = np.array([other == label for other in cloud.labels])
        items.append(Points(x=cloud.x[here].tolist(), y=cloud.y[here].tolist(), series=inputs.series[label]))
    if not np.isnan(cloud.r) and len(cloud.x) > 2:
        slope, height = np.polyfit(cloud.x, cloud.y, 1)
        ends = np.array([cloud.x.min(), cloud.x.max()])
        fitted = (slope * ends + height).tolist()
        items.append(Line(x=ends.tolist(), y=fitted, series="soft", dash=DASHED, width=1.2))
    return Panel(items=items, right_title=f"r = {cloud.shown_r}", x=MEASURES[cloud.measure], y=axis)
