"""The galleries of a report: queries with their neighbours, as pictures in a page, as many as keep the page light."""

import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fairground.records.arrays import read_arrays
from fairground.reporting import Method, RunSet, data_uri, leave_out, shorten
from fairground.spec import DataError

#: galleries beyond this many characters are left out, and the page says so
_MOST_CHARACTERS = 6_000_000
#: larger pictures of a gallery are made smaller, for phones and mail
_LARGEST = 96
#: pictures up to this size are kept exactly, as PNG
_EXACT = 64


class Tile(NamedTuple):
    """A picture of a data set's `row` as a data URI; `is_right`: it has the query's class, None for the query."""

    uri: str
    label: str
    is_right: bool | None
    row: int

    @property
    def alt(self) -> str:
        return {None: "query", True: "right", False: "wrong"}[self.is_right] + f": {self.label}"


class Query(NamedTuple):
    """A query, its neighbours nearest first, and its average precision."""

    picture: Tile
    neighbours: list[Tile]
    average_precision: float


class Gallery(NamedTuple):
    """The queries of one run."""

    queries: list[Query]
    is_pixelated: bool

    @property
    def weight(self) -> int:
        return sum(len(tile.uri) for query in self.queries for tile in (query.picture, *query.neighbours))


def read_gallery(path: Path) -> Gallery:
    """Read `images` (q, 1+k, h, w, c), `labels` and `rows` (q, 1+k), `right` (q, k) and `average_precision` (q,)."""
    images, *others = read_arrays(path, ("images", "labels", "rows", "right", "average_precision")).values()
    queries = []
    for pictures, labels, rows, right, precision in zip(images, *(array.tolist() for array in others), strict=True):
        names = [shorten(str(label), 60) for label in labels]
        first, *neighbours = map(Tile, map(_encoded, pictures), names, [None, *right], rows)
        queries.append(Query(first, neighbours, precision))
    return Gallery(queries, max(images.shape[2:4]) <= _EXACT)


def galleries_of(rows: Iterable[Method], runs: RunSet) -> tuple[list[dict[str, Any]], int]:
    """Return the gallery of each method's first run that has one, as far as the page stays light, and how many do not.

    The best methods come first.
    """
    files = runs.files("gallery.npz")
    shown: list[dict[str, Any]] = []
    n_left_out, weight = 0, 0
    for row in rows:
        run = next((record for record in row.records if record.name in files), None)
        if run is None:
            continue
        try:
            gallery = read_gallery(files[run.name])
        except DataError as error:
            leave_out(error)
            continue
        weight += gallery.weight
        if shown and weight > _MOST_CHARACTERS:
            n_left_out += 1
        else:
            shown.append({"run": run.name, "label": row.label, "seed": str(run.spec.get("seed")), "gallery": gallery})
    return shown, n_left_out


def _encoded(image: np.ndarray) -> str:
    from PIL import Image

    picture = Image.fromarray(image[:, :, 0] if image.shape[-1] == 1 else image)
    out = io.BytesIO()
    if max(picture.size) <= _EXACT:
        picture.save(out, "PNG", optimize=True)
    else:
        picture.thumbnail((_LARGEST, _LARGEST))
        picture.save(out, "JPEG", quality=82)
    return data_uri(out.getvalue()) or ""
