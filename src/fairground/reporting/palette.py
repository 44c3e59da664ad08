"""Colours that stay apart for colour-blind readers, on white and on black.

A figure for the page is drawn in stand-in colours that become CSS variables, so that one drawing follows the reader's
light or dark setting. A figure for a file is drawn in the light colours directly.
"""

from dataclasses import dataclass

#: how many methods are told apart by colour; more would only look different
N_SERIES = 7


@dataclass(frozen=True, kw_only=True)
class Palette:
    """`ink` for words, `soft` for what is secondary, `rule` for grid lines, `series` for methods."""

    ink: str
    soft: str
    rule: str
    series: tuple[str, ...]

    def colour(self, series: int | None) -> str:
        """Return the colour of a method, or the secondary one for methods beyond those told apart."""
        return self.soft if series is None else self.series[series]


# Okabe and Ito's hues, darkened or lightened until each has a contrast of 3 to 1 with its background.
LIGHT = Palette(
    ink="#1b1f24",
    soft="#5c6570",
    rule="#dde1e6",
    series=("#0072b2", "#d55e00", "#00795b", "#a8327d", "#9a6f00", "#5b4fc4", "#8c2d19"),
)
DARK = Palette(
    ink="#e8ebef",
    soft="#a3adb8",
    rule="#333a42",
    series=("#56b4e9", "#ff9d5c", "#3fd0a4", "#ee8fc6", "#f0c94a", "#b3a8ff", "#ff8d7a"),
)
STAND_IN = Palette(
    ink="#010101",
    soft="#010102",
    rule="#010103",
    series=tuple(f"#0102{index:02x}" for index in range(N_SERIES)),
)
#: a line pattern of matplotlib: where it starts, and the lengths of dashes and gaps
Dash = tuple[float, tuple[float, ...]]
#: line patterns, so that colour is never the only difference
DASHES: tuple[Dash, ...] = (
    (0, ()),
    (0, (5, 1.5)),
    (0, (1, 1.2)),
    (0, (5, 1.5, 1, 1.5)),
)


#: marks, for the same reason
SIGNS = ("o", "s", "^", "D", "v", "P", "X")


def sign_of(series: int | None) -> str:
    """Return the mark that goes with a colour."""
    return "o" if series is None else SIGNS[series % len(SIGNS)]


def series_of(rank: int) -> int | None:
    """Return which colour the method of this rank gets, or None when there are too many to tell apart."""
    return rank if rank < N_SERIES else None


def dash_of(series: int | None) -> Dash:
    """Return the line pattern that goes with a colour."""
    return DASHES[(series or 0) % len(DASHES)]


def as_variables(svg: str) -> str:
    """Replace the stand-in colours of a drawing by CSS variables."""
    for name in ("ink", "soft", "rule"):
        svg = svg.replace(getattr(STAND_IN, name), f"var(--{name})")
    for index, colour in enumerate(STAND_IN.series):
        svg = svg.replace(colour, f"var(--series-{index})")
    return svg


def css_variables(palette: Palette) -> str:
    """Return the palette as CSS declarations."""
    named = [f"--{name}: {getattr(palette, name)};" for name in ("ink", "soft", "rule")]
    return " ".join(named + [f"--series-{index}: {colour};" for index, colour in enumerate(palette.series)])
