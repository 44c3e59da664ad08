"""What the site has beyond the hand-written pages: components, commands, protocols and the Python interface.

The pages are written into `docs/generated` before Sphinx reads its sources, from the catalogue and the command line as
they are, and are not kept under version control.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pygments.lexers.special import TextLexer

from fairground_site.commands import command_page
from fairground_site.components import ROOM_WORDS, component_pages
from fairground_site.interface import interface_page
from fairground_site.protocols import protocol_page

#: what stands for every page that the front page does not name
OTHERS = "(every other page)"


def generated_pages() -> dict[str, str]:
    """Return every generated page by its path without suffix."""
    listed = "\n".join(f"{room}/index" for room in ROOM_WORDS)
    rooms = (
        "# Components\n\nOne file of the package, one page here: what its docstring, its constructor and its search "
        f"ranges say.\n\n```{{toctree}}\n:maxdepth: 1\n\n{listed}\n```\n"
    )
    pages = {"commands": command_page(), "interface": interface_page(), "protocols": protocol_page()}
    pages["components/index"] = rooms
    return pages | {f"components/{path}": page for path, page in component_pages().items()}


def write_pages(folder: Path) -> None:
    """Bring a folder up to date; unchanged pages are not touched, so that Sphinx does not read them again."""
    pages = {folder / f"{path}.md": text for path, text in generated_pages().items()}
    for stale in set(folder.rglob("*.md")) - set(pages):
        stale.unlink()
    for path, text in pages.items():
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


def take_in(front: str, pages: Iterable[str]) -> str:
    """Return the front page with the pages that it does not name inserted at the placeholder."""
    named = {"index", *front.split()}
    return front.replace(OTHERS, "\n".join(sorted(page for page in pages if page not in named)))


def _read(app: Any, name: str, source: list[str]) -> None:
    if name == "index":
        source[0] = take_in(source[0], (path.stem for path in Path(app.srcdir).glob("*.md")))


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("builder-inited", lambda started: write_pages(Path(started.srcdir) / "generated"))
    app.connect("source-read", _read)
    # Code hosts colour CSV; Pygments does not know the word.
    app.add_lexer("csv", TextLexer)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
