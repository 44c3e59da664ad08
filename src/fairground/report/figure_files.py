"""Every figure of some runs as a file fit for a paper: PDF, SVG or PNG, named after what it shows."""

from pathlib import Path

from fairground.report.drawing import write_figure
from fairground.report.figures.bars import bars_of, draw_bars, height_of
from fairground.report.figures.curves import curves_of, draw_curves
from fairground.report.material import Material
from fairground.report.plate import WIDE, plates_of, write_plates


def write_figures(material: Material, folder: Path, kind: str, *, prefix: str = "") -> list[Path]:
    """Write the figures these runs have the numbers for and return their paths."""
    written = []
    bars, curves = bars_of(material.table), curves_of(material.table)
    if bars.bars:
        written.append(write_figure(draw_bars(bars), (WIDE, height_of(bars)), folder / f"{prefix}scores.{kind}"))
    if curves.curves:
        draw = draw_curves(curves, has_legend=True)
        written.append(write_figure(draw, (WIDE, 4.2), folder / f"{prefix}learning_curves.{kind}"))
    return written + write_plates(plates_of(material), folder, kind, prefix=prefix)
