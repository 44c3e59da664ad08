"""The site builds without a warning, asks no other host for anything, and can be read on a phone."""

import io
import re
from pathlib import Path

import pytest
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace, patch_docutils

from tests.browser import launched
from tests.docs.blocks import ROOT

DOCS = ROOT / "docs"
PAGES = ("index", "choosing", "benchmarks", "generated/commands", "generated/components/losses/margin")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every page read and every link followed; a few pages written, for writing all takes a minute."""
    folder, warned = tmp_path_factory.mktemp("site"), io.StringIO()
    with patch_docutils(DOCS), docutils_namespace():
        made = Sphinx(DOCS, DOCS, folder / "html", folder / "trees", "html", status=None, warning=warned)
        made.build(filenames=[str(DOCS / f"{page}.md") for page in PAGES])
        for page in sorted(made.env.found_docs - set(PAGES)):
            made.env.get_and_resolve_doctree(page, made.builder)
    found = re.findall(r".*(?:WARNING|ERROR|CRITICAL).*", warned.getvalue())
    assert [line for line in found if "the index will be incomplete" not in line] == []
    return folder / "html"


def test_no_page_asks_another_host(site: Path) -> None:
    for page in PAGES:
        text = (site / f"{page}.html").read_text(encoding="utf-8")
        loaded = re.findall(r"<(?:script|link|img|source|iframe)\b[^>]*?(?:src|href)=\"([^\"]+)\"", text)
        assert len(loaded) > 3
        assert not [address for address in loaded if re.match(r"(https?:)?//", address)], page
        assert "mathjax" not in text.lower()
    for style in (site / "_static").rglob("*.css"):
        assert not re.search(r"url\([\"']?(https?:)?//|@import", style.read_text(encoding="utf-8")), style


def test_a_formula_is_set_as_mathematics(site: Path) -> None:
    text = (site / "generated/components/losses/margin.html").read_text(encoding="utf-8")
    formula = re.search(r'<div class="formula">(.*?)</div>', text, re.DOTALL)
    assert formula is not None
    assert "<msub><mi>d</mi><mrow><mi>a</mi><mi>p</mi></mrow></msub>" in formula[1]
    assert "<mi>&beta;</mi>" in formula[1]


def test_every_page_is_reached_from_the_front(site: Path) -> None:
    front = (site / "index.html").read_text(encoding="utf-8")
    for path in (ROOT / "docs").glob("*.md"):
        assert path.stem == "index" or f'href="{path.stem}.html"' in front, path


@pytest.mark.browser
def test_pages_fit_a_phone_and_load_from_the_disk_alone(site: Path) -> None:
    with launched() as browser:
        tab = browser.new_page(viewport={"width": 390, "height": 844})
        asked: list[str] = []
        tab.on("request", lambda request: asked.append(request.url))
        for page in PAGES:
            tab.goto((site / f"{page}.html").as_uri())
            wide, seen = tab.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
            assert wide <= seen, page
    assert all(address.startswith(("file:", "data:")) for address in asked)
