"""The page of a search as a reader sees it, in a real browser, at the width of a desk and of a phone."""

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from fairground.deploy.answer_queries import NearestClass, Neighbour, QueryDecision, QueryResult
from fairground.reporting import MOST, write_answers

pytestmark = pytest.mark.browser
HOSTILE = "<img src=x onerror=alert(1)>\"'&.png"
LONG = "a_very_long_name_without_a_break_" * 8


def picture(seed: int) -> bytes:
    pixels = np.random.default_rng(seed).integers(0, 256, (24, 24, 3), dtype=np.uint8)
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "PNG")
    return out.getvalue()


def answers(n: int = 3) -> list[QueryResult]:
    names = [(HOSTILE, HOSTILE), (LONG, HOSTILE), ("\u202edrowkcab", LONG), ("plain", "c"), ("🎡", "d")]
    found = tuple(
        Neighbour(id=i, name=name, label=label, similarity=0.9 - 0.1 * i) for i, (name, label) in enumerate(names)
    )
    classes = (NearestClass(label=HOSTILE, similarity=0.9), NearestClass(label=LONG, similarity=0.1))
    known = {"classes": classes, "neighbours": found, "is_truth_indexed": True}
    named = QueryDecision(is_known=True, label=HOSTILE, votes=2, voters=5)
    one = QueryResult(query=HOSTILE, decision=named, truth=HOSTILE, picture=picture(9), **known)
    unknown = QueryDecision(is_known=False, label=None, votes=0, voters=5)
    two = QueryResult(query=LONG, decision=unknown, truth=LONG, picture=picture(8), **known)
    undecided = QueryDecision(is_known=None, label=None, votes=0, voters=5)
    bare = (Neighbour(id=99, name="features", label=None, similarity=0.5),)
    rest = {"classes": (), "neighbours": bare, "truth": None, "is_truth_indexed": False, "picture": None}
    three = QueryResult(query="row 1", decision=undecided, **rest)
    return [one, two, three] * (n // 3)


def picture_of(row: int) -> bytes:
    return b"<svg onload=alert(1)>" if row == 99 else picture(row)


def test_too_many_queries_are_cut_and_the_page_says_so(tmp_path):
    out = write_answers(answers(MOST + 1), picture_of=picture_of, title="t", lead="", out=tmp_path / "p.html")
    n_sections = out.read_text(encoding="utf-8").count('<section class="query ')
    assert n_sections <= MOST


@pytest.fixture(scope="module")
def path(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("matches") / "page.html"
    title = f"Found in {HOSTILE}"
    return write_answers(answers(), picture_of=picture_of, title=title, lead="At most 5 %.", out=out)


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
