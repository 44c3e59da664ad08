"""The page of a recommendation: advice, one table, verdicts, and how it was computed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fairground.reporting.rendering import render, write_page


@dataclass(frozen=True, kw_only=True)
class RacePage:
    """Everything on the page: sentences, and the cells of the table."""

    title: str
    #: what all others are held against
    frozen: str
    advice: Sequence[str]
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    verdicts: Sequence[str]
    steps: Sequence[str]
    commands: Sequence[str]
    counts: Mapping[str, str]

    @property
    def has_sealed(self) -> bool:
        """Tell whether a method has not been measured on the test classes."""
        return any("sealed" in row for row in self.rows)


def write_race_page(page: RacePage, out: Path) -> Path:
    """Write the page and return its path."""
    return write_page(render("recommendation.html", title=page.title, page=page), out)
