"""Pages of pictures, each self-contained and without a script: the results of queries, and images with suspect labels.

Names come from other people's files: they only ever become text.
"""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from fairground.errors import require
from fairground.reporting.headings import clean, shorten
from fairground.reporting.rendering import render, write_page

#: queries per page at most: more would be too heavy for a phone
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
        return _uri(self.picture)

    @property
    def words(self) -> str:
        return shorten(clean(self.name), self.longest)


@dataclass(frozen=True, kw_only=True)
class Found(Shown):
    """One neighbour; `is_right` says whether it has the query's class, None where that is not known."""

    label: str | None
    similarity: float
    is_right: bool | None

    @property
    def class_words(self) -> str:
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
        return "" if self.truth is None else shorten(clean(self.truth), 60)

    @property
    def place_words(self) -> str:
        """Note that the index has no such class, which makes "unknown" right."""
        return "" if self.truth is None or self.is_truth_indexed else ", not in the index"


def write_answers(searched: Sequence[Searched], *, title: str, lead: str, out: Path) -> Path:
    """Write the page and return its path; `lead` says what is decided and how often that is wrong."""
    require(len(searched) > 0, "there is nothing to show: there was no query")
    page = render(
        "answers.html",
        styles=("answers.css",),
        title=title,
        lead=clean(lead),
        searched=searched[:MOST],
        n_left_out=max(0, len(searched) - MOST),
    )
    return write_page(page, out)


def _uri(picture: bytes | None) -> str | None:
    kind = next((kind for mark, kind in _KINDS.items() if picture is not None and picture.startswith(mark)), None)
    # Anything else in an index is not shown.
    return None if kind is None or picture is None else f"data:image/{kind};base64,{base64.b64encode(picture).decode()}"


@dataclass(frozen=True, kw_only=True)
class ClassExamples:
    """A class and a few of its pictures."""

    name: str
    pictures: tuple[Shown, ...]

    @property
    def words(self) -> str:
        return shorten(clean(self.name), 60)


@dataclass(frozen=True, kw_only=True)
class ShownSuspect(Shown):
    """One image with the class of its label and the class it is nearer to."""

    own: ClassExamples
    suggested: ClassExamples


def write_suspects(suspects: Sequence[ShownSuspect], *, n_found: int, n_images: int, weakness: str, out: Path) -> Path:
    """Write the page and return its path; the first of `n_found` suspects of `n_images` are shown.

    `weakness` says why they mean little, if they do.
    """
    warning = f" But {weakness}." if weakness else ""
    page = render(
        "suspects.html",
        styles=("answers.css",),
        title="Suspect labels",
        lead=f"{n_found:,} of {n_images:,} images are nearer to another class than to their own, the most suspect "
        f"first. Many are only unusual: look before you change a label.{warning}",
        suspects=suspects[:MOST],
        n_left_out=max(0, n_found - min(len(suspects), MOST)),
    )
    return write_page(page, out)
