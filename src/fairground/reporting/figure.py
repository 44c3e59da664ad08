"""A figure ready for a page or a paper: what it shows in a sentence, how it is drawn, and its numbers.

Every file in `figures/` with a function `figure_of(inputs)` is a figure; it returns nothing when the runs lack what it
needs. `PAGE_ORDER` says where on the page it is.
"""

import importlib
import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from fairground.reporting import figures
from fairground.reporting.drawing import Draw, Size, svg_for_page, write_figure
from fairground.reporting.figure_inputs import FigureInputs
from fairground.reporting.headings import clean, shorten

#: inches: a page's column, and a phone's
WIDE, NARROW = 9.4, 3.6
#: numbers beyond this many rows are left to the table formats
_MOST_NUMBERS = 60


@dataclass(frozen=True, kw_only=True)
class ReportFigure:
    """`draw` takes whether the drawing is for a phone; heights are inches; `numbers` say the same in figures."""

    name: str
    title: str
    sentence: str
    draw: Callable[[bool], Draw]
    height: float
    narrow_height: float
    columns: tuple[str, ...] = ()
    numbers: tuple[tuple[str, ...], ...] = ()
    is_for_page: bool = True

    @property
    def size(self) -> Size:
        """The size for a wide window and for paper."""
        return WIDE, self.height

    @property
    def shown_numbers(self) -> tuple[tuple[str, ...], ...]:
        """As many rows as a page can carry."""
        return self.numbers[:_MOST_NUMBERS]

    @property
    def n_numbers_left_out(self) -> int:
        """How many rows a page leaves out."""
        return max(0, len(self.numbers) - _MOST_NUMBERS)

    def wide(self, anchor: str) -> str:
        """Return the drawing for wide windows."""
        return svg_for_page(self.draw(False), self.size, prefix=f"{anchor}-{self.name}", description=self._said)

    def narrow(self, anchor: str) -> str:
        """Return the drawing for phones."""
        size = (NARROW, self.narrow_height)
        return svg_for_page(self.draw(True), size, prefix=f"{anchor}-{self.name}-narrow", description=self._said)

    @property
    def _said(self) -> str:
        return shorten(clean(f"{self.title}. {self.sentence}"), 600)


def figures_of(inputs: FigureInputs) -> list[ReportFigure]:
    """Return every figure these runs have the numbers for, in the order of the page."""
    if not inputs.methods:
        return []
    found = [module.figure_of(inputs) for module in _modules()]
    return [figure for figure in found if figure is not None]


def write_figures_to(drawn: Sequence[ReportFigure], folder: Path, kind: str, *, prefix: str = "") -> list[Path]:
    """Write figures as files for a paper: `kind` is pdf, svg or png."""
    return [write_figure(figure.draw(False), figure.size, folder / f"{prefix}{figure.name}.{kind}") for figure in drawn]


def _modules() -> list[ModuleType]:
    names = [module.name for module in pkgutil.iter_modules(figures.__path__)]
    found = [importlib.import_module(f"{figures.__name__}.{name}") for name in names]
    return sorted((module for module in found if hasattr(module, "figure_of")), key=lambda module: module.PAGE_ORDER)
