"""Draw with matplotlib without touching its global state: SVG for the page, PNG or SVG files for papers."""

import io
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from fairground.errors import require
from fairground.files import write_atomically
from fairground.reporting.headings import squeeze
from fairground.reporting.palette import LIGHT, STAND_IN, Dash, Palette, as_variables, dash_of, sign_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

#: (width, height) in inches
Size = tuple[float, float]
Draw = Callable[["Figure", Palette], None]
_FORMATS = ("png", "svg", "pdf")


def svg_for_page(draw: Draw, size: Size, *, prefix: str, description: str) -> str:
    """Return a drawing as an `<svg>` element for a page; `prefix` keeps its ids apart from other drawings'."""
    svg = _render(draw, size, STAND_IN, "svg", salt=prefix).decode()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\b(id|xlink:href|href)="(#?)', rf'\1="\2{prefix}-', svg)
    svg = svg.replace("url(#", f"url(#{prefix}-")
    # Sized by the page; the description is what a screen reader says instead of reading out every tick.
    svg = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", svg, count=1)
    label = description.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
    return as_variables(svg.replace("<svg", f'<svg role="img" aria-label="{label}"', 1))


def write_figure(draw: Draw, size: Size, out: Path) -> Path:
    """Write a drawing to a PNG, SVG or PDF file, by its ending."""
    kind = out.suffix.lower().removeprefix(".")
    require(kind in _FORMATS, f"a figure is written as {', '.join(_FORMATS)}; got '{out.name}'")
    write_atomically(out, _render(draw, size, LIGHT, kind, salt=out.stem))
    return out


def plain_axes(axes: "Axes", palette: Palette) -> None:
    """Leave of the axes what helps reading: light grid lines, soft ticks, no box."""
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.tick_params(colors=palette.soft, length=0, labelsize=9.5)
    axes.grid(color=palette.rule, linewidth=0.8)
    axes.set_axisbelow(True)


def log_axis(axes: "Axes", which: Literal["x", "y"]) -> None:
    """Make one axis logarithmic with plain numbers: the powers matplotlib writes need its mathematical text."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

    axis: Axis = axes.xaxis if which == "x" else axes.yaxis
    axes.set_xscale("log") if which == "x" else axes.set_yscale("log")
    low, high = axes.get_xlim() if which == "x" else axes.get_ylim()
    # Powers of ten alone would leave a short axis with one number.
    if high < 50 * low:
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())
    axis.set_minor_locator(NullLocator())


def axes_in(figure: "Figure", n: int, *, is_narrow: bool, columns: int = 2, share_y: bool = False) -> "list[Axes]":
    """Return `n` axes side by side, or one below the other on a phone; places left over stay empty."""
    columns = 1 if is_narrow else min(columns, n)
    grid = figure.subplots(-(-n // columns), columns, squeeze=False, sharey=share_y)
    found = list(grid.flat)
    for empty in found[n:]:
        empty.set_visible(False)
    return found[:n]


def legend_below(
    figure: "Figure",
    entries: "Sequence[tuple[str, int | None]]",
    palette: Palette,
    *,
    is_narrow: bool,
    lines: bool = True,
    dashes: "Sequence[Dash] | None" = None,
) -> None:
    """Name the methods that have a colour below a drawing, one key a method; `dashes` are lines' own patterns."""
    from matplotlib.lines import Line2D

    patterns = dashes or [dash_of(series) for _, series in entries]
    paired = zip(entries, patterns, strict=True)
    shown = [(label, series, dash) for (label, series), dash in paired if series is not None]
    if not shown:
        return
    handles = []
    for _, series, dash in shown:
        look: dict[str, Any] = {"marker": sign_of(series), "markersize": 6, "linestyle": ""}
        if lines:
            look = {"linewidth": 2, "linestyle": dash}
        handles.append(Line2D([], [], color=palette.colour(series), **look))
    # The leading space: matplotlib hides a name that begins with an underscore.
    names = [" " + squeeze(label, 42 if is_narrow else 48) for label, _, _ in shown]
    columns = 1 if is_narrow else 2
    figure.legend(
        handles, names, loc="outside lower center", ncols=columns, frameon=False, fontsize=9, labelcolor=palette.ink
    )


def _render(draw: Draw, size: Size, palette: Palette, kind: str, *, salt: str) -> bytes:
    from matplotlib.figure import Figure

    out = io.BytesIO()
    with _settings(salt):
        figure = Figure(figsize=size, layout="constrained")
        draw(figure, palette)
        if kind == "svg":
            _lay_out(figure)
        metadata = {"svg": {"Date": None, "Creator": None}, "pdf": {"CreationDate": None}}.get(kind)
        background = {"transparent": True} if palette is STAND_IN else {"facecolor": "white"}
        figure.savefig(out, format=kind, dpi=160, metadata=metadata, **background)
    return out.getvalue()


def _lay_out(figure: "Figure") -> None:
    """Find everything's place once: left to itself, saving draws all of the figure twice to find it."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    FigureCanvasSVG(figure)
    figure.set_dpi(72)  # what an SVG file is laid out for
    engine = figure.get_layout_engine()
    if engine is not None and figure.axes:
        engine.execute(figure)
    # No engine at all: for a placeholder, too, saving would draw everything once more to find its place.
    figure.set_layout_engine(None)


@contextmanager
def _settings(salt: str) -> Iterator[None]:
    import matplotlib

    settings: dict[Any, Any] = {
        "svg.fonttype": "none",  # words stay words: searchable, and in the reader's own font
        "svg.hashsalt": f"fairground {salt}",  # the same drawing, the same bytes
        "text.parse_math": False,  # a dollar sign in a name is a dollar sign
        "font.size": 10.5,
        "pdf.fonttype": 42,
    }
    with matplotlib.rc_context(settings), warnings.catch_warnings():
        # Names may hold signs the font has not; the browser's fonts will have them.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield
