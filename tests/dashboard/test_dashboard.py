"""A watch as a program sees it: what it serves, what it refuses, and that it disturbs nothing."""

import json
import re
import time
from http.client import HTTPConnection
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, Request, build_opener, urlopen

import pytest

from fairground.dashboard import page_cache as keeping
from fairground.dashboard.access import Access, access_for, is_loopback
from fairground.dashboard.home import Home, choose
from fairground.dashboard.pages import alive
from fairground.dashboard.run_view import from_record
from fairground.dashboard.server import WatchServer
from fairground.errors import InputError, StoreError
from fairground.records.store import Store
from fairground.reporting.page import page_text
from fairground.reporting.run_set import RunSet
from fairground.spec.study_jobs import jobs_of
from fairground.spec.study_load import load_study
from fairground.studies.folder import folder_of
from fairground.studies.select import Seal, Selected
from tests.dashboard.watched import begin_run, watching
from tests.patience import PATIENCE
from tests.records.factory import make_record
from tests.reporting.fixtures import HOSTILE, make_study


@pytest.fixture
def home(tmp_path) -> Path:
    Store(tmp_path).append_all(make_study())
    return tmp_path


def drawn(runs: RunSet) -> str:
    """A page as it is made, without the drawings, which take seconds."""
    policy = "default-src 'none'; script-src 'sha256-x'"
    head = f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n<style></style>'
    return f"{head}<body><main>{runs.title or f'{len(runs.records)} runs'}: {len(runs.records)} records</main></body>"


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(keeping, "page_text", drawn)


def get(server: WatchServer, path: str = "/", **headers: str):
    """Return status, headers and text of one request to the server, whatever name it goes by."""
    asked = Request(f"http://127.0.0.1:{server.server_port}{path}", headers=headers)
    try:
        with urlopen(asked, timeout=PATIENCE) as headline:
            return headline.status, headline.headers, headline.read().decode()
    except HTTPError as error:
        return error.code, error.headers, error.read().decode()


def test_every_page_goes_out_unkept_unframed_and_able_to_ask_this_server_alone(home):
    with watching(home) as server:
        for path in ("/", "/runs"):
            status, headers, text = get(server, path)
            assert status == 200
            assert headers["Cache-Control"] == "no-store"
            assert headers["X-Content-Type-Options"] == "nosniff"
            assert headers["Server"].strip() == "fairground"
            policy = headers["Content-Security-Policy"]
            assert policy.startswith("default-src 'none'")
            assert "connect-src 'self'" in policy
            assert "frame-ancestors 'none'" in policy
            assert len(re.findall("'sha256-", policy)) == 2
            assert "http-equiv" not in text
            assert not re.search(r'(src|href)="(https?:)?//', text)
        state = json.loads(get(server, "/state.json?page=runs")[2])
        assert state["kind"] == "report"
        assert f'"{state["version"]}"' == get(server, "/runs")[1]["ETag"]


def test_the_report_is_the_page_that_the_command_writes_with_one_script_more():
    page = page_text(RunSet(records=tuple(make_study(n_seeds=1)[:1]), title="A study"))
    served = alive(page, slug="runs", kind="report").body.decode()
    assert page.count("<script") == 1
    assert served.count("<script") == 2
    assert "fetch(" not in page
    assert re.search("<main.*</main>", served, re.DOTALL)[0] == re.search("<main.*</main>", page, re.DOTALL)[0]


@pytest.mark.parametrize(
    "path",
    [
        "/records.sqlite",
        "/runs/",
        "/../records.sqlite",
        "/%2e%2e/records.sqlite",
        "/study/",
        "/overview",
        "/x",
    ],
)
def test_there_is_nothing_but_the_pages(home, path):
    with watching(home) as server:
        status, headers, text = get(server, path)
        assert status == 404
        assert headers["Content-Type"].startswith("text/plain")
        assert "no such page" in text
        get(server)
        assert get(server, "/state.json?page=x")[0] == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "NONSENSE"])
def test_nothing_but_reading_is_answered(home, method):
    with watching(home) as server:
        connection = HTTPConnection("127.0.0.1", server.server_port, timeout=PATIENCE)
        connection.request(method, "/")
        headline = connection.getresponse()
        assert (headline.status, headline.headers["Allow"]) == (405, "GET, HEAD")
        connection.close()


def test_head_tells_the_same_without_the_page(home):
    with watching(home) as server:
        connection = HTTPConnection("127.0.0.1", server.server_port, timeout=PATIENCE)
        connection.request("HEAD", "/")
        headline = connection.getresponse()
        assert headline.status == 200
        assert int(headline.headers["Content-Length"]) > 1000
        assert headline.read() == b""
        connection.close()


@pytest.mark.parametrize("name", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "", "[::1", "a:b:c"])
def test_names_that_are_not_ours_are_refused(home, name):
    with watching(home) as server:
        status, _, text = get(server, "/", Host=name)
        assert status == 421
        assert f"Open http://127.0.0.1:{server.server_port}/" in text


@pytest.mark.parametrize(
    ("target", "hosts", "status"),
    [
        ("http://127.0.0.1/runs", ["127.0.0.1"], 200),
        ("http://evil.example/", ["127.0.0.1"], 421),
        ("http://127.0.0.1@evil.example/", ["127.0.0.1"], 421),
        ("http://127.0.0.1/", ["evil.example"], 421),
        ("http://127.0.0.1/", [], 421),
        ("/", ["127.0.0.1", "evil.example"], 400),
        ("/", ["127.0.0.1", "127.0.0.1"], 400),
    ],
)
def test_every_name_a_request_gives_must_be_ours(home, target, hosts, status):
    with watching(home) as server:
        connection = HTTPConnection("127.0.0.1", server.server_port, timeout=PATIENCE)
        connection.putrequest("GET", target, skip_host=True)
        for host in hosts:
            connection.putheader("Host", host)
        connection.endheaders()
        assert connection.getresponse().status == status
        connection.close()


@pytest.mark.parametrize("name", ["localhost", "LOCALHOST:1", "127.0.0.1:99", "[::1]:8420", "127.1.2.3"])
def test_names_of_this_machine_are_known(name):
    assert Access(host="127.0.0.1", port=1).knows(name)


class _Stay(HTTPRedirectHandler):
    def redirect_request(self, *_args):
        return None


def test_beyond_this_machine_the_token_is_asked_for_and_then_kept_in_a_cookie(home):
    with watching(home, host="0.0.0.0") as server:
        access = server.access
        assert len(access.token) >= 32
        assert access.token not in repr(access)
        for path in (
            "/",
            "/runs",
            "/state.json?page=runs",
            "/x",
            "/?token=",
            f"/?token={access.token}x",
            "/?token=%ff",
        ):
            status, headers, text = get(server, path)
            assert status == 403, path
            assert "open the address that fairground watch printed" in text
            assert headers["Set-Cookie"] is None
        for cookie in (f"{access.cookie}=wrong", "\x01=;;", f"other={access.token}"):
            assert get(server, "/", Cookie=cookie)[0] == 403
        with pytest.raises(HTTPError) as moved:
            build_opener(_Stay).open(f"http://127.0.0.1:{server.server_port}//evil.example/?token={access.token}")
        assert (moved.value.code, moved.value.headers["Location"]) == (303, "/evil.example/")
        kept = moved.value.headers["Set-Cookie"]
        assert "HttpOnly" in kept
        assert "SameSite=Strict" in kept
        assert get(server, "/", Cookie=kept.partition(";")[0])[0] == 200
        # A name of somebody else's is refused, token or not.
        assert get(server, f"/?token={access.token}", Host="evil.example")[0] == 421


def test_only_this_machine_goes_without_a_token():
    assert access_for("127.0.0.1", 1).token is None
    assert access_for("localhost", 1).token is None
    assert access_for("::1", 1).url == "http://[::1]:1/"
    assert not is_loopback("0.0.0.0")
    assert access_for("0.0.0.0", 1).token != access_for("0.0.0.0", 1).token
    for name in ("nowhere.invalid", "a..b"):
        with pytest.raises(InputError, match=f"'{re.escape(name)}' is none"):
            is_loopback(name)


def test_a_port_in_use_is_a_sentence(home):
    with watching(home) as server, pytest.raises(InputError, match=f"port {server.server_port} is in use"):
        WatchServer("127.0.0.1", server.server_port, server.keeper)


def wait_for(condition, seconds: float = PATIENCE):
    deadline = time.monotonic() + seconds
    while not (found := condition()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


def test_a_new_record_and_a_new_epoch_change_the_pages_versions(home):
    name = begin_run(home)
    with watching(home) as server:
        assert f"{name}</span>" in get(server)[2]
        assert "3 of 8" in get(server)[2]
        before = get(server, "/runs")[1]["ETag"]
        begin_run(home, n_epochs=4)
        assert wait_for(lambda: "4 of 8" in get(server)[2])
        # The report is about finished runs alone, so an epoch does not redraw it.
        assert get(server, "/runs")[1]["ETag"] == before
        Store(home).append(make_record(loss="margin", seed=77))
        assert wait_for(lambda: get(server, "/runs")[1]["ETag"] != before)


def test_a_stopped_run_says_how_to_go_on_and_a_hostile_one_stays_text(home):
    name = begin_run(home, loss=HOSTILE[0], is_alive=False)
    with watching(home) as server:
        text = get(server)[2]
    assert f"fairground resume {name}" in text
    assert HOSTILE[0] not in text
    assert "&lt;script&gt;" in text


def test_watching_changes_nothing_in_the_home(home):
    begin_run(home)
    # SQLite makes these two beside a store that is read; the log stays empty, the other says who reads.
    log, readers = home / "records.sqlite-wal", home / "records.sqlite-shm"

    def files():
        found = {path: path.read_bytes() if path.is_file() else b"" for path in home.rglob("*") if path != readers}
        return {log: b"", **found}

    before = files()
    with watching(home) as server:
        get(server)
        get(server, "/runs")
    assert files() == before


def test_a_page_that_cannot_be_built_says_why_and_the_last_good_one_stays(home, monkeypatch):
    def fail(*_args, **_kwargs):
        raise StoreError("the store is damaged <b>")

    with watching(home) as server:
        monkeypatch.setattr(keeping, "page_text", fail)
        text = get(server, "/runs")[2]
        assert "This page could not be made" in text
        assert "the store is damaged &lt;b&gt;" in text
        monkeypatch.setattr(keeping, "page_text", drawn)
        assert wait_for(lambda: json.loads(get(server, "/state.json?page=runs")[2])["kind"] == "report")
        monkeypatch.setattr(keeping, "page_text", fail)
        Store(home).append(make_record(seed=50))
        assert wait_for(lambda: "damaged" in json.loads(get(server, "/state.json?page=runs")[2])["trouble"])
        assert "12 runs: 12 records" in get(server, "/runs")[2]


def test_a_damaged_store_is_told_on_the_overview(tmp_path):
    (tmp_path / "records.sqlite").write_bytes(b"not a database, whatever it says" * 100)
    with watching(tmp_path) as server:
        assert "the file is not a database" in get(server)[2]


def test_an_empty_home_says_how_to_fill_it_and_is_not_made(tmp_path):
    with watching(tmp_path / "later") as server:
        assert "Nothing has run here yet." in get(server)[2]
        assert "there is no run to report" in get(server, "/runs")[2]
    assert not (tmp_path / "later").exists()


@pytest.fixture
def study(home):
    found = load_study("tiny")
    with folder_of(found, home).locked(found):
        pass
    return found


def test_a_study_is_shown_with_how_far_it_is(home, study):
    seen = Home(root=home)
    seen.refresh()
    (view,) = seen.studies
    assert (view.is_sealed, view.n_ended, view.n_final_done) == (True, 0, 0)
    assert (view.n_trials, view.n_final) == (8, 8)
    assert view.share == 0
    store = Store(home)
    chosen = Selected(settings={"loss.margin": 0.1}, trial=0, score=0.5, n_trials=4)
    seal = Seal(store, study)
    job = next(job for job in jobs_of(study) if "riplet" in job.label)
    seal.end_selection({job.label: chosen})
    seen.refresh()
    assert not seen.studies[0].is_sealed
    assert seen.complaints == []


def test_a_study_without_final_runs_waits_and_one_that_cannot_be_read_hides_no_other(home, study):
    folder = folder_of(study, home)
    with watching(home, "tiny") as server:
        text = get(server, f"/study/{folder.hash}")[2]
        assert "Nothing to report yet" in text
        assert "until then the test split is sealed" in text
        Seal(Store(home), study).end_selection({})
        assert wait_for(lambda: "has no final run yet" in get(server, f"/study/{folder.hash}")[2])
        assert get(server, "/runs")[0] == 404
    broken = home / "studies" / "broken"
    broken.mkdir()
    (broken / "study.json").write_text("{")
    with watching(home) as server:
        text = get(server)[2]
        assert "cannot be read" in text
        assert "Finished runs" in text


def test_what_to_watch_is_named_or_refused(home, study):
    # The second: the factory calls a method by its first run.
    run = Store(home).names()[1]
    assert choose([run[:8]], home).runs == (run,)
    assert choose(["tiny"], home).studies == (folder_of(study, home).hash,)
    method = make_study()[0].method
    assert len(choose([method], home).runs) == 3
    name = begin_run(home)
    assert choose([name], home).runs == (name,)
    with pytest.raises(InputError, match=r"no study or run 'tinny' in .* Did you mean 'tiny'\?"):
        choose(["tinny"], home)
    with watching(home, run) as server:
        text = get(server)[2]
        assert run in text
        assert Store(home).names()[2] not in text
        assert get(server, "/chosen")[0] == 200


def test_a_curve_grows_to_the_right_as_far_as_the_run_is_planned():
    view = from_record(make_record(epochs=4))
    # Eight epochs are planned: after four the line has come half way.
    assert view.head[0] == pytest.approx(120, abs=0.1)
    assert view.head[1] == pytest.approx(4, abs=6)
    assert view.points.startswith("4.0,56.0 ")
    assert from_record(make_record(epochs=0)).points == "4.0,30.0"
