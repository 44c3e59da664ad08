"""A watch as a reader sees it: the pages update by themselves, and the reader's place and filters stay."""

import pytest

from fairground.dashboard import page_cache as keeping
from fairground.records.store import Store
from tests.dashboard.watched import begin_run, watching
from tests.patience import PATIENCE
from tests.records.factory import make_record
from tests.reporting.fixtures import HOSTILE, make_study

pytestmark = pytest.mark.browser


@pytest.fixture
def home(tmp_path):
    Store(tmp_path).append_all(make_study(n_seeds=2))
    begin_run(tmp_path, loss=HOSTILE[0] + HOSTILE[1], seed=5)
    begin_run(tmp_path, loss="margin", seed=6, n_epochs=5)
    return tmp_path


@pytest.fixture
def server(home):
    with watching(home) as served:
        yield served


@pytest.fixture
def opened(look, server):
    page = look(server.access.url)
    yield page
    # Whatever the test did: no error, no dialog, no other host.
    assert page.complaints == []
    assert [url for url in page.requests if not url.startswith((server.access.url, "data:"))] == []


def test_the_overview_grows_by_itself_and_leaves_the_reader_where_they_are(opened, home):
    assert opened.locator(".run-card").count() == 2
    assert "<script>alert(1)</script>" in opened.locator("#in-progress").inner_text().replace("\n", "")
    assert opened.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    opened.get_by_text("2 runs under way · page of").wait_for()
    # Sorted by score, filtered by a word that is still being typed, scrolled down.
    opened.locator("#finished-table th button", has_text="score").click()
    opened.locator("#finished-table th button", has_text="score").click()
    box = opened.get_by_label("Show runs with")
    box.press_sequentially("tripl")
    heading = opened.locator("#finished-title")
    heading.evaluate(
        "(element) => window.scrollBy({top: element.getBoundingClientRect().top - 40, behavior: 'instant'})"
    )
    before = heading.bounding_box()["y"]
    begin_run(home, loss="margin", seed=7)
    begin_run(home, loss="multi_similarity", seed=8)
    begin_run(home, loss="contrastive", seed=9)
    Store(home).append_all([make_record(loss="triplet", seed=90, level=0.9), make_record(loss="margin", seed=91)])
    opened.locator("#finished-table tbody tr").nth(9).wait_for(state="attached")
    assert opened.locator(".run-card").count() == 5
    assert abs(heading.bounding_box()["y"] - before) < 2
    box.press_sequentially("et")
    assert box.input_value() == "triplet"
    assert opened.locator(".filter output").inner_text() == "5 of 10 runs"
    values = opened.locator("#finished-table tbody tr:visible").evaluate_all(
        "(rows) => rows.map((row) => Number(row.cells[4].dataset.value))"
    )
    assert len(values) == 5
    assert values == sorted(values)
    assert values[-1] > 0.8


def test_a_curve_grows_with_its_run_and_the_run_moves_when_it_ends(opened, home):
    card = opened.locator(".run-card", has_text="margin")
    points = card.locator("polyline").get_attribute("points")
    begin_run(home, loss="margin", seed=6, n_epochs=6)
    card.get_by_text("6 of 8").wait_for()
    assert card.locator("polyline").get_attribute("points").count(",") == points.count(",") + 1
    Store(home).append(make_record(loss="margin", seed=6))
    card.wait_for(state="detached")
    opened.locator("#finished-table tbody tr").nth(8).wait_for(state="attached")


def test_a_report_is_redrawn_when_the_store_grows(browser, tmp_path, monkeypatch):
    # A page that took seconds to draw would rest for as many more.
    monkeypatch.setattr(keeping, "REST", 0.0)
    Store(tmp_path).append_all(make_study(n_seeds=1)[:2])
    with watching(tmp_path) as server:
        _read_while_it_grows(browser, server, tmp_path)


def _read_while_it_grows(browser, server, home):
    page = browser.new_page(viewport={"width": 1280, "height": 700})
    page.set_default_timeout(1000 * PATIENCE)
    complaints, foreign = [], []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: foreign.append(request.url))
    page.goto(server.access.url + "runs")
    # Drawing takes a while; the page that says so gives way to the report by itself.
    page.locator("table.results").wait_for()
    assert page.locator("table.results tbody tr").count() == 2
    page.get_by_label("Show methods with").fill("triplet")
    page.locator("#provenance summary").click()
    Store(home).append(make_record(loss="multi_similarity", miner=None, level=0.6))
    page.locator("table.results tbody tr").nth(2).wait_for(state="attached")
    assert page.locator("table.results tbody tr:visible").count() == 1
    assert page.locator("#provenance details").get_attribute("open") is not None
    assert page.locator("#provenance table tbody tr").count() == 3
    # The new part answers as the old one did.
    page.get_by_label("Show methods with").fill("")
    page.locator("table.results thead th button").first.click()
    assert page.locator("table.results thead th").first.get_attribute("aria-sort") == "ascending"
    page.get_by_text("all studies and runs").click()
    page.locator("#finished-table").wait_for()
    assert complaints == []
    assert [url for url in foreign if not url.startswith((server.access.url, "data:"))] == []
    page.close()


def test_a_page_that_fails_says_why_and_a_server_that_ends_is_missed(browser, home, monkeypatch):
    def fail(*_args, **_kwargs):
        raise ValueError("no <i>drawing</i> today")

    monkeypatch.setattr(keeping, "page_text", fail)
    page = browser.new_page()
    page.set_default_timeout(1000 * PATIENCE)
    with watching(home) as server:
        page.goto(server.access.url + "runs")
        page.get_by_text("ValueError: no <i>drawing</i> today", exact=True).wait_for()
    page.get_by_text("is fairground watch still running?").wait_for()
    page.close()


def test_the_token_opens_the_pages_beyond_this_machine_and_leaves_the_address(browser, home):
    with watching(home, host="0.0.0.0") as server:
        here = f"http://127.0.0.1:{server.server_port}/"
        context = browser.new_context()
        page = context.new_page()
        page.set_default_timeout(1000 * PATIENCE)
        assert page.goto(here).status == 403
        page.goto(f"{here}?token={server.access.token}")
        assert page.url == here
        page.get_by_text("2 runs under way · page of").wait_for()
        assert page.evaluate("document.cookie") == ""
        context.close()
