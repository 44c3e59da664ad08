"""The page of a frontier as its reader sees it, in a real browser, at the width of a desk and of a phone."""

import numpy as np
import pytest

from fairground.deploy import frontier_of
from fairground.reporting import write_frontier

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    draw, labels = np.random.default_rng(0), np.arange(96) % 8
    found = frontier_of(draw.normal(size=(8, 16))[labels] + draw.normal(size=(96, 16)), labels)
    return write_frontier(found, title="Frontier of a_model", out=tmp_path_factory.mktemp("frontier") / "page.html")


def test_all_of_it_is_in_view_without_scrolling_sideways(look, page) -> None:
    opened = look(page.as_uri())
    assert opened.complaints == []
    wide = "all => all.map(e => e.scrollWidth - e.clientWidth).filter(more => more > 1)"
    assert opened.eval_on_selector_all("html, .drawing, .scroll, td", wide) == []
    row = opened.locator("tbody tr").first
    is_narrow = opened.viewport_size["width"] < 600
    assert row.locator("td").first.evaluate("e => getComputedStyle(e, '::before').content") == (
        '"MAP@R, %"' if is_narrow else "none"
    )
    # Text that can be read, on a phone too.
    height = opened.locator(".drawing svg text").first.evaluate("e => e.getBoundingClientRect().height")
    assert height > 8
