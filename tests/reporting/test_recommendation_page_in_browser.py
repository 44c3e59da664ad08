"""The page of a recommendation as its reader sees it, in a real browser, at the width of a desk and of a phone."""

import json
from pathlib import Path

import pytest

from tests.commands.quick_search import call, use_ticking, write_features

pytestmark = pytest.mark.browser
HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("race")
    features = write_features(folder / f"{HOSTILE}.npz")
    with pytest.MonkeyPatch.context() as patch:
        use_ticking(patch)
        result = call(features, "--home", folder / "home", "--time", "8s", "--json")
    assert result.exception is None, result.exception
    return json.loads(result.stdout)


@pytest.fixture
def opened(look, found):
    return look(Path(found["page"]).absolute().as_uri())


def test_advice_table_and_verdicts_are_there_offline(opened, found):
    assert opened.complaints == []
    assert [url for url in opened.requests if not url.startswith(("data:", "blob:"))] == [opened.url]
    opened.locator("summary").click()
    text = " ".join(opened.locator("body").inner_text().split())
    for sentence in (*found["advice"], *found["verdicts"]):
        assert " ".join(sentence.split()) in text
    for row in found["rows"]:
        assert row[0] in text
    assert "96 items of 12 classes" in text
    assert opened.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_a_hostile_name_is_text(opened):
    assert opened.locator("img[src=x]").count() == 0
    assert HOSTILE in opened.locator("h1").first.inner_text()
