"""The page of a search as a reader sees it, in a real browser, at the width of a desk and of a phone."""

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from fairground.errors import FairgroundError
from fairground.report.query_page import MOST, Found, Searched, write_matches

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
        Found(name=name, label=HOSTILE, similarity=0.9 - 0.1 * i, is_match=i < 2, picture=picture(i))
        for i, name in enumerate(names)
    )
    bare = (Found(name="features", label=None, similarity=0.5, is_match=None, picture=b"<svg onload=alert(1)>"),)
    one = Searched(name=HOSTILE, verdict=f"match: {HOSTILE}", is_match=True, found=found, picture=picture(9))
    two = Searched(name=LONG, verdict="no match (best 0.100)", is_match=False, found=found, picture=picture(8))
    three = Searched(name="row 1", verdict="most similar: row 2", is_match=None, found=bare)
    return [one, two, three] * (n // 3)


def test_too_many_queries_are_cut_and_the_page_says_so(tmp_path):
    out = write_matches(searched(MOST + 1), title="t", threshold="", out=tmp_path / "p.html")
    n_sections = out.read_text(encoding="utf-8").count('<section class="query">')
    assert n_sections <= MOST
    with pytest.raises(FairgroundError, match="no query was asked"):
        write_matches([], title="t", threshold="", out=tmp_path / "p.html")


@pytest.fixture(scope="module")
def path(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("matches") / "page.html"
    return write_matches(searched(), title=f"Found in {HOSTILE}", threshold="Matches: from 0.85 on.", out=out)


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
    assert opened.locator("li .similarity").first.inner_text() == "0.900 match"
    assert opened.locator(".verdict").nth(1).inner_text() == "no match (best 0.100)"
    assert opened.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_hostile_names_are_text(opened):
    assert HOSTILE in opened.locator("h2").first.inner_text()
    assert opened.locator("script").count() == 0
    assert "\u202e" not in opened.content()
