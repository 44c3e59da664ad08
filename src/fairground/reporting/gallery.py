"""A gallery: queries with their nearest neighbours, read from a run's `gallery.npz` and made ready for a page."""

import base64
import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fairground.errors import DataError, require
from fairground.records.arrays import read_arrays
from fairground.reporting.headings import shorten

#: larger pictures are made smaller: a page is looked at on a phone and sent by mail
_LARGEST = 96
#: up to this size a picture is a drawing rather than a photograph, and PNG is both exact and small
_EXACT = 64


@dataclass(frozen=True, kw_only=True)
class Tile:
    """One picture as a data URI; `is_right` tells whether a neighbour has the query's class, None for a query.

    `row` is the picture's place in the data set, where the file says so.
    """

    uri: str
    label: str
    is_right: bool | None
    row: int | None = None

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
    """Read `images` (q, 1+k, h, w, c), `labels` (q, 1+k), `right` (q, k) and `average_precision` (q,)."""
    arrays = read_arrays(path, ("images", "labels", "right", "average_precision"))
    images, labels, right = arrays["images"], arrays["labels"], arrays["right"]
    _check(path, arrays)
    rows = _rows(path, labels.shape)
    queries = []
    for q in range(len(images)):
        verdicts = [None, *(bool(verdict) for verdict in right[q])]
        tiles = [
            Tile(uri=_uri(image), label=shorten(str(label), 60), is_right=verdict, row=row)
            for image, label, verdict, row in zip(images[q], labels[q], verdicts, rows[q], strict=True)
        ]
        precision = float(arrays["average_precision"][q])
        queries.append(Query(picture=tiles[0], neighbours=tuple(tiles[1:]), average_precision=precision))
    return Gallery(queries=tuple(queries), is_pixelated=max(images.shape[2:4]) <= _EXACT)


def _rows(path: Path, shape: tuple[int, ...]) -> list[list[int | None]]:
    """Return the rows of the pictures; files of older runs do not say them."""
    nothing: list[list[int | None]] = [[None] * shape[1] for _ in range(shape[0])]
    try:
        found = read_arrays(path, ["rows"])["rows"]
    except DataError:
        return nothing
    is_right = found.shape == shape and found.dtype.kind in "iu"
    return [[int(row) for row in line] for line in found] if is_right else nothing


def _check(path: Path, arrays: dict[str, np.ndarray]) -> None:
    def check(condition: bool, complaint: str) -> None:
        require(condition, f"{path} is no gallery: {complaint}", DataError)

    images, labels, right = arrays["images"], arrays["labels"], arrays["right"]
    check(images.ndim == 5 and images.shape[-1] in (1, 3), f"images must be (q, 1+k, h, w, 1 or 3); got {images.shape}")
    check(images.dtype == np.uint8, f"images must be uint8; got {images.dtype}")
    check(images.shape[1] >= 1 and min(images.shape[2:4]) >= 1, f"a picture is empty; images are {images.shape}")
    check(labels.shape == images.shape[:2], f"labels must be {images.shape[:2]}; got {labels.shape}")
    wanted = (images.shape[0], images.shape[1] - 1)
    check(right.shape == wanted, f"right must be {wanted}; got {right.shape}")
    check(right.dtype == np.bool_, f"right must be true or false; got {right.dtype}")
    precision = arrays["average_precision"]
    check(precision.shape == images.shape[:1], f"average_precision must be {images.shape[:1]}; got {precision.shape}")
    check(bool(np.isfinite(precision).all()), "average_precision holds a number that is not finite")


def _uri(image: np.ndarray) -> str:
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
