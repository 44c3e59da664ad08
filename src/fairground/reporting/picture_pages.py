"""Pictures on pages: galleries of a report, and the pages of query results and of suspect labels.

Pages are self-contained and have no script; every name is escaped.
"""

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from fairground.errors import DataError, require
from fairground.records.arrays import read_arrays
from fairground.reporting.headings import clean, shorten
from fairground.reporting.rendering import render, write_page

#: most queries or suspects per page
MOST = 200
#: larger pictures of a gallery are made smaller, for phones and mail
_LARGEST = 96
#: pictures up to this size are kept exactly, as PNG
_EXACT = 64
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
    require(len(searched) > 0, "nothing to show: there was no query")
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
    # Nothing else is shown as a picture.
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


@dataclass(frozen=True, kw_only=True)
class Tile:
    """One picture as a data URI; `is_right` tells whether a neighbour has the query's class, None for a query.

    `row` is the picture's row in the data set.
    """

    uri: str
    label: str
    is_right: bool | None
    row: int

    @property
    def alt(self) -> str:
        """What a screen reader says."""
        return {None: "query", True: "right", False: "wrong"}[self.is_right] + f": {self.label}"


@dataclass(frozen=True, kw_only=True)
class Query:
    """A query, its neighbours nearest first, and its average precision."""

    picture: Tile
    neighbours: tuple[Tile, ...]
    average_precision: float


@dataclass(frozen=True, kw_only=True)
class Gallery:
    """The queries of one run."""

    queries: tuple[Query, ...]
    is_pixelated: bool

    @property
    def weight(self) -> int:
        """How many characters its pictures add to a page."""
        return sum(len(tile.uri) for query in self.queries for tile in (query.picture, *query.neighbours))


def read_gallery(path: Path) -> Gallery:
    """Read `images` (q, 1+k, h, w, c), `labels` and `rows` (q, 1+k), `right` (q, k) and `average_precision` (q,)."""
    arrays = read_arrays(path, ("images", "labels", "right", "average_precision", "rows"))
    images, labels, right, rows = (arrays[name] for name in ("images", "labels", "right", "rows"))
    _check(path, arrays)
    queries = []
    for q in range(len(images)):
        verdicts = [None, *(bool(verdict) for verdict in right[q])]
        tiles = [
            Tile(uri=_encoded(image), label=shorten(str(label), 60), is_right=verdict, row=int(row))
            for image, label, verdict, row in zip(images[q], labels[q], verdicts, rows[q], strict=True)
        ]
        precision = float(arrays["average_precision"][q])
        queries.append(Query(picture=tiles[0], neighbours=tuple(tiles[1:]), average_precision=precision))
    return Gallery(queries=tuple(queries), is_pixelated=max(images.shape[2:4]) <= _EXACT)


def _check(path: Path, arrays: dict[str, np.ndarray]) -> None:
    def check(condition: bool, complaint: str) -> None:
        require(condition, f"{path} is not a gallery: {complaint}", DataError)

    images, right = arrays["images"], arrays["right"]
    check(images.ndim == 5 and images.shape[-1] in (1, 3), f"images must be (q, 1+k, h, w, 1 or 3); got {images.shape}")
    check(images.dtype == np.uint8, f"images must be uint8; got {images.dtype}")
    check(images.shape[1] >= 1 and min(images.shape[2:4]) >= 1, f"a picture is empty; images are {images.shape}")
    for name in ("labels", "rows"):
        shape = arrays[name].shape
        check(shape == images.shape[:2], f"{name} must be {images.shape[:2]}; got {shape}")
    wanted = (images.shape[0], images.shape[1] - 1)
    check(right.shape == wanted, f"right must be {wanted}; got {right.shape}")
    check(right.dtype == np.bool_, f"right must be true or false; got {right.dtype}")
    precision = arrays["average_precision"]
    check(precision.shape == images.shape[:1], f"average_precision must be {images.shape[:1]}; got {precision.shape}")
    check(bool(np.isfinite(precision).all()), "average_precision must be finite")


def _encoded(image: np.ndarray) -> str:
    from PIL import Image

    picture = Image.fromarray(image[:, :, 0] if image.shape[-1] == 1 else image)
    is_small = max(picture.size) <= _EXACT
    if not is_small:
        picture.thumbnail((_LARGEST, _LARGEST))
    out = io.BytesIO()
    if is_small:
        picture.save(out, "PNG", optimize=True)
    else:
        picture.save(out, "JPEG", quality=82)
    kind = "png" if is_small else "jpeg"
    return f"data:image/{kind};base64,{base64.b64encode(out.getvalue()).decode()}"
