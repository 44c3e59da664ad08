"""A watch as a program sees it: what it serves, what it refuses, and that it changes nothing."""

from http.client import HTTPConnection
from pathlib import Path

import pytest

from fairground.errors import StoreError
from fairground.files import held
from fairground.records import RunFolder, Store, locked
from fairground.reporting import RunSet, Watch, WatchServer, live_pages, page_text, study_card
from fairground.spec.load_study_spec import load_study
from fairground.studies import Seal, folder_of
from tests.patience import PATIENCE, wait_for
from tests.records.factory import make_record
from tests.reporting.fixtures import HOSTILE, begin_run, make_study, watching


@pytest.fixture
def home(tmp_path) -> Path:
    Store(tmp_path).append_all(make_study())
    return tmp_path


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    """Pages without the drawings, which take seconds."""
    monkeypatch.setattr(live_pages, "page_text", lambda runs, live: f"<main>{len(runs.records)} records</main>")


def get(server: WatchServer, path: str = "/", *, method: str = "GET", host: str = "127.0.0.1"):
    connection = HTTPConnection("127.0.0.1", server.server_port, timeout=PATIENCE)
    connection.request(method, path, headers={"Host": host})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, answer.headers, text


def test_pages_are_not_cached_and_change_their_tag_with_their_contents(home):
    with watching(home) as server:
        status, headers, text = get(server)
        assert (status, headers["Cache-Control"]) == (200, "no-store")
        assert "connect-src 'self'" in text
        status, headers, text = get(server, "/runs")
        assert text == "<main>12 records</main>"
        tag = headers["ETag"]
        assert get(server, "/runs", method="HEAD")[1]["ETag"] == tag
        Store(home).append(make_record(loss="margin", seed=77))
        assert wait_for(lambda: get(server, "/runs")[1]["ETag"] != tag)


def test_a_live_report_is_the_page_of_the_command_with_one_script_more():
    runs = RunSet(records=tuple(make_study(n_seeds=1)[:1]), title="A study")
    plain, live = page_text(runs), page_text(runs, live=True)
    assert (plain.count("<script"), live.count("<script")) == (1, 2)
    assert "fetch(" not in plain
    assert "connect-src" not in plain
    assert plain[plain.index("<main") : plain.index("</main>")] == live[live.index("<main") : live.index("</main>")]


def test_nothing_but_the_pages_is_served_nothing_but_reading_answered_and_other_hosts_are_refused(home):
    with watching(home) as server:
        for path in ("/index.sqlite", "/runs/", "/../index.sqlite", "/study/", "/x"):
            assert get(server, path)[0] == 404
        assert get(server, method="HEAD")[2] == ""
        assert {get(server, method=method)[0] for method in ("POST", "PUT", "DELETE")} == {501}
        assert (server.is_local, server.url) == (True, f"http://127.0.0.1:{server.server_port}/")
        for name in ("evil.example", "127.0.0.1.evil.example", "", "[::1"):
            assert get(server, host=name)[0] == 421
        for name in ("localhost", "[::1]:9"):
            assert get(server, host=name)[0] == 200
    with WatchServer("0.0.0.0", 0, Watch(home)) as everywhere:
        assert not everywhere.is_local


def test_runs_in_progress_are_shown_and_a_hostile_name_stays_text(home):
    stopped = begin_run(home, loss=HOSTILE[0])
    running = begin_run(home, seed=5)
    with locked(RunFolder(home, running)), watching(home) as server:
        text = get(server)[2]
        assert f"fairground resume {stopped}" in text
        assert f"fairground resume {running}" not in text
        assert HOSTILE[0] not in text
        assert "&lt;script&gt;" in text
        assert "3 of 8" in text
        begin_run(home, seed=5, n_epochs=4)
        assert wait_for(lambda: "4 of 8" in get(server)[2])


def test_watching_changes_nothing_in_the_run_directory(home):
    begin_run(home)
    Store(home).names()

    def files():
        return {path: path.read_bytes() for path in home.rglob("*") if path.is_file() and path.name != "index.sqlite"}

    before = files()
    with watching(home) as server:
        get(server)
        get(server, "/runs")
    assert files() == before


def test_a_page_that_cannot_be_built_says_why(home, monkeypatch):
    def fail(*_args, **_kwargs):
        raise StoreError("the store is damaged <b>")

    monkeypatch.setattr(live_pages, "page_text", fail)
    with watching(home) as server:
        text = get(server, "/runs")[2]
    assert "This page could not be made" in text
    assert "the store is damaged &lt;b&gt;" in text


def test_an_empty_run_directory_says_how_to_fill_it_and_is_not_made(tmp_path):
    with watching(tmp_path / "later") as server:
        assert "Nothing has run here yet." in get(server)[2]
        assert "Nothing to report yet" in get(server, "/runs")[2]
    assert not (tmp_path / "later").exists()


def test_pages_of_recommendations_are_served_as_they_are(tmp_path):
    folder = tmp_path / "recommendations" / "0123abcd"
    folder.mkdir(parents=True)
    (folder / "plan.json").write_text('{"title": "Which method for birds?", "result": null}')
    (folder / "measurements.jsonl").write_text("{}\n{}\n")
    with watching(tmp_path) as server, held(folder / "driver.lock", "recommendation"):
        assert "2 measurements so far" in get(server)[2]
        assert "Which method for birds?" in get(server)[2]
        assert ">running</span>" in get(server)[2]
        assert get(server, "/recommendation/0123abcd")[0] == 404
    (folder / "report.html").write_text("<main>use it</main>")
    (folder / "plan.json").write_text('{"result": {"advice": ["Use the <b>network</b>"]}}')
    with watching(tmp_path) as server:
        assert "Use the &lt;b&gt;network&lt;/b&gt;" in get(server)[2]
        assert 'href="/recommendation/0123abcd"' in get(server)[2]
        assert "Nothing has run here yet" not in get(server)[2]
        assert get(server, "/recommendation/0123abcd")[2] == "<main>use it</main>"
        assert get(server, "/recommendation/other")[0] == get(server, "/recommendation/../recommendations")[0] == 404


def test_a_study_waits_for_its_selection_and_then_for_its_final_runs(home):
    study = load_study("tiny")
    folder = folder_of(study, home)
    with folder.locked(study):
        pass
    card = study_card(study, home)
    counts = [card[key] for key in ("is_sealed", "n_ended", "n_trials", "n_final", "share")]
    assert counts == [True, 0, 8, 8, 0]
    with watching(home) as server:
        assert "until then the test split is sealed" in get(server, f"/study/{folder.path.name}")[2]
        Seal(Store(home), study).end_selection({})
        assert wait_for(lambda: "has no final run yet" in get(server, f"/study/{folder.path.name}")[2])
        assert "tiny" in get(server)[2]
    broken = home / "studies" / "broken"
    broken.mkdir()
    (broken / "study.json").write_text("{")
    with watching(home) as server:
        assert "Finished runs" in get(server)[2]
