"""Render the pages: their templates, the galleries of a report, and the pages of query results and of suspect labels.

Pages are self-contained, every name is escaped, and a page's policy allows only its own scripts.
"""

import base64
import hashlib
import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fairground.errors import DataError, require
from fairground.files import write_atomically
from fairground.records.arrays import read_arrays
from fairground.reporting import DARK, LIGHT, MARKS, css_variables, dash_of, series_of
from fairground.reporting.headings import clean, duration, heading, shorten, show, show_interval, size, unit

if TYPE_CHECKING:
    from jinja2 import Environment

_FOLDER = Path(__file__).parent / "templates"
#: most queries or suspects per page
MOST = 200
#: larger pictures of a gallery are made smaller, for phones and mail
_LARGEST = 96
#: pictures up to this size are kept exactly, as PNG
_EXACT = 64
_KINDS = {b"\x89PNG\r\n\x1a\n": "png", b"\xff\xd8\xff": "jpeg"}


def render(
    template: str, *, title: str, styles: tuple[str, ...] = ("page.css",), live: bool = False, **values: object
) -> str:
    styles = (*styles, "live.css") if live else styles
    scripts = [_text(name) for name in (("page.js", "live.js") if live else ("page.js",))]
    return (
        _environment()
        .get_template(template)
        .render(
            title=clean(title),
            style="".join(map(_text, styles)),
            scripts=scripts,
            script_hashes=[base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in scripts],
            live=live,
            light=css_variables(LIGHT),
            dark=css_variables(DARK),
            **values,
        )
    )


def write_page(page: str, out: Path) -> Path:
    write_atomically(out, page.encode("utf-8", "replace"))
    return out


def write_race_page(out: Path, *, title: str, **page: object) -> Path:
    """Write the page of a recommendation and return its path: its sentences, and the cells of its table."""
    return write_page(render("recommendation.html", title=title, page=page), out)


def _text(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


def _environment() -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup, escape

    made = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )

    def breakable(name: str) -> Markup:
        """Allow a line break after an underscore."""
        return Markup(escape(name).replace("_", Markup("_<wbr>")))

    def unbroken(sentence: str) -> str:
        """Keep a number and its unit on one line."""
        return sentence.replace(" %", "\u00a0%").replace(" ± ", "\u00a0±\u00a0")

    def chip_dashes(series: int | None) -> str:
        """Return the line pattern of a method for the legend, where lines are three times as thick."""
        return " ".join(f"{3 * length:g}" for length in dash_of(series)[1])

    filters = {
        "heading": heading,
        "duration": duration,
        "size": size,
        "shorten": shorten,
        "unbroken": unbroken,
        "uri": _uri,
    }
    # `drawn` passes our own drawings, styles and scripts unescaped, nothing else.
    made.filters.update(filters, breakable=breakable, drawn=Markup)
    made.globals.update(
        show=show, show_interval=show_interval, unit=unit, series_of=series_of, chip_dashes=chip_dashes, marks=MARKS
    )
    return made


def _uri(picture: bytes | None) -> str | None:
    """Return a small PNG or JPEG as a data URI: nothing else is shown as a picture."""
    kind = next((kind for mark, kind in _KINDS.items() if picture and picture.startswith(mark)), None)
    return None if not picture or kind is None else f"data:image/{kind};base64,{base64.b64encode(picture).decode()}"


def write_answers(
    answers: Sequence[object], *, picture_of: Callable[[int], bytes | None], title: str, lead: str, out: Path
) -> Path:
    """Write the page of the answers of an index and return its path; `picture_of` returns the picture of its rows.

    `lead` says what is decided and how often that is wrong.
    """
    require(len(answers) > 0, "nothing to show: there was no query")
    page = render(
        "answers.html",
        styles=("answers.css",),
        title=title,
        lead=clean(lead),
        answers=answers[:MOST],
        picture_of=picture_of,
        n_left_out=max(0, len(answers) - MOST),
    )
    return write_page(page, out)


def write_suspects(
    suspects: Sequence[Mapping[str, object]], *, n_found: int, n_images: int, weakness: str, out: Path
) -> Path:
    """Write the page and return its path; the first of `n_found` suspects of `n_images` are shown.

    Each has a name, a picture, and the classes of its label, `own`, and that it is nearer to, `suggested`, each with a
    name and a few pictures. `weakness` says why they mean little, if they do.
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


class Tile(NamedTuple):
    """One picture as a data URI; `is_right` tells whether a neighbour has the query's class, None for a query.

    `row` is the picture's row in the data set.
    """

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
    arrays = read_arrays(path, ("images", "labels", "rows", "right", "average_precision"))
    images, *others = arrays.values()
    is_image = (
        images.ndim == 5 and images.shape[-1] in (1, 3) and images.dtype == np.uint8 and min(images.shape[1:]) > 0
    )
    wanted = "images must be uint8 (q, 1+k, h, w, 1 or 3)"
    require(is_image, f"{path} is not a gallery: {wanted}; got {images.dtype} {images.shape}", DataError)
    q, n, *sides, _ = images.shape
    for (name, array), shape in zip(list(arrays.items())[1:], ((q, n), (q, n), (q, n - 1), (q,)), strict=True):
        is_shaped = array.shape == shape
        require(is_shaped, f"{path} is not a gallery: {name} must be {shape}; got {array.shape}", DataError)
    is_finite = bool(np.isfinite(arrays["average_precision"]).all())
    require(is_finite, f"{path} is not a gallery: average_precision must be finite", DataError)
    queries = []
    for pictures, labels, rows, right, precision in zip(images, *(array.tolist() for array in others), strict=True):
        names = [shorten(str(label), 60) for label in labels]
        first, *neighbours = map(Tile, map(_encoded, pictures), names, [None, *right], rows)
        queries.append(Query(first, neighbours, precision))
    return Gallery(queries, max(sides) <= _EXACT)


def _encoded(image: np.ndarray) -> str:
    from PIL import Image

    picture = Image.fromarray(image[:, :, 0] if image.shape[-1] == 1 else image)
    out = io.BytesIO()
    if max(picture.size) <= _EXACT:
        picture.save(out, "PNG", optimize=True)
    else:
        picture.thumbnail((_LARGEST, _LARGEST))
        picture.save(out, "JPEG", quality=82)
    return _uri(out.getvalue()) or ""
