"""Retrieval of unseen classes against the structure of the training embeddings.

Formula
    Pearson's r over runs between a measure of the training split and the test score, for pi_intra, pi_inter, pi_ratio
    and rho

Paper
    Roth et al., "Revisiting training strategies", ICML 2020, figure 5.
"""

from typing import NamedTuple

import numpy as np

from fairground.reporting.drawing import DASHED, Key, Line, Panel, Points, panels
from fairground.reporting.figure import FigureInputs, ReportFigure, axis_of, count, factor_of

PAGE_ORDER = 50
LEAST_RUNS = 4
#: the measures of the paper in its notation
MEASURES = {"pi_intra": "π intra", "pi_inter": "π inter", "pi_ratio": "π intra / π inter", "rho": "\u03c1"}


class Cloud(NamedTuple):
    """One measure, in the paper's notation, against the score, one point per run; `r` is None if one does not vary."""

    measure: str
    labels: tuple[str, ...]
    x: np.ndarray
    y: np.ndarray
    r: float | None

    @property
    def shown_r(self) -> str:
        return "none" if self.r is None else f"{self.r:+.2f}"


def clouds_of(inputs: FigureInputs) -> list[Cloud]:
    """Return one cloud per measure that enough runs have."""
    metric, split = inputs.habitual, inputs.table.split
    found = []
    for measure, title in MEASURES.items():
        known = [
            (method.label, measured, scored)
            for method in inputs.methods
            if (measure, "train") in method.scored
            for run in method.done
            if (measured := run.score(measure, "train")) is not None
            and (scored := run.score(metric, split)) is not None
        ]
        if len(known) >= LEAST_RUNS:
            labels, x, y = (tuple(column) for column in zip(*known, strict=True))
            varies = len(set(x)) > 1 and len(set(y)) > 1
            r = float(np.corrcoef(x, y)[0, 1]) if varies else None
            found.append(Cloud(title, labels, np.array(x), factor_of(metric) * np.array(y), r))
    return found


def figure_of(inputs: FigureInputs) -> ReportFigure | None:
    """Return the figure when runs recorded analyses of their training split."""
    clouds = clouds_of(inputs)
    if not clouds:
        return None
    axis = axis_of(inputs.habitual)
    correlations = ", ".join(f"{cloud.measure} {cloud.shown_r}" for cloud in clouds)
    present = {label for cloud in clouds for label in cloud.labels}
    return ReportFigure(
        name="structure",
        title="Retrieval against the structure of the training embeddings",
        sentence=(
            f"{axis} on {inputs.table.split} classes against measures of the training embeddings, one point "
            f"per run, {count(max(len(cloud.x) for cloud in clouds), 'run')}; correlations: {correlations}. As in "
            "figure 5 of Roth et al., 2020."
        ),
        draw=panels(
            [_panel(cloud, axis, inputs) for cloud in clouds],
            keys=[Key(text=label, series=series) for label, series in inputs.series.items() if label in present],
        ),
        height=2.9 * -(-len(clouds) // 2) + 0.5,
        columns=("measure", "r", "runs"),
        numbers=tuple((cloud.measure, cloud.shown_r, str(len(cloud.x))) for cloud in clouds),
    )


def _panel(cloud: Cloud, axis: str, inputs: FigureInputs) -> Panel:
    items: list[Points | Line] = []
    for label in dict.fromkeys(cloud.labels):
        here = np.array(cloud.labels) == label
        items.append(Points(x=cloud.x[here].tolist(), y=cloud.y[here].tolist(), series=inputs.series[label]))
    if cloud.r is not None:
        slope, height = np.polyfit(cloud.x, cloud.y, 1)
        ends = np.array([cloud.x.min(), cloud.x.max()])
        fitted = (slope * ends + height).tolist()
        items.append(Line(x=ends.tolist(), y=fitted, series="soft", dash=DASHED, width=1.2))
    return Panel(items=items, right_title=f"r = {cloud.shown_r}", x=cloud.measure, y=axis)
