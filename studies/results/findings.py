"""The findings in the project's README: one sentence per headline, written by `make results`."""

import re
import textwrap
from collections.abc import Sequence
from pathlib import Path

from studies.results.page import Page

BEGIN, END = "<!-- findings: written by make results -->", "<!-- end of findings -->"
#: pages in the order of the README
ORDER = (
    "c20_splits",
    "c23_since2020",
    "c25_sets",
    "c21_variance",
    "c14_tuning",
    "c01_saturation",
    "c12_selection_on_test",
    "c11_untrained",
)
WIDTH = 118


#: the first of them are in the README, with links that work on PyPI too
N_IN_README = 5
FOLDER = "https://github.com/fairground-dml/fairground/blob/main/docs/results/"


def findings(pages: Sequence[Page], folder: str, order: Sequence[str] = ORDER) -> str:
    """Return the findings as a list in Markdown, each with a link to its page in a folder."""
    known = {page.name: page for page in pages}
    lines = []
    for name in order:
        if name in known and known[name].headline:
            claim = known[name].title.partition(".")[0]
            said = f"{known[name].headline} ([{claim}]({folder}{name}.md))"
            wrapped = textwrap.wrap(said, WIDTH - 2, break_on_hyphens=False, break_long_words=False)
            lines.append("- " + "\n  ".join(wrapped))
    return "\n".join(lines)


def with_findings(readme: str, pages: Sequence[Page]) -> str:
    """Return the README with its findings renewed."""
    known = {page.name for page in pages if page.headline}
    first = [name for name in ORDER if name in known][:N_IN_README]
    block = f"{BEGIN}\n{findings(pages, FOLDER, first)}\n{END}"
    renewed, n = re.subn(f"{re.escape(BEGIN)}.*?{re.escape(END)}", lambda _: block, readme, flags=re.DOTALL)
    assert n == 1, "the README must have one place for findings"
    return renewed


def write_findings(readme: Path, pages: Sequence[Page]) -> None:
    """Renew the findings of a README in its place."""
    readme.write_text(with_findings(readme.read_text(encoding="utf-8"), pages), encoding="utf-8")
