"""The fenced blocks of the pages, and how each is tested."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: pages whose blocks have tests of their own
ELSEWHERE = {"docs/migration.md": "tests/migration"}
#: language -> what is done with it
TREATMENT = {
    "python": "run, page by page in one namespace",
    "sh": "run, or checked where it is expensive, line by line",
    "toml": "loaded as a study or a run",
    "csv": "data, shown",
    "text": "no code",
    "": "no code",
    "{toctree}": "read by Sphinx",
}
_FENCE = re.compile(r"^(?P<fence>`{3,})(?P<language>\S*)[^\n]*\n(?P<text>.*?)^(?P=fence)\s*$", re.MULTILINE | re.DOTALL)
_MARK = re.compile(r"<!-- (.+?) -->\s*\Z")


@dataclass(frozen=True, kw_only=True)
class Block:
    """One block: where it is, its language, and the comment above it."""

    page: str
    line: int
    language: str
    text: str
    mark: str = ""

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def is_check_only(self) -> bool:
        """`<!-- check only: why -->` stands above a block that cannot be run here."""
        return self.mark.startswith("check only: ")


def pages() -> list[str]:
    """Return every page with prose for users, as a path from the root."""
    found = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
    return [str(path.relative_to(ROOT)) for path in found]


def blocks_of(page: str) -> list[Block]:
    """Return the blocks of a page in order."""
    return list(_blocks((ROOT / page).read_text(encoding="utf-8"), page))


def _blocks(text: str, page: str) -> Iterator[Block]:
    for match in _FENCE.finditer(text):
        above = _MARK.search(text[: match.start()])
        yield Block(
            page=page,
            line=text.count("\n", 0, match.start()) + 1,
            language=match["language"],
            text=match["text"],
            mark=above[1] if above else "",
        )
