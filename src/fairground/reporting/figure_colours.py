"""The colours of figures, in light and in dark mode, and the line patterns and marks of methods."""

from collections.abc import Mapping
from typing import Literal

#: how many methods have a colour of their own
N_SERIES = 7
#: a method's colour by rank (None beyond the palette), or one of the colours that are not a method's
Series = int | None | Literal["ink", "soft", "rule"]
#: a line pattern of matplotlib: where it starts, and the lengths of dashes and gaps
Dash = tuple[float, tuple[float, ...]]

#: colours by name: `ink` for text, `soft` for what is secondary, `rule` for grid lines, `series-0` ... for methods
Palette = Mapping[str, str]


def _palette(ink: str, soft: str, rule: str, *series: str) -> Palette:
    return {"ink": ink, "soft": soft, "rule": rule, **{f"series-{i}": colour for i, colour in enumerate(series)}}


# Okabe and Ito's hues, darkened or lightened until each has a contrast of 3 to 1 with its background.
_IN_LIGHT = ("#0072b2", "#d55e00", "#00795b", "#a8327d", "#9a6f00", "#5b4fc4", "#8c2d19")
_IN_DARK = ("#56b4e9", "#ff9d5c", "#3fd0a4", "#ee8fc6", "#f0c94a", "#b3a8ff", "#ff8d7a")
LIGHT = _palette("#1b1f24", "#5c6570", "#dde1e6", *_IN_LIGHT)
DARK = _palette("#e8ebef", "#a3adb8", "#333a42", *_IN_DARK)
STAND_IN = _palette("#010101", "#010102", "#010103", *(f"#0102{index:02x}" for index in range(N_SERIES)))
# Line patterns and marks, so that colour is never the only difference.
SOLID, DASHED, DOTTED = (0, ()), (0, (4, 3)), (0, (1, 1.2))
DASHES: tuple[Dash, ...] = (SOLID, (0, (5, 1.5)), DOTTED, (0, (5, 1.5, 1, 1.5)))
SIGNS = ("o", "s", "^", "D", "v", "P", "X")


def series_of(rank: int) -> int | None:
    """Return the colour of the method of this rank; None when there are too many to tell apart."""
    return rank if rank < N_SERIES else None


def sign_of(series: Series) -> str:
    return SIGNS[series % len(SIGNS)] if isinstance(series, int) else "o"


def dash_of(series: Series) -> Dash:
    return DASHES[series % len(DASHES)] if isinstance(series, int) else SOLID


def colour_of(series: Series, palette: Palette) -> str:
    return palette[f"series-{series}" if isinstance(series, int) else series or "soft"]


def css_variables(palette: Palette) -> str:
    return " ".join(f"--{name}: {colour};" for name, colour in palette.items())
