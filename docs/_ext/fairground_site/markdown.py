"""Pieces of Markdown: text that stays text, tables, and docstrings cut into their sections."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from textwrap import dedent

_CODE = re.compile(r"(`[^`]+`)")
_SIGNS = re.compile(r"([\\*_{}\[\]<>#|$~^])")
#: a paragraph must not begin like a list, or Markdown makes it one
_LIST = re.compile(r"^(\s*)([-+]|\d+[.)])(?=\s)", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Docstring:
    """A docstring of the house: a first sentence, perhaps more text, and sections of indented lines under a heading."""

    first: str
    more: str = ""
    sections: dict[str, str] = field(default_factory=dict)


def parse_docstring(text: str) -> Docstring:
    """Return the parts of a docstring whose indentation has been taken off."""
    first, _, rest = text.strip().partition("\n\n")
    more: list[str] = []
    sections: dict[str, list[str]] = {}
    current = more
    lines = rest.splitlines()
    for number, line in enumerate(lines):
        follower = lines[number + 1] if number + 1 < len(lines) else ""
        is_heading = bool(line) and not line[0].isspace() and follower.startswith("    ")
        if is_heading:
            current = sections.setdefault(line.strip(), [])
        else:
            if line and not line[0].isspace():
                current = more
            current.append(line)
    bodies = {heading: dedent("\n".join(body)).strip("\n") for heading, body in sections.items()}
    return Docstring(first=" ".join(first.split()), more="\n".join(more).strip(), sections=bodies)


def prose(text: str) -> str:
    """Return plain text as Markdown: what is between backticks stays code, every other character is escaped."""
    pieces = _CODE.split(text)
    escaped = "".join(piece if number % 2 else _SIGNS.sub(r"\\\1", piece) for number, piece in enumerate(pieces))
    return _LIST.sub(lambda match: f"{match[1]}{match[2][:-1]}\\{match[2][-1]}", escaped)


def code(text: object) -> str:
    """Return text as code that may stand in a table."""
    words = str(text).replace("|", "\\|")
    return f"`` {words} ``" if "`" in words else f"`{words}`"


def block(text: str, *, kind: str = "text", style: str = "") -> str:
    """Return lines as a fenced block, with its own style if one is named."""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
    option = f"\n:class: {style}" if style else ""
    return f"{fence}{{code-block}} {kind}{option}\n\n{text}\n{fence}\n"


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of cells that are Markdown already."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join("| " + " | ".join(cell.replace("\n", " ") for cell in line) + " |" for line in lines) + "\n"
