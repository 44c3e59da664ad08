"""Every file and module of ours that a page names is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "fairground"
PAGES = sorted([*ROOT.glob("docs/*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"])
#: what CONTRIBUTING tells a reader to write
EXAMPLES = {"src/fairground/losses/my_idea.py", "tests/losses/test_my_idea.py"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_files_named_are_there(page):
    text = page.read_text(encoding="utf-8")
    named = set(re.findall(r"`([\w./-]+/[\w.-]+\.(?:py|csv))`", text)) - EXAMPLES
    missing = [path for path in named if not any((base / path).exists() for base in (ROOT, ROOT / "src", PACKAGE))]
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_modules_named_are_there(page):
    for name in re.findall(r"`(fairground(?:\.\w+)+)", page.read_text(encoding="utf-8")):
        parts = name.split(".")[1:]
        places = [PACKAGE.joinpath(*parts[:n]) for n in (len(parts), len(parts) - 1) if n]
        assert any(place.is_dir() or place.with_suffix(".py").is_file() for place in places), name
