"""What a search found, as one self-contained page: each query, its decision, and its most similar pictures.

The page asks no host for anything and runs no script. Names come from other people's files: they only ever become text.
"""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from fairground.errors import require
from fairground.files import write_atomically
from fairground.reporting.drawing import DARK, LIGHT, css_variables
from fairground.reporting.headings import clean, shorten

if TYPE_CHECKING:
    from jinja2 import Environment

_TEMPLATES = Path(__file__).parent / "templates"
#: queries a page shows at most: beyond that it would be too heavy for a phone
MOST = 200
_KINDS = {b"\x89PNG\r\n\x1a\n": "png", b"\xff\xd8\xff": "jpeg"}


@dataclass(frozen=True, kw_only=True)
class Shown:
    """Something with a name and, if any, a small PNG or JPEG: nothing else is shown as a picture."""

    longest: ClassVar[int] = 60
    name: str
    picture: bytes | None = None

    @property
    def uri(self) -> str | None:
        """The picture as a data URI."""
        return _uri(self.picture)

    @property
    def words(self) -> str:
        """The name as a page can show it."""
        return shorten(clean(self.name), self.longest)


@dataclass(frozen=True, kw_only=True)
class Found(Shown):
    """One neighbour; `is_right` says whether it has the query's class, None where that is not known."""

    label: str | None
    similarity: float
    is_right: bool | None

    @property
    def class_words(self) -> str:
        """The class as a page can show it; nothing where it is not known."""
        return "" if self.label is None else shorten(clean(self.label), 40)


@dataclass(frozen=True, kw_only=True)
class Searched(Shown):
    """One query and what was found, most similar first; `decision` is in a few words.

    `is_right` says whether it is right, None where the query's class `truth` is not known or there is no decision.
    """

    longest: ClassVar[int] = 80
    decision: str
    is_known: bool | None
    is_right: bool | None
    truth: str | None
    nearest: str
    found: tuple[Found, ...]
    is_truth_indexed: bool = True

    @property
    def truth_words(self) -> str:
        """The query's class as a page can show it; nothing where it is not known."""
        return "" if self.truth is None else shorten(clean(self.truth), 60)

    @property
    def place_words(self) -> str:
        """Say that the index has no such class, which makes "unknown" right; nothing where it has."""
        return "" if self.truth is None or self.is_truth_indexed else ", not in the index"


def write_answers(searched: Sequence[Searched], *, title: str, lead: str, out: Path) -> Path:
    """Write the page and return its path; `lead` says what is decided and how often that is wrong."""
    require(len(searched) > 0, "there is nothing to show: there was no query")
    page = rendered_page(
        "answers.html",
        title=clean(title),
        lead=clean(lead),
        searched=searched[:MOST],
        n_left_out=max(0, len(searched) - MOST),
    )
    write_atomically(out, page.encode("utf-8", "replace"))
    return out


def rendered_page(template: str, **values: object) -> str:
    """Return a page of pictures from a template, with the style and the colours of all of them."""
    style = (_TEMPLATES / "answers.css").read_text(encoding="utf-8")
    colours = {"light": css_variables(LIGHT), "dark": css_variables(DARK)}
    return _environment().get_template(template).render(style=style, **colours, **values)


def _uri(picture: bytes | None) -> str | None:
    kind = next((kind for mark, kind in _KINDS.items() if picture is not None and picture.startswith(mark)), None)
    # Whatever else an index from elsewhere holds is not shown.
    return None if kind is None or picture is None else f"data:image/{kind};base64,{base64.b64encode(picture).decode()}"


def _environment() -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    loader = FileSystemLoader(_TEMPLATES)
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
