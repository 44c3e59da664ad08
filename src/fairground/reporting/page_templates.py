"""Render the pages from their templates; those of a recommendation, of answers to queries and of suspect labels.

Pages are self-contained, every name is escaped, and a page's policy allows only its own scripts.
"""

import base64
import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fairground.reporting import DARK, LIGHT, MARKS, css_variables, dash_of, series_of, write_atomically
from fairground.reporting.headings_and_units import clean, duration, heading, shorten, show, show_interval, size, unit

if TYPE_CHECKING:
    from jinja2 import Environment

_FOLDER = Path(__file__).parent / "templates"
#: most queries or suspects per page
MOST = 200
_KINDS = {b"\x89PNG\r\n\x1a\n": "png", b"\xff\xd8\xff": "jpeg"}


def render(
    template: str, *, title: str, styles: tuple[str, ...] = ("page.css",), live: bool = False, **values: object
) -> str:
    styles = (*styles, "live.css") if live else styles
    scripts = [_text(name) for name in (("page.js", "live.js") if live else ("page.js",))]
    page = _environment().get_template(template)
    return page.render(
        title=clean(title),
        style="".join(map(_text, styles)),
        scripts=scripts,
        script_hashes=[base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in scripts],
        live=live,
        light=css_variables(LIGHT),
        dark=css_variables(DARK),
        **values,
    )


def write_page(page: str, out: Path) -> Path:
    # Names of files and classes may have characters that a terminal would obey.
    plain = re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", "", page)
    write_atomically(out, plain.encode("utf-8", "replace"))
    return out


def write_recommendation_page(out: Path, *, title: str, **page: object) -> Path:
    """Write the page of a recommendation and return its path: its sentences, and the cells of its table."""
    return write_page(render("recommendation.html", title=title, page=page), out)


def write_answers(
    answers: Sequence[object], *, picture_of: Callable[[int], bytes | None], title: str, lead: str, out: Path
) -> Path:
    """Write the page of an index's answers; `picture_of` gives a row's picture, `lead` says how sure decisions are."""
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


def _text(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


def _environment() -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup, escape

    made = Environment(loader=FileSystemLoader(_FOLDER), autoescape=True, undefined=StrictUndefined)
    made.trim_blocks = made.lstrip_blocks = True

    def breakable(name: str) -> Markup:
        return Markup(re.sub("([_/])", r"\1<wbr>", str(escape(name))))

    def unbroken(sentence: str) -> str:
        return sentence.replace(" %", "\u00a0%").replace(" ± ", "\u00a0±\u00a0")

    def chip_dashes(series: int | None) -> str:
        """Return the line pattern of a method for the legend, where lines are three times as thick."""
        return " ".join(f"{3 * length:g}" for length in dash_of(series)[1])

    made.filters.update(heading=heading, duration=duration, size=size, shorten=shorten, uri=data_uri)
    # `drawn` passes our own drawings, styles and scripts unescaped, nothing else.
    made.filters.update(unbroken=unbroken, breakable=breakable, drawn=Markup)
    made.globals.update(
        show=show, show_interval=show_interval, unit=unit, series_of=series_of, chip_dashes=chip_dashes, marks=MARKS
    )
    return made


def data_uri(picture: bytes | None) -> str | None:
    """Return a small PNG or JPEG as a data URI: nothing else is shown as a picture."""
    kind = next((kind for mark, kind in _KINDS.items() if picture and picture.startswith(mark)), None)
    return None if not picture or kind is None else f"data:image/{kind};base64,{base64.b64encode(picture).decode()}"
