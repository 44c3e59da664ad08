"""The pages of the answers to queries of an index, and of suspect labels."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from fairground.reporting import MOST, clean, render, require, write_page


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
