"""One browser for all tests that look at pages, and a reader who notes every complaint and every request."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from tests.browser import launched
from tests.patience import PATIENCE

#: the width of a desk and of a phone, each with its colours
WINDOWS = [(1280, "light"), (390, "dark")]

Look = Callable[[str], Any]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with launched() as started:
        yield started


@pytest.fixture(params=WINDOWS, ids=["desk", "phone"])
def look(request: pytest.FixtureRequest, browser: Any) -> Iterator[Look]:
    """Give a function that opens an address; its page has `complaints` and `requests`."""
    width, scheme = request.param
    with ExitStack() as stack:
        yield lambda address: stack.enter_context(_opened(browser, address, width, scheme))


@contextmanager
def _opened(browser: Any, address: str, width: int, scheme: str) -> Iterator[Any]:
    context = browser.new_context(viewport={"width": width, "height": 844}, color_scheme=scheme)
    page = context.new_page()
    page.set_default_timeout(1000 * PATIENCE)
    page.complaints, page.requests = [], []
    page.on("console", lambda message: page.complaints.append(message.text))
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.on("dialog", lambda dialog: page.complaints.append(dialog.message))
    page.on("request", lambda request: page.requests.append(request.url))
    page.goto(address)
    yield page
    context.close()
