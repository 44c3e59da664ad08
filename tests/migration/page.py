"""What docs/migration.md says, for the tests that hold it to its word."""

import re
from pathlib import Path
from typing import Any

from fairground.spec import RunSpec, to_plain

TEXT = (Path(__file__).parents[2] / "docs" / "migration.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    """Return the part of the page under one heading of the second level."""
    return re.split(r"^## ", TEXT.split(f"\n## {title}\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]


def blocks(text: str, language: str) -> list[str]:
    """Return the fenced blocks of one language."""
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)


def table(text: str, *heading: str) -> list[list[str]]:
    """Return the rows of the table with that heading, without it."""
    lines = text.split("| " + " | ".join(heading) + " |\n", 1)[1].splitlines()[1:]
    rows = []
    for line in lines:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    assert all(len(row) == len(heading) for row in rows), [row for row in rows if len(row) != len(heading)]
    return rows


def quoted(text: str) -> list[str]:
    """Return what stands in back quotes."""
    return re.findall(r"`([^`]+)`", text)


def commands(text: str) -> list[list[str]]:
    """Return the words of every line of the shell blocks that calls fairground."""
    lines = [line.split() for block in blocks(text, "sh") for line in block.splitlines()]
    return [words[1:] for words in lines if words[:1] == ["fairground"]]


def value_at(spec: RunSpec, key: str) -> Any:
    """Return a setting of a spec by its dotted name; a part's own name stands at the part."""
    found: Any = to_plain(spec)
    for step in key.split("."):
        found = None if found is None else found.get(step, found.get("settings", {}).get(step))
    return found["name"] if isinstance(found, dict) and "name" in found else found
