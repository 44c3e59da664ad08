"""The toy spaces and their values of each metric.

Paper
    Musgrave, Belongie and Lim, "A Metric Learning Reality Check", ECCV 2020, figure 1.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fairground.errors import DataError
from fairground.records.arrays import read_arrays
from fairground.reporting.drawing import Panel, Points, panels
from fairground.reporting.figure import FigureInputs, ReportFigure
from fairground.reporting.headings import heading
from fairground.reporting.run_set import leave_out
from fairground.reporting.tables import UNFAIR

PAGE_ORDER = 5
DATASET = "toy_spaces"


@dataclass(frozen=True, kw_only=True)
class ToySpace:
    """One space: its points (n, 2), their classes, and each metric in per cent."""

    label: str
    points: np.ndarray
    labels: np.ndarray
    scores: Mapping[str, float]


def toy_spaces_of(inputs: FigureInputs) -> list[ToySpace]:
    """Return the spaces that were measured, by rising MAP@R as in the paper."""
    found = []
    for method in inputs.methods if inputs.key[0] == DATASET else ():
        arrays = _arrays(inputs, method.done[0].name)
        if arrays is not None:
            scores = {metric: inputs.scores(method, metric)[0] for metric in inputs.table.metrics}
            label = method.label.removeprefix(UNFAIR)
            found.append(ToySpace(label=label, points=arrays[0], labels=arrays[1], scores=scores))
    return sorted(found, key=lambda space: space.scores.get("map@r", 0.0))


def _arrays(inputs: FigureInputs, run: str) -> tuple[np.ndarray, np.ndarray] | None:
    folder = inputs.runs.folders.get(run)
    if folder is None or not folder.embeddings.is_file():
        return None
    try:
        arrays = read_arrays(folder.embeddings, ["embeddings", "labels"])
    except DataError as error:
        leave_out(error)
        return None
    points, labels = arrays["embeddings"], arrays["labels"]
    return (points, labels) if points.ndim == 2 and points.shape[1] == 2 and len(points) == len(labels) else None


def figure_of(inputs: FigureInputs) -> ReportFigure | None:
    """Return the figure for runs of the toy spaces."""
    spaces = toy_spaces_of(inputs)
    if not spaces:
        return None
    metrics = list(spaces[0].scores)
    return ReportFigure(
        name="toy_spaces",
        title="Three toy spaces and what each metric says",
        sentence=(
            f"{len(spaces)} untrained embedding spaces of two classes, one run each. Recall@1, NMI and F1 are nearly "
            "the same for all; R-precision and MAP@R show which keeps a class together. The spaces are our own, after "
            "the description of figure 1 of Musgrave et al., 2020."
        ),
        draw=panels([_panel(space) for space in spaces], columns=3),
        height=4.2,
        columns=("space", *(heading(metric) for metric in metrics)),
        numbers=tuple((space.label, *(f"{space.scores[metric]:z.1f}" for metric in metrics)) for space in spaces),
    )


def _panel(space: ToySpace) -> Panel:
    shown = [f"{heading(metric)} {value:z.1f}" for metric, value in space.scores.items()]
    classes = [space.points[space.labels == label] for label in np.unique(space.labels)]
    return Panel(
        items=[
            Points(x=points[:, 0].tolist(), y=points[:, 1].tolist(), series=series, size=2, alpha=0.6)
            for series, points in enumerate(classes)
        ],
        title=space.label,
        x="\n".join(", ".join(shown[i : i + 2]) for i in range(0, len(shown), 2)),
        is_map=True,
    )
