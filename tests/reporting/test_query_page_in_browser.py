"""The page of a search as a reader sees it, in a real browser, at the width of a desk and of a phone."""

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from fairground.errors import FairgroundError
from fairground.reporting.rendering import MOST, Found, Searched, write_answers

pytestmark = pytest.mark.browser
HOSTILE = "<img src=x onerror=alert(1)>\"'&.png"
LONG = "a_very_long_name_without_a_break_" * 8


def picture(seed: int) -> bytes:
    pixels = np.random.default_rng(seed).integers(0, 256, (24, 24, 3), dtype=np.uint8)
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "PNG")
    return out.getvalue()


def searched(n: int = 3) -> list[Searched]:
    names = [HOSTILE, LONG, "\u202edrowkcab", "plain", "🎡"]
    found = tuple(
        Found(name=name, label=HOSTILE, similarity=0.9 - 0.1 * i, is_right=i < 2, picture=picture(i))
        for i, name in enumerate(names)
    )
    bare = (Found(name="features", label=None, similarity=0.5, is_right=None, picture=b"<svg onload=alert(1)>"),)
    known = {"nearest": f"{HOSTILE} 0.900, {LONG} 0.100", "found": found}
    one = Searched(
        name=HOSTILE, decision=HOSTILE, is_known=True, is_right=True, truth=HOSTILE, picture=picture(9), **known
    )
    two = Searched(
        name=LONG, decision="unknown", is_known=False, is_right=False, truth=LONG, picture=picture(8), **known
    )
    three = Searched(
        name="row 1", decision="no decision", is_known=None, is_right=None, truth=None, nearest="", found=bare
    )
    return [one, two, three] * (n // 3)


def test_too_many_queries_are_cut_and_the_page_says_so(tmp_path):
    out = write_answers(searched(MOST + 1), title="t", lead="", out=tmp_path / "p.html")
    n_sections = out.read_text(encoding="utf-8").count('<section class="query ')
    assert n_sections <= MOST
    with pytest.raises(FairgroundError, match="there was no query"):
        write_answers([], title="t", lead="", out=tmp_path / "p.html")


@pytest.fixture(scope="module")
def path(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("matches") / "page.html"
    return write_answers(searched(), title=f"Found in {HOSTILE}", lead="At most 5 %.", out=out)


@pytest.fixture
def opened(look, path):
    return look(path.as_uri())


def test_it_opens_offline_and_shows_every_picture_with_its_similarity(opened, path):
    assert opened.complaints == []
    assert [url for url in opened.requests if not url.startswith("data:")] == [path.as_uri()]
    images = opened.locator("img")
    # Two queries with five neighbours each; what is no PNG or JPEG is not shown.
    assert images.count() == 12
    assert images.evaluate_all("(all) => all.every((image) => image.complete && image.naturalWidth === 24)")
    assert opened.locator("li .similarity").first.inner_text() == "0.900 ✓ same class"
    assert opened.locator("li .similarity").nth(2).inner_text() == "0.700 ✗ other class"
    assert opened.locator(".decision").nth(1).inner_text() == "unknown"
    assert opened.locator(".truth").first.inner_text().startswith("✓ right: it is ")
    frames = opened.locator(".asked img").evaluate_all("(all) => all.map((one) => getComputedStyle(one).borderStyle)")
    assert frames == ["solid", "dashed"]
    assert opened.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_hostile_names_are_text(opened):
    assert HOSTILE in opened.locator("h2").first.inner_text()
    assert opened.locator("script").count() == 0
    assert "\u202e" not in opened.content()
