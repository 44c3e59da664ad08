"""Draw figures with matplotlib without its global state: SVG for the page, PNG, SVG or PDF files for papers.

A figure is a few `Panel`s of lines, points, bars and labels, laid out by `panels`. On the page it is drawn in stand-in
colours that become CSS variables, so that one drawing follows the reader's light or dark setting.
"""

import io
import re
import warnings
from collections.abc import Callable, Collection, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from fairground.reporting import shorten, squeeze, write_atomically
from fairground.reporting.figure_colours import LIGHT, STAND_IN, Dash, Palette, Series, colour_of, dash_of, sign_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: shades of a contour plot
N_LEVELS = 10
#: (width, height) in inches
Size = tuple[float, float]
Draw = Callable[["Figure", Palette], None]


class Line(NamedTuple):
    """A line through (x, y), with a band from `low` to `high`, or filled down to zero."""

    x: Sequence[float]
    y: Sequence[float]
    series: Series = 0
    dash: Dash | None = None
    width: float = 2.0
    alpha: float = 1.0
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    is_filled: bool = False
    is_stepped: bool = False

    def draw(self, axes: "Axes", palette: Palette) -> None:
        colour = colour_of(self.series, palette)
        if self.low:
            axes.fill_between(self.x, self.low, self.high, color=colour, alpha=0.14, linewidth=0)
        if self.is_filled:
            axes.fill_between(self.x, self.y, color=colour, alpha=0.3, linewidth=0)
        dash = dash_of(self.series) if self.dash is None else self.dash
        style = "steps-post" if self.is_stepped else "default"
        look: dict[str, Any] = {"solid_capstyle": "butt", "drawstyle": style, "alpha": self.alpha}
        axes.plot(self.x, self.y, color=colour, linestyle=dash, linewidth=self.width, **look)


class Points(NamedTuple):
    """Marks at (x, y), the first with a text above it; hollow ones are numbers of others."""

    x: Sequence[float]
    y: Sequence[float]
    series: Series = 0
    sign: str = ""
    size: float = 5.5
    alpha: float = 0.75
    is_hollow: bool = False
    text: str = ""

    def draw(self, axes: "Axes", palette: Palette) -> None:
        colour, sign = colour_of(self.series, palette), self.sign or sign_of(self.series)
        look: dict[str, Any] = {"color": colour, "alpha": self.alpha, "markeredgewidth": 2 if sign == "|" else 0}
        if self.is_hollow:
            look = {"markerfacecolor": "none", "markeredgecolor": colour}
        axes.plot(self.x, self.y, sign, markersize=self.size, **look)
        if self.text:
            write(axes, self.text, (self.x[0], self.y[0]), (0, 7), palette["ink"])


class Bar(NamedTuple):
    """A horizontal bar in one row from `start` to `value`, with an error bar and a text at its end."""

    row: float
    value: float
    series: Series = 0
    start: float = 0.0
    height: float = 0.55
    alpha: float = 0.5
    error: float | None = None
    text: str = ""

    def draw(self, axes: "Axes", palette: Palette) -> None:
        length, colour = self.value - self.start, colour_of(self.series, palette)
        axes.barh(self.row, length, self.height, left=self.start, color=colour, alpha=self.alpha, linewidth=0)
        if self.error is not None:
            axes.errorbar(self.value, self.row, xerr=self.error, color=palette["ink"], capsize=3, linewidth=1)
        if self.text:
            write(axes, self.text, (max(self.value, 0), self.row), (5, 0), palette["ink"])


def write(axes: "Axes", text: str, at: Size, shift: Size, colour: str, size: float = 9) -> None:
    """Write a text next to a point, shifted by points: above it, or beginning or ending beside it."""
    across = "center" if shift[0] == 0 else "left" if shift[0] > 0 else "right"
    down = "baseline" if shift[0] == 0 else "center"
    axes.annotate(text, at, shift, textcoords="offset points", ha=across, va=down, fontsize=size, color=colour)


class Names(NamedTuple):
    """The names of marks, (name, x, y, colour), written next to them where they cover neither marks nor each other."""

    marks: Sequence[tuple[str, float, float, Series]]

    def draw(self, axes: "Axes", palette: Palette) -> None:
        figure = axes.get_figure(root=True)
        assert figure is not None
        size, share = figure.get_size_inches(), axes.get_position()
        width, height = 72 * size[0] * share.width, 72 * size[1] * share.height
        (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
        places = [(width * (x - left) / (right - left), height * (y - low) / (high - low)) for _, x, y, _ in self.marks]
        labels = [shorten(name, 30) for name, *_ in self.marks]
        for text, (_, x, y, series), shift in zip(labels, self.marks, label_shifts(places, labels, width), strict=True):
            write(axes, text, (x, y), shift, colour_of(series, palette), size=8)


class Contours(NamedTuple):
    """Lines of equal height over (x, y), the higher the darker; `heights` has a row for each y."""

    x: Sequence[float]
    y: Sequence[float]
    heights: Sequence[Sequence[float]]
    series: Series = 0

    def draw(self, axes: "Axes", palette: Palette) -> None:
        from matplotlib.colors import to_rgba

        colour = colour_of(self.series, palette)
        shades = [to_rgba(colour, share) for share in np.linspace(0.04, 0.6, N_LEVELS)]
        low, high = np.min(self.heights), np.max(self.heights)
        levels = np.linspace(low, max(high, low + 1e-9), N_LEVELS + 1)
        axes.contourf(self.x, self.y, self.heights, levels=levels, colors=shades)
        lines = axes.contour(
            self.x, self.y, self.heights, levels=levels[1:-1:2], colors=palette["soft"], linewidths=0.6
        )
        axes.clabel(lines, fontsize=8, fmt="%.3g", colors=palette["ink"])


class Panel(NamedTuple):
    """Items on common axes; `rows` are named from the top, y = 0, 1, ..., `log` has the letters of logarithmic axes."""

    items: Sequence[Line | Points | Bar | Names | Contours]
    title: str = ""
    x: str = ""
    y: str = ""
    rows: Sequence[str] = ()
    log: str = ""
    x_range: tuple[float, float] | None = None
    y_range: tuple[float, float] | None = None
    margin: float = 0.05
    has_zero_line: bool = False
    has_whole_x: bool = False
    is_map: bool = False

    def draw(self, axes: "Axes", palette: Palette, *, letters: int) -> None:
        if self.is_map:
            axes.set_frame_on(False)
            axes.set(xticks=[], yticks=[])
            axes.set_aspect("equal", adjustable="datalim")
        else:
            plain_axes(axes, palette)
        if self.rows:
            axes.grid(visible=False, axis="y")
            axes.set_yticks(range(len(self.rows)), [squeeze(name, letters) for name in self.rows], color=palette["ink"])
            axes.set_ylim(len(self.rows) - 0.5, -0.5)
        axes.margins(x=self.margin)
        # Names look for room between what is drawn.
        for item in sorted(self.items, key=lambda item: isinstance(item, Names)):
            item.draw(axes, palette)
        if self.has_zero_line:
            axes.axvline(0, color=palette["soft"], linewidth=1)
        for letter in self.log:
            from matplotlib.ticker import LogLocator, NullLocator

            axis = axes.xaxis if letter == "x" else axes.yaxis
            axes.set(**{f"{letter}scale": "log"})
            low, high = axis.get_view_interval()
            # Powers of ten alone would leave a short axis with one number.
            if high < 50 * low:
                axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            # Plain numbers: matplotlib's own powers need its mathematical text.
            axis.set_major_formatter(lambda value, _: f"{value:g}")
            axis.set_minor_locator(NullLocator())
        if self.has_whole_x:
            axes.locator_params(axis="x", integer=True)
        axes.set(**{name: ends for name, ends in (("xlim", self.x_range), ("ylim", self.y_range)) if ends is not None})
        axes.set_title(squeeze(self.title, 44), fontsize=10.5, color=palette["ink"], loc="left")
        axes.set_xlabel(self.x, color=palette["soft"], fontsize=9.5)
        axes.set_ylabel(self.y, color=palette["soft"], fontsize=9.5)


def panels(
    found: Sequence[Panel],
    *,
    columns: int = 2,
    keys: Collection[tuple[str, Series]] = (),
    kind: Literal["line", "point", "bar"] = "point",
    y: str = "",
    **grid: Any,
) -> Draw:
    """Return a drawing of panels in so many columns, with a legend of one kind below and a common label `y`."""

    def draw(figure: "Figure", palette: Palette) -> None:
        from matplotlib.lines import Line2D

        for axes, panel in zip(axes_in(figure, len(found), columns=columns, **grid), found, strict=True):
            panel.draw(axes, palette, letters=44 if len(found) == 1 else 26)
        if y:
            figure.supylabel(y, color=palette["soft"], fontsize=9.5)
        shown = [(text, series) for text, series in keys if series is not None]
        handles = []
        for _, series in shown:
            look: dict[str, Any] = {"linewidth": 2, "linestyle": dash_of(series)}
            if kind != "line":
                sign, size = (sign_of(series), 6) if kind == "point" else ("s", 9)
                look = {"marker": sign, "markersize": size, "markeredgewidth": 0, "linestyle": ""}
            handles.append(Line2D([], [], color=colour_of(series, palette), **look))
        if shown:
            # The leading space: matplotlib hides a name that begins with an underscore.
            names = [" " + squeeze(text, 48) for text, _ in shown]
            look = {"ncols": 2, "frameon": False, "fontsize": 9, "labelcolor": palette["ink"]}
            figure.legend(handles, names, loc="outside lower center", **look)

    return draw


def points_by_class(places: np.ndarray, classes: np.ndarray, **look: Any) -> list[Points]:
    """Return marks at (n, 2) places, each class in its colour."""
    found = (places[classes == one].T.tolist() for one in np.unique(classes))
    return [Points(x=x, y=y, series=series, **look) for series, (x, y) in enumerate(found)]


def plain_axes(axes: "Axes", palette: Palette) -> None:
    """Keep only what helps reading: light grid lines, soft ticks, no box."""
    axes.spines[:].set_visible(False)
    axes.tick_params(colors=palette["soft"], length=0, labelsize=9.5)
    axes.grid(color=palette["rule"], linewidth=0.8)
    axes.set_axisbelow(True)


def axes_in(figure: "Figure", n: int, *, columns: int, **grid: Any) -> "list[Axes]":
    """Return `n` axes in rows of `columns`; unused places stay empty."""
    found = list(figure.subplots(-(-n // columns), min(columns, n), squeeze=False, **grid).flat)
    for empty in found[n:]:
        empty.set_visible(False)
    return found[:n]


def label_shifts(marks: Sequence[Size], labels: Sequence[str], width: float) -> list[Size]:
    """Return each label's shift from its mark, in points: to the right where there is room; at a negative it ends."""
    # Half a mark, the gap to it, and the width of a letter and height of a line at 8 points.
    half, gap, letter, line = 4.0, 7.0, 4.6, 9.0
    candidates = [(side * gap, step * line) for step in (0, 1, -1, 2, -2) for side in (1, -1)]
    taken = [(x - half, y - half, x + half, y + half) for x, y in marks]
    shifts = []
    for (x, y), label in zip(marks, labels, strict=True):
        boxes = []
        for right, up in candidates:
            left = x + right - (len(label) * letter if right < 0 else 0)
            boxes.append((left, y + up - line / 2, left + len(label) * letter, y + up + line / 2))
        low, high = np.array(boxes)[:, None, :2], np.array(boxes)[:, None, 2:]
        others = np.array(taken)
        common = np.minimum(high, others[:, 2:]) - np.maximum(low, others[:, :2])
        covered = np.maximum(common, 0).prod(2).sum(1)
        outside = np.maximum(-low[:, 0, 0], 0) + np.maximum(high[:, 0, 0] - width, 0)
        best = int(np.argmin(covered + line * outside))
        taken.append(boxes[best])
        shifts.append(candidates[best])
    return shifts


def svg_for_page(draw: Draw, size: Size, *, prefix: str, description: str) -> str:
    """Return a drawing as an `<svg>` element for a page; `prefix` keeps its ids apart from other drawings'."""
    svg = _render(draw, size, STAND_IN, "svg", salt=prefix).decode()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\b(id|xlink:href|href)="(#?)', rf'\1="\2{prefix}-', svg)
    svg = svg.replace("url(#", f"url(#{prefix}-")
    # Sized by the page; a screen reader reads the description instead of every tick.
    for side in ("width", "height"):
        svg = re.sub(rf'(<svg[^>]*?) {side}="[^"]*"', r"\1", svg, count=1)
    svg = svg.replace("<svg", f'<svg role="img" aria-label="{escape(description)}"', 1)
    for name, colour in STAND_IN.items():
        svg = svg.replace(colour, f"var(--{name})")
    return svg


def write_figure(draw: Draw, size: Size, out: Path) -> Path:
    write_atomically(out, _render(draw, size, LIGHT, out.suffix.removeprefix("."), salt=out.stem))
    return out


def _render(draw: Draw, size: Size, palette: Palette, kind: str, *, salt: str) -> bytes:
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    settings: dict[Any, Any] = {
        "svg.fonttype": "none",  # text stays text: searchable, and in the reader's own font
        "svg.hashsalt": f"fairground {salt}",  # the same drawing, the same bytes
        "text.parse_math": False,  # a dollar sign in a name is a dollar sign
        "font.size": 10.5,
        "pdf.fonttype": 42,
    }
    out = io.BytesIO()
    with matplotlib.rc_context(settings), warnings.catch_warnings():
        # Names may hold characters that the font lacks; the browser's fonts have them.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure = Figure(figsize=size, layout="constrained")
        draw(figure, palette)
        engine = figure.get_layout_engine()
        if kind == "svg" and engine is not None and figure.axes:
            # Lay out once: by default, saving draws all of it twice to find every place.
            FigureCanvasSVG(figure)
            figure.set_dpi(72)  # the resolution of an SVG file
            engine.execute(figure)
            figure.set_layout_engine(None)
        metadata = {"svg": {"Date": None, "Creator": None}, "pdf": {"CreationDate": None}}.get(kind)
        background = {"transparent": True} if palette is STAND_IN else {"facecolor": "white"}
        figure.savefig(out, format=kind, dpi=160, metadata=metadata, **background)
    return out.getvalue()
