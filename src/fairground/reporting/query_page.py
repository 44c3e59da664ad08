"""The page of the answers to queries of an index."""

from collections.abc import Callable, Sequence
from pathlib import Path

from fairground.errors import require
from fairground.reporting import MOST, clean, render, write_page


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
