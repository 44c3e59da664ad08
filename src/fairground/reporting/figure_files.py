"""Every figure of some runs as a file fit for a paper: PDF, SVG or PNG, named after what it shows."""

from pathlib import Path

from fairground.reporting.drawing import write_figure
from fairground.reporting.figure import WIDE, figures_of, write_figures_to
from fairground.reporting.figure_inputs import FigureInputs
from fairground.reporting.figures.bars import bars_of, draw_bars, height_of
from fairground.reporting.figures.curves import curves_of, draw_curves


def write_figures(inputs: FigureInputs, folder: Path, kind: str, *, prefix: str = "") -> list[Path]:
    """Write the figures these runs have the numbers for and return their paths."""
    written = []
    bars, curves = bars_of(inputs.table), curves_of(inputs.table)
    if bars.bars:
        written.append(write_figure(draw_bars(bars), (WIDE, height_of(bars)), folder / f"{prefix}scores.{kind}"))
    if curves.curves:
        draw = draw_curves(curves, has_legend=True)
        written.append(write_figure(draw, (WIDE, 4.2), folder / f"{prefix}learning_curves.{kind}"))
    return written + write_figures_to(figures_of(inputs), folder, kind, prefix=prefix)
