"""A watch as a reader sees it: the pages update by themselves, and the reader's place and filters stay."""

import pytest

from fairground.records.store import Store
from tests.patience import PATIENCE
from tests.records.factory import make_record
from tests.reporting.fixtures import HOSTILE, begin_run, make_study, watching

pytestmark = pytest.mark.browser


def test_the_overview_grows_by_itself_and_leaves_the_reader_where_they_are(look, tmp_path):
    Store(tmp_path).append_all(make_study(n_seeds=2))
    begin_run(tmp_path, loss=HOSTILE[0] + HOSTILE[1], seed=5)
    with watching(tmp_path) as server:
        page = look(server.url)
        assert page.locator(".run-card").count() == 1
        assert "<script>alert(1)</script>" in page.locator("#in-progress").inner_text().replace("\n", "")
        page.get_by_text("Live · page of").wait_for()
        box = page.get_by_label("Show runs with")
        box.press_sequentially("tripl")
        begin_run(tmp_path, loss="margin", seed=7)
        Store(tmp_path).append_all([make_record(loss="triplet", seed=90), make_record(loss="margin", seed=91)])
        page.locator("#finished-table tbody tr").nth(9).wait_for(state="attached")
        assert page.locator(".run-card").count() == 2
        box.press_sequentially("et")
        assert box.input_value() == "triplet"
        assert page.locator(".filter output").inner_text() == "5 of 10 runs"
        assert page.complaints == []
        assert [url for url in page.requests if not url.startswith((server.url, "data:"))] == []
    page.get_by_text("is fairground watch still running?").wait_for()


def test_a_report_is_redrawn_when_a_run_ends(browser, tmp_path):
    Store(tmp_path).append_all(make_study(n_seeds=1)[:2])
    with watching(tmp_path) as server:
        page = browser.new_page(viewport={"width": 1280, "height": 700})
        page.set_default_timeout(1000 * PATIENCE)
        page.goto(server.url + "runs")
        assert page.locator("table.results tbody tr").count() == 2
        page.get_by_label("Show methods with").fill("triplet")
        page.locator("#provenance summary").click()
        Store(tmp_path).append(make_record(loss="multi_similarity", miner=None, level=0.6))
        page.locator("table.results tbody tr").nth(2).wait_for(state="attached")
        assert page.locator("table.results tbody tr:visible").count() == 1
        assert page.locator("#provenance details").get_attribute("open") is not None
        page.get_by_text("all studies and runs").click()
        page.locator("#finished-table").wait_for()
        page.close()
