"""The toy spaces and their values of each metric.

Paper
    Musgrave, Belongie and Lim, "A Metric Learning Reality Check", ECCV 2020, figure 1.
"""

import numpy as np

from fairground.reporting.drawing import Panel, Points, panels
from fairground.reporting.figure import FigureInputs, ReportFigure, arrays_in
from fairground.reporting.headings import heading
from fairground.reporting.tables import UNFAIR

PAGE_ORDER = 5
DATASET = "toy_spaces"


def figure_of(inputs: FigureInputs) -> ReportFigure | None:
    """Return the figure for runs of the toy spaces that kept their embeddings, by rising MAP@R as in the paper."""
    found: list[tuple[dict[str, float], str, Panel]] = []
    for method in inputs.methods if inputs.key[0] == DATASET else ():
        folder = inputs.runs.folders.get(method.done[0].name)
        arrays = None if folder is None else arrays_in(folder.embeddings, ["embeddings", "labels"])
        if arrays is None:
            continue
        points, labels = arrays
        if points.ndim != 2 or points.shape[1] != 2 or len(points) != len(labels):
            continue
        scores = {metric: inputs.scores(method, metric)[0] for metric in inputs.table.metrics}
        label = method.label.removeprefix(UNFAIR)
        found.append((scores, label, _panel(label, points, labels, scores)))
    if not found:
        return None
    found.sort(key=lambda space: space[0].get("map@r", 0.0))
    return ReportFigure(
        name="toy_spaces",
        title="Three toy spaces and what each metric says",
        sentence=(
            f"{len(found)} untrained embedding spaces of two classes, one run each. Recall@1, NMI and F1 are nearly "
            "the same for all; R-precision and MAP@R show which keeps a class together. The spaces are our own, after "
            "the description of figure 1 of Musgrave et al., 2020."
        ),
        draw=panels([panel for *_, panel in found], columns=3),
        height=4.2,
        columns=("space", *(heading(metric) for metric in inputs.table.metrics)),
        numbers=tuple((label, *(f"{value:z.1f}" for value in scores.values())) for scores, label, _ in found),
    )


def _panel(title: str, points: np.ndarray, labels: np.ndarray, scores: dict[str, float]) -> Panel:
    shown = [f"{heading(metric)} {value:z.1f}" for metric, value in scores.items()]
    classes = [points[labels == label] for label in np.unique(labels)]
    return Panel(
        items=[
            Points(x=some[:, 0].tolist(), y=some[:, 1].tolist(), series=series, size=2, alpha=0.6)
            for series, some in enumerate(classes)
        ],
        title=title,
        x="\n".join(", ".join(shown[i : i + 2]) for i in range(0, len(shown), 2)),
        is_map=True,
    )
