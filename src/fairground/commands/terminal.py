"""How lines reach the terminal: as wide as it is, numbers with their nouns, warnings of damage as sentences."""

import os
import shutil
import sys
import textwrap
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from io import TextIOWrapper
from itertools import zip_longest
from pathlib import Path
from typing import Any

from fairground.errors import DamageWarning


class Verbatim(str):
    """Lines that are printed as they are: those of a table, or a command to copy."""

    __slots__ = ()


def terminal_width(most: int = 116) -> int:
    """Return how many columns a text may take: those of the terminal, `most` at most, and that where there is none."""
    return max(40, min(most, shutil.get_terminal_size((most, 24)).columns))


def screen_width() -> int | None:
    """Return how many columns a table may take; None where no terminal is written to."""
    return terminal_width(10_000) if sys.stdout.isatty() else None


def fitted(line: str, width: int | None, *, indent: int = 4) -> str:
    """Return a line in as many as a width needs; a path that is too long by itself is never torn."""
    if width is None or len(line) <= width:
        return line
    further = " " * (len(line) - len(line.lstrip()) + indent)
    lines = textwrap.wrap(line, width, subsequent_indent=further, break_on_hyphens=False, break_long_words=False)
    return "\n".join(lines)


def complain(text: str) -> None:
    width = terminal_width(10_000) if sys.stderr.isatty() else None
    print("\n".join(fitted(line, width) for line in f"fairground: {text}".split("\n")), file=sys.stderr)


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows in aligned columns, the last cell of a row unaligned, as it may be a sentence."""
    widths = [max(map(len, column)) for column in zip_longest(*(row[:-1] for row in rows), fillvalue="")]
    screen, indent = screen_width(), sum(width + 2 for width in widths[:2])
    lines = ("  ".join(f"{cell:<{w}}" for cell, w in zip(row, [*widths, 0], strict=False)).rstrip() for row in rows)
    return [Verbatim(fitted(line, screen, indent=indent)) for line in lines]


def plural(number: int, one: str) -> str:
    return f"{number:,} {one}{'' if number == 1 else 's'}"


def card_text(card: Mapping[str, str]) -> str:
    width, columns = max(map(len, card)), terminal_width(118)
    rows = (f"{heading:<{width}}  {sentence}".rstrip() for heading, sentence in card.items())
    return "\n".join(fitted(row, columns, indent=width + 2) for row in rows)


def prepare_streams() -> None:
    """Print what the terminal cannot write as its escape, and warnings of damage as sentences."""
    for name in ("stdout", "stderr"):
        # None where the parent process closed it.
        stream = getattr(sys, name) or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - open to the end
        setattr(sys, name, stream)
        if isinstance(stream, TextIOWrapper):
            # The name of a file may have bytes that are not UTF-8.
            stream.reconfigure(errors="backslashreplace")
    # A picture that Pillow warns of is read as it should be, or refused in a sentence of ours.
    warnings.filterwarnings("ignore", module=r"PIL\.")
    show = warnings.showwarning

    def show_sentence(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if issubclass(category, DamageWarning):
            print(f"fairground: {message}", file=sys.stderr)
        else:
            show(message, category, *place, **more)

    warnings.showwarning = show_sentence


@contextmanager
def prints_on_stderr() -> Iterator[None]:
    """Send to the error stream what is printed meanwhile, by this process or by those it starts."""
    sys.stdout.flush()
    saved = os.dup(1)
    os.dup2(2, 1)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(saved, 1)
        os.close(saved)
