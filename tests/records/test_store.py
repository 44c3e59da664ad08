import re
import sqlite3
import threading
from dataclasses import replace

import pytest

from fairground.errors import InputError, StoreError
from fairground.records.database import STORE_VERSION, open_database
from fairground.records.layout import digest_of
from fairground.records.record import RunRecord, Score, Selection
from fairground.records.store import FILE_NAME, Store
from tests.records.factory import make_record


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path, patience=0.2)


def test_what_was_appended_comes_back_equal_in_another_process_connection(store, tmp_path):
    record = make_record(notes=["emoji 🎡 and <script>"])
    assert store.append(record) == "current"
    assert Store(tmp_path).get(record.name) == record


def test_a_folder_without_a_store_is_read_as_empty_and_left_alone(tmp_path):
    store = Store(tmp_path / "none" / "here")
    assert store.names() == []
    assert list(store.records()) == []
    assert store.events() == []
    assert not (tmp_path / "none").exists()


def test_filters_choose_by_what_was_asked(store):
    runs = [make_record(loss=loss, seed=seed) for loss in ("triplet", "contrastive") for seed in range(3)]
    runs.append(make_record(data="birds", protocol="roth2020", state="diverged"))
    store.append_all(runs)
    assert len(list(store.records())) == 7
    assert store.names(loss="triplet", dataset="icons") == [run.name for run in runs[:3]]
    assert store.names(state="diverged") == store.names(protocol="roth2020") == [runs[6].name]
    assert store.names(method=runs[3].method, seed=1) == [runs[4].name]
    assert [row.seed for row in store.scores("map@r", loss="contrastive")] == [0, 1, 2]
    assert store.scores("map@r", "test", seed=2)[0].value == runs[2].score("map@r")


def test_an_unknown_filter_is_refused_with_the_nearest(store):
    with pytest.raises(InputError, match=r"cannot be searched by 'datset'. Did you mean 'dataset'\?"):
        store.names(datset="icons")


def test_a_unique_beginning_finds_the_run_and_an_ambiguous_one_is_refused(store):
    first = replace(make_record(seed=1), name="abc123")
    second = replace(make_record(seed=2), name="abd456")
    whole = replace(make_record(seed=3), name="ab")
    store.append_all([first, second])
    assert store.get("abc").name == "abc123"
    with pytest.raises(InputError, match="'ab' could be abc123, abd456: type more of the name"):
        store.get("ab")
    store.append(whole)
    assert store.get("ab") == whole


@pytest.mark.parametrize("name", ["", "%", "_", "x' OR '1'='1", "zz"])
def test_an_unknown_run_is_refused(store, name):
    store.append(make_record())
    with pytest.raises(InputError, match=r"no run '.*' in "):
        store.get(name)


def test_an_unknown_run_is_told_the_nearest_name(store):
    store.append(replace(make_record(), name="abc123def456"))
    with pytest.raises(InputError, match=r"Did you mean 'abc123def456'\?"):
        store.get("abc123def465")


def test_an_empty_store_says_so(store):
    with pytest.raises(InputError, match="There are no runs yet"):
        store.get("abc")


def test_done_supersedes_failed_and_failed_never_supersedes_done(store):
    failed, done = make_record(state="failed"), make_record()
    assert failed.name == done.name
    assert store.append(failed) == "current"
    assert store.append(make_record(state="diverged")) == "current"
    assert store.append(done) == "current"
    assert store.append(failed) == "history"
    assert store.get(done.name).state == "done"
    assert [run.state for run in store.history(done.name)] == ["failed", "diverged", "done", "failed"]
    assert len(list(store.records())) == 1


def test_a_second_done_with_the_same_digits_is_the_same_news(store):
    done = make_record()
    slower = replace(done, provenance=replace(done.provenance, wall_seconds=99.0))
    assert [store.append(done), store.append(slower)] == ["current", "repeated"]
    assert store.history(done.name) == [done]


def test_further_scores_of_the_same_run_supersede(store):
    done = make_record()
    sealed = replace(done, scores=tuple(score for score in done.scores if score.split == "validation"))
    assert [store.append(sealed), store.append(done)] == ["current", "current"]
    assert store.get(done.name) == done
    assert len(store.scores("map@r", "validation")) == 1
    assert store.append(sealed) == "history"


def test_a_second_done_with_other_digits_is_kept_aside_and_noted(store):
    done = make_record()
    other = replace(done, scores=(Score(metric="map@r", split="test", value=0.99),))
    assert [store.append(done), store.append(other)] == ["current", "history"]
    assert store.get(done.name) == done
    (event,) = store.events(kind="disagreement")
    assert event.run == done.name
    assert "other digits" in event.detail


def test_events_tell_who_did_what_when(store):
    store.note_event("test split opened", "abc", "by selection")
    store.note_event("study begun")
    store.note_event("test split opened", "abd")
    assert [event.run for event in store.events(kind="test split opened")] == ["abc", "abd"]
    assert [event.kind for event in store.events()] == ["test split opened", "study begun", "test split opened"]
    (event,) = store.events(run="abc", kind="test split opened")
    assert "process" in event.who
    assert event.at.endswith("+00:00")
    assert event.detail == "by selection"


def test_reading_goes_on_while_rows_are_appended(store):
    store.append_all([make_record(seed=seed) for seed in range(5)])
    seen = []
    for record in store.records():
        seen.append(record.name)
        store.append(make_record(seed=100 + len(seen)))
    assert len(seen) == 5
    assert len(store.names()) == 10


def test_threads_may_share_a_store(tmp_path):
    store = Store(tmp_path)
    threads = [threading.Thread(target=store.append, args=(make_record(seed=seed),)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(store.names()) == 8


def test_a_store_is_laid_out_by_one_while_all_others_open_it(tmp_path):
    complaints = []

    def open_one(path, together):
        together.wait()
        try:
            open_database(path, patience=30).close()
        except StoreError as error:
            complaints.append(error)

    for number in range(40):
        together = threading.Barrier(8)
        path = tmp_path / f"{number}.sqlite"
        threads = [threading.Thread(target=open_one, args=(path, together)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert complaints == []


def test_a_newer_store_is_refused_and_untouched(store):
    store.append(make_record())
    store.close()
    with sqlite3.connect(store.path) as connection:
        connection.execute(f"PRAGMA user_version = {STORE_VERSION + 1}")
    connection.close()
    with pytest.raises(StoreError, match=r"written by a newer fairground \(store version 3; this one reads 2\)"):
        store.names()


def test_a_record_of_a_newer_version_is_told_from_a_damaged_one(store):
    store.append(make_record())
    store.close()
    with sqlite3.connect(store.path) as connection:
        (text,) = connection.execute("SELECT json FROM body").fetchone()
        text = re.sub(r'"version":\d+', '"version":9', text)
        connection.execute("UPDATE body SET json = ?, digest = ?", (text, digest_of(1, text)))
    connection.close()
    with pytest.raises(StoreError, match="newer fairground"):
        list(store.records())


def test_another_programs_database_is_refused(tmp_path):
    connection = sqlite3.connect(tmp_path / FILE_NAME)
    connection.execute("CREATE TABLE theirs (a)")
    connection.commit()
    connection.close()
    with pytest.raises(StoreError, match=r"not a fairground store. Nothing was changed"):
        Store(tmp_path).append(make_record())


def test_a_file_that_is_no_database_is_refused(tmp_path):
    (tmp_path / FILE_NAME).write_bytes(b"not a database at all, but long enough to be taken for one " * 20)
    with pytest.raises(StoreError, match="is not a database"):
        Store(tmp_path).names()


def test_an_impossible_folder_is_refused(tmp_path):
    (tmp_path / "file").write_text("a file, not a folder")
    with pytest.raises(StoreError, match=r"cannot make the folder .*file"):
        Store(tmp_path / "file" / "runs").append(make_record())


def test_a_store_that_cannot_be_written_is_refused_in_a_sentence(store):
    store.append(make_record())
    store._connect().execute("PRAGMA query_only = 1")
    with pytest.raises(StoreError, match=r"read-only. What was stored before is safe"):
        store.append(make_record(seed=1))
    assert len(store.names()) == 1


def test_a_full_disk_loses_nothing_that_was_there(store):
    store.append(make_record())
    connection = store._connect()
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreError, match=r"the disk is full. What was stored before is safe"):
        store.append_all([make_record(seed=seed) for seed in range(1, 50)])
    assert store.names() == [make_record().name]
    connection.execute("PRAGMA max_page_count = 1000000")
    assert store.append(make_record(seed=1)) == "current"


def test_a_store_locked_by_another_process_is_waited_for_and_then_refused(store, tmp_path):
    store.append(make_record())
    other = sqlite3.connect(tmp_path / FILE_NAME, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match=r"another process holds it locked. Nothing was lost"):
        store.append(make_record(seed=1))
    assert len(store.names()) == 1  # readers are never kept waiting
    other.execute("ROLLBACK")
    other.close()
    assert store.append(make_record(seed=1)) == "current"


def test_a_list_shows_the_metric_that_each_run_was_selected_by_and_reads_no_record(store, monkeypatch):
    store.append(make_record(seed=0, selection=Selection(split="validation", metric="recall@1")))
    store.append(make_record(seed=1, selection=None))
    store.append(make_record(seed=2, state="failed"))
    first, second, third = store.records()
    monkeypatch.setattr(RunRecord, "from_json", None)
    shown = store.summaries()
    assert [run.metric for run in shown] == ["recall@1", "map@r", "map@r"]
    assert [run.score for run in shown] == [first.score("recall@1"), second.score("map@r"), None]
    assert [run.seed for run in shown] == [0, 1, 2]
    assert third.name == shown[2].name
    assert [run.score for run in store.summaries("recall@4", "validation")][:2] == [
        record.score("recall@4", "validation") for record in (first, second)
    ]


def test_names_by_method_are_those_of_each_method(store):
    for seed in range(3):
        store.append(make_record(seed=seed))
    store.append(make_record(loss="contrastive"))
    found = store.names_by_method(state="done")
    assert {method: set(names) for method, names in found.items()} == {
        method: set(store.names(method=method)) for method in found
    }
    assert sorted(map(len, found.values())) == [1, 3]


def test_a_stored_record_is_flushed_to_the_disk(store):
    store.append(make_record())
    (level,) = store._connect().execute("PRAGMA synchronous").fetchone()
    (mode,) = store._connect().execute("PRAGMA journal_mode").fetchone()
    # FULL: SQLite waits for the disk at every commit, so that a power cut loses nothing that was reported.
    assert (level, mode) == (2, "wal")
