"""Which metrics agree: the correlation of every two of them over all finished runs.

Formula
    Pearson's r over runs; undefined for a metric that is the same in all runs

Paper
    Roth et al., "Revisiting training strategies", ICML 2020, figure 4.
"""

from typing import TYPE_CHECKING

import numpy as np

from fairground.reporting.drawing import Draw, Palette
from fairground.reporting.figure import FigureInputs, ReportFigure, count
from fairground.reporting.headings import heading, shorten

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAGE_ORDER = 40
#: a correlation of fewer runs is mostly chance
LEAST_RUNS = 5
_MOST_METRICS = 14


def figure_of(inputs: FigureInputs) -> ReportFigure | None:
    """Return the figure when enough runs have three metrics or more."""
    metrics = inputs.table.metrics[:_MOST_METRICS]
    runs = [row for method in inputs.methods for row in method.rows(metrics, inputs.table.split)]
    if len(metrics) < 3 or len(runs) < LEAST_RUNS:
        return None
    with np.errstate(invalid="ignore", divide="ignore"):
        matrix = np.corrcoef(np.array(runs, dtype=float).T)
    names = tuple(heading(metric) for metric in metrics)
    return ReportFigure(
        name="correlations",
        title="Which metrics agree",
        sentence=(
            f"Correlation of every two {inputs.table.split} metrics over {count(len(runs), 'run')}: 1 means that "
            "both rank runs alike, so one of them is enough. As in figure 4 of Roth et al., 2020."
        ),
        draw=_squares(names, matrix),
        height=1.4 + 0.42 * len(names),
        columns=("metric", *names),
        numbers=tuple(
            (name, *("-" if np.isnan(value) else f"{value:.2f}" for value in row))
            for name, row in zip(names, matrix, strict=True)
        ),
    )


def _squares(names: tuple[str, ...], matrix: np.ndarray) -> Draw:
    def draw(figure: "Figure", palette: Palette) -> None:
        from matplotlib.patches import Rectangle

        axes = figure.add_subplot()
        for (i, j), value in np.ndenumerate(matrix):
            if np.isnan(value):
                continue
            colour = palette.series[0 if value >= 0 else 1]
            # Pale enough for dark text on every square.
            square = Rectangle((j - 0.48, i - 0.48), 0.96, 0.96, color=colour, alpha=0.55 * abs(value), linewidth=0)
            axes.add_patch(square)
            axes.text(j, i, f"{value:.2f}", ha="center", va="center", fontsize=9, color=palette.ink)
        n, short = len(names), [shorten(name, 14) for name in names]
        axes.set_xticks(range(n), short, rotation=45, ha="right", color=palette.ink, fontsize=9.5)
        axes.set_yticks(range(n), short, color=palette.ink, fontsize=9.5)
        axes.set_xlim(-0.5, n - 0.5)
        axes.set_ylim(n - 0.5, -0.5)
        axes.tick_params(length=0)
        axes.set_frame_on(False)

    return draw
