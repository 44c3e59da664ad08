r"""The one way to the terminal: what is printed loses the characters that could move its cursor or set its title.

Names of files and errors of other libraries come from outside: a control character in one is shown as its escape
(`\x1b`). Rich, which draws bars, needs such characters itself: `console()` cleans the texts that it is given.
"""

import os
import re
import shutil
import sys
import textwrap
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, cast

from fairground.errors import DamageWarning

if TYPE_CHECKING:
    from rich.console import Console

#: C0 but for line feed and tabulator, DEL, C1, lone surrogates, and what reverses the direction of writing
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


class Verbatim(str):
    """Lines that are printed as they are: those of a table, or a command to copy."""

    __slots__ = ()


def cleaned(text: str) -> str:
    """Return a text with every character that a terminal would obey shown as its escape."""

    def escaped(found: re.Match[str]) -> str:
        # A lone surrogate stands for one byte of a file's name that is not UTF-8.
        number = ord(found[0]) - (0xDC00 if 0xDC80 <= ord(found[0]) <= 0xDCFF else 0)
        return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"

    return _UNSAFE.sub(escaped, text)


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


def console() -> "Console":
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

    class CleanConsole(Console):
        """Cleans the texts of names and numbers, and leaves its own movements of the cursor alone."""

        def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
            for segment in super().render(renderable, options):
                yield segment if segment.control else segment._replace(text=cleaned(segment.text))

    return CleanConsole(file=cast(TextIO, getattr(sys.stderr, "unclean", sys.stderr)))


def guard_streams() -> None:
    """Let everything this process prints go through `cleaned`, and print warnings of damage as sentences."""
    for name in ("stdout", "stderr"):
        # None where the parent process closed it.
        stream = getattr(sys, name) or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - open to the end
        if not isinstance(stream, CleanStream):
            setattr(sys, name, CleanStream(stream))
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


class CleanStream:
    """A text stream that cleans what is written to it; all else is the stream's own."""

    def __init__(self, stream: TextIO) -> None:
        self.unclean = stream

    def write(self, text: str) -> int:
        self.unclean.write(cleaned(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.unclean, name)
