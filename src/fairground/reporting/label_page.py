"""Images whose labels are suspect, as one self-contained page, with pictures of both classes that may be right."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fairground.files import write_atomically
from fairground.reporting.headings import clean, shorten
from fairground.reporting.query_page import MOST, Shown, rendered_page


@dataclass(frozen=True, kw_only=True)
class ClassExamples:
    """A class and a few of its pictures."""

    name: str
    pictures: tuple[Shown, ...]

    @property
    def words(self) -> str:
        """The class as a page can show it."""
        return shorten(clean(self.name), 60)


@dataclass(frozen=True, kw_only=True)
class ShownSuspect(Shown):
    """One image with its label's class and the class it lies nearer to."""

    own: ClassExamples
    suggested: ClassExamples


def write_suspects(suspects: Sequence[ShownSuspect], *, n_found: int, n_images: int, weakness: str, out: Path) -> Path:
    """Write the page and return its path; `n_found` of `n_images` are suspect, of which the first are shown.

    `weakness` says why they mean little, where they do.
    """
    warning = f" But {weakness}." if weakness else ""
    page = rendered_page(
        "suspects.html",
        title="Suspect labels",
        lead=f"{n_found:,} of {n_images:,} images lie nearer to another class than to their own; the most suspect come "
        f"first. Many of them are only unusual: look before you change a label.{warning}",
        suspects=suspects[:MOST],
        n_left_out=max(0, n_found - min(len(suspects), MOST)),
    )
    write_atomically(out, page.encode("utf-8", "replace"))
    return out
