"""When a watch draws a page: only one that is read, only when the store has changed, and the more rarely the longer."""

import pytest

from fairground.dashboard import page_cache
from fairground.dashboard.home import choose
from fairground.dashboard.page_cache import PAUSE, READ_FOR, REST, PageCache
from fairground.records.store import Store
from tests.records.factory import make_record
from tests.reporting.fixtures import make_study


class Clock:
    """A clock that goes on when something is drawn, or by hand."""

    now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(page_cache, "time", clock)
    return clock


@pytest.fixture
def drawn(monkeypatch, clock):
    """Every drawing takes ten seconds of the clock and leaves a line."""
    pages = []

    def draw(runs):
        clock.now += 10
        pages.append(len(runs.records))
        return (
            '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'">\n<style></style><body></body>'
        )

    monkeypatch.setattr(page_cache, "page_text", draw)
    return pages


@pytest.fixture
def cache(tmp_path):
    Store(tmp_path).append_all(make_study(n_seeds=1))
    return PageCache(tmp_path, choose([], tmp_path))


def look_once(cache, monkeypatch):
    """Let the thread's loop go round once, in this thread."""
    monkeypatch.setattr(cache._wake, "wait", lambda _: cache._is_over.set())
    cache._is_over.clear()
    cache.run()


def test_nothing_is_drawn_that_nobody_reads(cache, drawn, clock, monkeypatch):
    look_once(cache, monkeypatch)
    assert drawn == []
    cache._pages["runs"].asked = clock.now
    look_once(cache, monkeypatch)
    assert len(drawn) == 1
    cache._pages["runs"].asked = clock.now - READ_FOR - 1
    Store(cache._home.root).append(make_record(seed=77))
    clock.now += 1000
    look_once(cache, monkeypatch)
    assert len(drawn) == 1


def test_a_page_is_drawn_anew_when_the_store_has_changed_and_after_its_rest(cache, drawn, clock, monkeypatch):
    page = cache._pages["runs"]

    def look():
        page.asked = clock.now
        look_once(cache, monkeypatch)
        return len(drawn)

    assert look() == 1
    clock.now += 1000
    assert look() == 1  # nothing is new
    Store(cache._home.root).append(make_record(seed=77))
    assert look() == 2
    assert page.due == clock.now + REST * 10 > clock.now + PAUSE  # it rests three times as long as it took
    Store(cache._home.root).append(make_record(seed=78))
    clock.now += REST * 10 - 1
    assert look() == 2
    clock.now += 2
    assert look() == 3
