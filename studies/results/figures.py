"""Drawings that several pages use."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from studies.results.page import SHORT

from fairground.reporting.drawing import Draw, Palette, axes_in, colour_of, plain_axes, sign_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from studies.results.select import Table

    from fairground.comparison.comparison_result import Comparison

#: a name, its mean, both ends of its interval, and its single values
Dot = tuple[str, float, float, float, Sequence[float]]


def dot_rows(panels: Mapping[str, Sequence[Dot]], lines: Mapping[str, float | None], label: str) -> Draw:
    """Return a drawing of one panel a data set: methods from best to worst, intervals, single runs as dots."""

    def draw(figure: "Figure", palette: Palette) -> None:
        found = axes_in(figure, len(panels), columns=3)
        for number, (axes, (data, dots)) in enumerate(zip(found, panels.items(), strict=True)):
            plain_axes(axes, palette)
            places = np.arange(len(dots))[::-1]
            for place, (_, mean, low, high, single) in zip(places, dots, strict=True):
                axes.plot(single, [place] * len(single), ".", color=palette["soft"], markersize=3)
                axes.plot([low, high], [place, place], color=colour_of(number, palette), linewidth=2)
                axes.plot([mean], [place], sign_of(number), color=colour_of(number, palette), markersize=5)
            if lines.get(data) is not None:
                axes.axvline(lines[data], color=palette["ink"], linewidth=1, linestyle=(0, (4, 2)))
            axes.set_yticks(places, [dot[0] for dot in dots], fontsize=8)
            axes.set_title(SHORT.get(data, data), fontsize=10, color=palette["ink"])
            axes.set_xlabel(label, fontsize=9, color=palette["soft"])

    return draw


def compared_dots(compared: "Comparison", scores: "Table") -> list[Dot]:
    """Return a row a method, the best first: its mean in per cent with its interval, single runs as dots."""
    found: list[Dot] = []
    for one in compared.methods:
        ends = [100 * (one.mean + sign * (one.half_width or 0.0)) for sign in (-1, 1)]
        found.append((one.name, 100 * one.mean, ends[0], ends[1], [100 * v for v in scores[one.name].values()]))
    return found


def scatter_panels(
    panels: Mapping[str, tuple[np.ndarray, np.ndarray]],
    x_label: str,
    y_label: str,
    names: Mapping[str, str],
    *,
    scale: tuple[float, float] = (100, 100),
) -> Draw:
    """Return a drawing of one scatter a panel, one mark a method; `names` are the panels' headings.

    Both columns are multiplied by `scale`: shares of one become per cent.
    """

    def draw(figure: "Figure", palette: Palette) -> None:
        found = axes_in(figure, len(panels), columns=3)
        for number, (axes, (key, (x, y))) in enumerate(zip(found, panels.items(), strict=True)):
            plain_axes(axes, palette)
            axes.plot(
                scale[0] * np.asarray(x),
                scale[1] * np.asarray(y),
                sign_of(number % 7),
                color=colour_of(number % 7, palette),
                markersize=5,
            )
            axes.locator_params(axis="x", nbins=5)  # more numbers than that run into each other
            axes.set_title(names[key], fontsize=10, color=palette["ink"])
            axes.set_xlabel(x_label, fontsize=9, color=palette["soft"])
            axes.set_ylabel(y_label, fontsize=9, color=palette["soft"])

    return draw


def line_panels(
    panels: Mapping[str, Sequence[tuple[str, Sequence[float], Sequence[float]]]],
    x_label: str,
    y_label: str,
    *,
    least_top: float | None = None,
    log_x: bool = False,
) -> Draw:
    """Return a drawing of one panel a data set with named lines of (x, y).

    With `least_top` the vertical axis begins at 0 and goes at least so far. With `log_x` doublings are equally
    far apart.
    """

    def draw(figure: "Figure", palette: Palette) -> None:
        found = axes_in(figure, len(panels), columns=3)
        for axes, (data, lines) in zip(found, panels.items(), strict=True):
            plain_axes(axes, palette)
            _lines(axes, lines, palette)
            if least_top is not None:
                axes.set_ylim(-0.03 * least_top, max([least_top, *(1.05 * max(y) for _, _, y in lines)]))
            if log_x:
                axes.set_xscale("log", base=2)
                axes.set_xticks(lines[0][1], [f"{x:g}" for x in lines[0][1]])
            axes.set_title(SHORT.get(data, data), fontsize=10, color=palette["ink"])
            axes.set_xlabel(x_label, fontsize=9, color=palette["soft"])
            axes.set_ylabel(y_label, fontsize=9, color=palette["soft"])

    return draw


def _lines(axes: "Axes", lines: Sequence[tuple[str, Sequence[float], Sequence[float]]], palette: Palette) -> None:
    for number, (name, x, y) in enumerate(lines):
        axes.plot(
            x, y, marker=sign_of(number), color=colour_of(number, palette), linewidth=2, markersize=4, label=f" {name}"
        )
    if len(lines) > 1:
        below = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.2), "ncols": 2}  # never over a line
        axes.legend(frameon=False, fontsize=8, labelcolor=palette["ink"], columnspacing=1, **below)
