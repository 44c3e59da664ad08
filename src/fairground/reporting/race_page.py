"""The page of a recommendation: advice, one table, verdicts, and how it was computed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fairground.files import write_atomically
from fairground.reporting.drawing import DARK, LIGHT, css_variables
from fairground.reporting.headings import clean
from fairground.reporting.page import TEMPLATES, environment, hash_of


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
    text = (
        environment()
        .get_template("recommendation.html")
        .render(
            title=clean(page.title),
            page=page,
            script_hash=hash_of(""),
            style=(TEMPLATES / "page.css").read_text(encoding="utf-8"),
            light=css_variables(LIGHT),
            dark=css_variables(DARK),
        )
    )
    write_atomically(out, text.encode("utf-8", "replace"))
    return out
