"""The page of a race as its reader sees it, in a real browser, at the width of a desk and of a phone."""

import json
from pathlib import Path

import pytest

from tests.cli.quick_race import SHORT, call, hurry, write_features

pytestmark = pytest.mark.browser
HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    folder = tmp_path_factory.mktemp("race")
    with pytest.MonkeyPatch.context() as patch:
        hurry(patch)
        features = write_features(folder / f"{HOSTILE}.npz")
        result = call(features, "--home", folder / "home", "--time", "10m", "--json", *SHORT)
    assert result.exception is None, result.exception
    return json.loads(result.stdout)


@pytest.fixture
def opened(look, told):
    return look(Path(told["page"]).absolute().as_uri())


def test_advice_ranking_and_audit_are_there_offline(opened, told):
    assert opened.complaints == []
    assert [url for url in opened.requests if not url.startswith(("data:", "blob:"))] == [opened.url]
    text = " ".join(opened.locator("body").inner_text().split())
    for sentence in told["advice"]:
        assert sentence in text
    for row in (*told["standings"], *told["baselines"]):
        assert row["method"] in text
    assert "96 images of 12 classes" in text
    assert opened.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_a_hostile_name_is_text(opened):
    assert opened.locator("img[src=x]").count() == 0
    assert HOSTILE in opened.locator("h1").first.inner_text()
