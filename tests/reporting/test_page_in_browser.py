"""The page as a reader sees it, in a real browser, at the width of a desk and of a phone."""

from pathlib import Path

import pytest

from fairground.reporting import RunSet, build_page
from tests.reporting.fixtures import HOSTILE, make_study, write_files

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def path(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    study = make_study()
    names = {study[0].method: HOSTILE[0] + HOSTILE[1]}
    folders = {
        study[0].name: write_files(folder, study[0].name, class_name=HOSTILE[0]),
        study[3].name: write_files(folder, study[3].name),
    }
    runs = RunSet(records=tuple(study), folders=folders, names=names, title="A study " + HOSTILE[5])
    return build_page(runs, out=folder / "page.html")


@pytest.fixture
def opened(look, path):
    return look(path.as_uri())


def test_it_opens_without_complaint_asks_no_host_fits_and_hostile_names_stay_text(opened, path):
    assert opened.complaints == []
    assert [url for url in opened.requests if not url.startswith("data:")] == [path.as_uri()]
    assert opened.locator("h1").inner_text().startswith("A study 🎡")
    assert opened.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert "<script>alert(1)</script>" in opened.locator("table.results").inner_text().replace("\n", "")
    assert opened.locator("script").count() == 1


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


def visible_methods(page) -> list[str]:
    return [row.inner_text() for row in page.locator("table.results tbody tr:visible > th").all()]


def test_typing_filters_methods_and_clearing_brings_them_back(opened):
    box = opened.get_by_label("Show methods with")
    box.press_sequentially("DISTANCE triplet")
    assert len(visible_methods(opened)) == 1
    assert opened.locator(".filter output").inner_text() == "1 of 4 methods"
    # What is hidden stays hidden when the table is sorted.
    opened.locator("table.results thead th button").first.click()
    assert len(visible_methods(opened)) == 1
    box.fill("<script>")
    assert len(visible_methods(opened)) == 1
    box.fill("nothing like it")
    assert visible_methods(opened) == []
    box.fill("")
    assert len(visible_methods(opened)) == 4
    assert opened.complaints == []


def test_pointing_at_a_map_tells_the_class_and_shows_the_picture(opened):
    tip = opened.locator("#tip")
    assert not tip.is_visible()
    hostile = opened.locator("svg.points", has=opened.locator("circle")).last
    point = hostile.locator('circle[data-r="1000"]')
    point.scroll_into_view_if_needed()
    point.hover(force=True)
    assert tip.is_visible()
    assert tip.locator("span").inner_text() == "<script>alert(1)</script> (20 here)"
    assert tip.locator("img").is_visible()
    assert tip.locator("img").evaluate("(image) => image.naturalWidth") == 16
    assert hostile.locator("circle.mate").count() == 20
    box = tip.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= opened.viewport_size["width"]
    hostile.locator('circle[data-c="5"]').first.hover(force=True)
    assert tip.locator("span").inner_text() == "class 5 (20 here)"
    assert not tip.locator("img").is_visible()
    assert opened.complaints == []


def test_a_map_is_walked_with_the_arrow_keys(opened):
    first = opened.locator("svg.points").first
    first.focus()
    opened.keyboard.press("ArrowRight")
    opened.keyboard.press("ArrowRight")
    assert first.locator("circle").nth(1).get_attribute("class") == "mate here"
    opened.keyboard.press("ArrowLeft")
    assert first.locator("circle").nth(0).get_attribute("class") == "mate here"
    assert opened.locator("#tip").is_visible()
    opened.keyboard.press("Escape")
    assert not opened.locator("#tip").is_visible()


def test_words_stand_out_from_what_they_stand_on(opened):
    script = """() => {
      const light = (colour) => {
        const [r, g, b] = colour.match(/[\\d.]+/g).map(Number).map((v) => v / 255)
          .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      const ground = (element) => {
        for (let at = element; at; at = at.parentElement) {
          const colour = getComputedStyle(at).backgroundColor;
          if (!colour.endsWith(", 0)")) return colour;
        }
      };
      const poor = [];
      for (const element of document.querySelectorAll("p, li, td, th, dt, dd, h1, h2, h3, summary, a, figcaption")) {
        if (!element.offsetParent || !element.textContent.trim()) continue;
        const [a, b] = [light(getComputedStyle(element).color), light(ground(element))];
        const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (contrast < 4.5) poor.push(`${element.tagName} ${element.textContent.trim().slice(0, 40)} ${contrast}`);
      }
      return poor;
    }"""
    assert opened.evaluate(script) == []


def test_every_picture_of_the_gallery_loads_also_those_folded_away(opened):
    for folded in opened.locator("details.run-gallery:not([open]) > summary").all():
        folded.click()
    images = opened.locator("#gallery img")
    assert images.count() == 30
    assert images.evaluate_all("(all) => all.every((image) => image.complete && image.naturalWidth === 16)")
    assert images.first.is_visible()
    assert opened.locator(".tile.right .verdict").first.inner_text() == "✓"
    assert opened.locator(".tile.wrong .verdict").first.inner_text() == "✗"


def test_the_figure_for_this_width_is_shown_and_takes_the_readers_colours(opened):
    is_narrow = opened.viewport_size["width"] < 600
    assert opened.locator("figure .drawing svg").first.is_visible()
    ground = opened.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == ("rgb(16, 19, 22)" if is_narrow else "rgb(245, 246, 248)")
    shown = opened.locator("figure svg:visible text").first
    ink = shown.evaluate("(text) => getComputedStyle(text).fill")
    assert ink != "rgb(0, 0, 0)"
