"""The page as a reader sees it, in a real browser, at the width of a desk and of a phone."""

import shutil
from pathlib import Path

import pytest

from fairground.report.page import build_page
from tests.report.fixtures import HOSTILE, make_study, write_gallery

pytestmark = pytest.mark.browser
CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
if CHROMIUM is None:
    pytest.skip("no Chromium on this machine: install the package `chromium` to run it", allow_module_level=True)

from playwright.sync_api import sync_playwright  # noqa: E402 - needless without a browser


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def path(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    study = make_study()
    names = {study[0].method: HOSTILE[0] + HOSTILE[1]}
    galleries = {
        study[0].name: write_gallery(folder / "a.npz", labels=(HOSTILE[0], "bell")),
        study[3].name: write_gallery(folder / "b.npz"),
    }
    return build_page(study, title="A study " + HOSTILE[5], out=folder / "page.html", galleries=galleries, names=names)


@pytest.fixture(params=[(1280, "light"), (390, "dark")], ids=["desk", "phone"])
def opened(request, browser, path):
    width, scheme = request.param
    context = browser.new_context(viewport={"width": width, "height": 844}, color_scheme=scheme)
    page = context.new_page()
    page.complaints, page.requests = [], []
    page.on("console", lambda message: page.complaints.append(message.text))
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.on("dialog", lambda dialog: page.complaints.append(dialog.message))
    page.on("request", lambda request: page.requests.append(request.url))
    page.goto(path.as_uri())
    yield page
    context.close()


def test_it_opens_without_complaint_and_asks_no_host(opened, path):
    assert opened.complaints == []
    assert [url for url in opened.requests if not url.startswith("data:")] == [path.as_uri()]
    assert opened.locator("h1").inner_text().startswith("A study 🎡")


def test_nothing_sticks_out_of_the_window(opened):
    assert opened.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def column(page, index: int) -> list[str]:
    script = "(rows, i) => rows.map((row) => row.cells[i].dataset.value)"
    return page.locator("table.results tbody tr").evaluate_all(script, index)


def test_a_press_on_a_heading_sorts_and_a_second_turns_it_round(opened):
    numbers = [float(value) for value in column(opened, 2)]
    assert numbers == sorted(numbers, reverse=True)
    heading = opened.locator("table.results thead th").nth(2)
    assert heading.get_attribute("aria-sort") == "descending"
    heading.locator("button").click()
    assert [float(value) for value in column(opened, 2)] == sorted(numbers)
    assert heading.get_attribute("aria-sort") == "ascending"
    # By keyboard, and by words.
    name = opened.locator("table.results thead th").nth(0)
    name.locator("button").focus()
    opened.keyboard.press("Enter")
    assert name.get_attribute("aria-sort") == "ascending"
    assert heading.get_attribute("aria-sort") is None
    names = column(opened, 0)
    assert names[-1] == "triplet + distance_weighted"
    assert opened.complaints == []


def test_every_picture_of_the_gallery_loads_also_those_folded_away(opened):
    for folded in opened.locator("details.exhibit:not([open]) > summary").all():
        folded.click()
    images = opened.locator("#gallery img")
    assert images.count() == 30
    assert images.evaluate_all("(all) => all.every((image) => image.complete && image.naturalWidth === 16)")
    assert images.first.is_visible()
    assert opened.locator(".tile.right .verdict").first.inner_text() == "✓"
    assert opened.locator(".tile.wrong .verdict").first.inner_text() == "✗"


def test_the_figure_for_this_width_is_shown_and_takes_the_readers_colours(opened):
    is_narrow = opened.viewport_size["width"] < 600
    assert opened.locator("figure .narrow svg").first.is_visible() == is_narrow
    assert opened.locator("figure .wide svg").first.is_visible() != is_narrow
    ground = opened.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == ("rgb(16, 19, 22)" if is_narrow else "rgb(245, 246, 248)")
    shown = opened.locator("figure svg:visible text").first
    ink = shown.evaluate("(text) => getComputedStyle(text).fill")
    assert ink != "rgb(0, 0, 0)"


def test_hostile_names_are_read_as_they_are_written(opened):
    assert "<script>alert(1)</script>" in opened.locator("table.results").inner_text().replace("\n", "")
    assert opened.locator("script").count() == 1
