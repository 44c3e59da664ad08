"""The toy spaces with what each metric says of them.

Paper
    Musgrave, Belongie and Lim, "A Metric Learning Reality Check", ECCV 2020, figure 1.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairground.errors import DataError
from fairground.records.arrays import read_arrays
from fairground.reporting.comparison import UNFAIR
from fairground.reporting.drawing import Draw, axes_in, plain_axes
from fairground.reporting.figure import ReportFigure
from fairground.reporting.figure_inputs import FigureInputs
from fairground.reporting.headings import heading
from fairground.reporting.left_out import leave_out
from fairground.reporting.palette import Palette, sign_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
    """Return the spaces that were measured, by rising MAP@R where it was, as the paper orders them."""
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
            f"{len(spaces)} embedding spaces of two classes, one run each, with nothing trained. Recall@1, NMI and F1 "
            "say nearly the same of all; R-precision and MAP@R say which keeps a class together. The spaces are our "
            "own, after the description of figure 1 of Musgrave et al., 2020."
        ),
        draw=lambda is_narrow: _drawn(spaces, is_narrow),
        height=4.2,
        narrow_height=3.4 * len(spaces),
        columns=("space", *(heading(metric) for metric in metrics)),
        numbers=tuple((space.label, *(f"{space.scores[metric]:z.1f}" for metric in metrics)) for space in spaces),
    )


def _drawn(spaces: Sequence[ToySpace], is_narrow: bool) -> Draw:
    def draw(figure: "Figure", palette: Palette) -> None:
        for axes, space in zip(axes_in(figure, len(spaces), is_narrow=is_narrow, columns=3), spaces, strict=True):
            _draw_one(axes, space, palette)

    return draw


def _draw_one(axes: "Axes", space: ToySpace, palette: Palette) -> None:
    plain_axes(axes, palette)
    for series, label in enumerate(np.unique(space.labels).tolist()):
        points = space.points[space.labels == label]
        axes.plot(points[:, 0], points[:, 1], sign_of(series), color=palette.series[series], markersize=2, alpha=0.6)
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_title(space.label, fontsize=10.5, color=palette.ink, loc="left")
    said = [f"{heading(metric)} {value:z.1f}" for metric, value in space.scores.items()]
    lines = [", ".join(said[i : i + 2]) for i in range(0, len(said), 2)]
    axes.set_xlabel("\n".join(lines), color=palette.soft, fontsize=9)
