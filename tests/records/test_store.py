"""Records as files, the index over them, events; and what happens if the index cannot be used."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from fairground.errors import DamageWarning, InputError, StoreError
from fairground.records import FILE_NAME, RunFolder, RunRecord, Score, Selection, Store
from tests.records.factory import make_record


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path, patience=0.1)


def test_what_was_appended_comes_back_equal_in_another_store(store, tmp_path):
    record = make_record(notes=["emoji 🎡 and <script>"])
    assert store.append(record) == "current"
    assert Store(tmp_path).get(record.name) == record
    assert list(Store(tmp_path).records()) == [record]
    text = RunFolder(tmp_path, record.name).record.read_text()
    assert json.loads(text)["body"] == json.loads(record.to_json()), "a person can read it"


def test_filters_choose_by_what_was_asked(store):
    runs = [make_record(loss=loss, seed=seed) for loss in ("triplet", "contrastive") for seed in range(3)]
    runs.append(make_record(data="birds", protocol="roth2020", state="diverged"))
    store.append_all(runs)
    assert list(store.records()) == runs, "the order is that of storing"
    assert store.names(loss="triplet", dataset="icons") == [run.name for run in runs[:3]]
    assert store.names(state="diverged") == store.names(protocol="roth2020") == [runs[6].name]
    assert store.names(method=runs[3].method, seed=1) == store.names(name=runs[4].name) == [runs[4].name]
    assert store.names(name="absent") == []
    assert sorted(map(len, store.names_by_method(state="done").values())) == [3, 3]


def test_a_unique_beginning_finds_the_run_and_an_ambiguous_one_is_refused(store):
    first = replace(make_record(seed=1), name="abc123")
    second = replace(make_record(seed=2), name="abd456")
    store.append_all([first, second])
    assert store.get("abc").name == "abc123"
    with pytest.raises(InputError, match="'ab' could be abc123, abd456: type more of the name"):
        store.get("ab")
    store.append(replace(make_record(seed=3), name="ab"))
    assert store.get("ab").name == "ab"


@pytest.mark.parametrize("name", ["", "%", "../x", "zz"])
def test_an_unknown_run_is_refused(store, name):
    with pytest.raises(InputError, match="There are no runs yet"):
        store.get(name)
    store.append(replace(make_record(), name="abc123def456"))
    with pytest.raises(InputError, match=r"no run '.*' in "):
        store.get(name)
    with pytest.raises(InputError, match=r"Did you mean 'abc123def456'\?"):
        store.get("abc123def465")


def test_done_supersedes_failed_and_failed_never_supersedes_done(store):
    failed, done = make_record(state="failed"), make_record()
    assert failed.name == done.name
    outcomes = store.append_all([failed, make_record(state="diverged"), done, failed])
    assert outcomes == ["current", "current", "current", "history"]
    assert store.get(done.name).state == "done"
    assert [run.state for run in store.history(done.name)] == ["failed", "diverged", "failed", "done"]
    assert len(list(store.records())) == 1


def test_a_second_done_run_counts_only_with_further_scores(store):
    done = make_record()
    slower = replace(done, provenance=replace(done.provenance, wall_seconds=99.0))
    sealed = replace(done, scores=tuple(score for score in done.scores if score.split == "validation"))
    other = replace(done, scores=(Score(metric="map@r", split="test", value=0.99),))
    assert store.append_all([sealed, done, slower, sealed]) == ["current", "current", "repeated", "history"]
    assert store.get(done.name) == done
    store.note_event("test opened", "another")
    assert store.append(other) == "history"
    assert store.get(done.name) == done
    assert [event.run for event in store.events(kind="disagreement")] == [done.name, done.name]


def test_a_list_shows_the_metric_that_selected_each_run_and_reads_no_record(store, monkeypatch):
    selected = Selection(split="validation", metric="recall@1")
    runs = [make_record(selection=selected), make_record(seed=1, selection=None), make_record(seed=2, state="failed")]
    store.append_all(runs)
    assert len(store.names()) == 3
    monkeypatch.setattr(RunRecord, "from_plain", None)
    shown = store.summaries()
    assert [run.metric for run in shown] == ["recall@1", "map@r", "map@r"]
    assert [run.score for run in shown] == [runs[0].score("recall@1"), runs[1].score("map@r"), None]
    assert [(run.name, run.seed) for run in shown] == [(run.name, run.spec["seed"]) for run in runs]
    assert (shown[0].title, shown[0].data) == ("triplet distance_weighted", "icons")


def test_events_tell_who_did_what_when_and_a_torn_line_is_left_out(store, tmp_path):
    store.note_event("test opened", "abc", "by selection")
    store.note_event("study begun")
    assert [event.kind for event in store.events()] == ["test opened", "study begun"]
    (event,) = store.events(run="abc", kind="test opened")
    assert ("process" in event.who, event.at[-6:], event.detail) == (True, "+00:00", "by selection")
    with (tmp_path / "events.jsonl").open("a") as file:
        file.write('{"at": "2026')
    store.note_event("later")
    with pytest.warns(DamageWarning, match="a line is damaged"):
        assert [event.kind for event in store.events()] == ["test opened", "study begun", "later"]


def test_records_that_are_copied_changed_or_deleted_by_hand_are_noticed(store, tmp_path):
    other = Store(tmp_path / "other")
    other.append_all([make_record(seed=seed) for seed in range(3)])
    store.append(make_record(seed=9))
    assert len(store.names()) == 1
    subprocess.run(["cp", "-r", tmp_path / "other" / "runs", tmp_path], check=True)
    assert set(store.names()) == {*other.names(), make_record(seed=9).name}
    subprocess.run(["rm", "-r", tmp_path / "runs" / make_record(seed=9).name], check=True)
    assert set(store.names()) == set(other.names())


@pytest.mark.parametrize("damage", ["changed", "cut", "another run's", "not a record"])
def test_a_damaged_record_is_named_and_left_out_and_a_new_one_takes_its_place(store, tmp_path, damage):
    good, bad = make_record(), make_record(seed=1)
    store.append_all([good, bad])
    assert len(store.names()) == 2
    path = RunFolder(tmp_path, bad.name).record
    text = path.read_text()
    changed = {
        "changed": text.replace("0.2", "0.3", 1),
        "cut": text[:-9],
        "another run's": RunFolder(tmp_path, good.name).record.read_text(),
        "not a record": '{"a": 1}',
    }
    path.write_text(changed[damage])
    with pytest.warns(DamageWarning, match=rf"{bad.name}.record\.json.*the record is left out"):
        assert list(store.records()) == [good]
    if damage != "another run's":
        with pytest.raises(StoreError, match=r"record\.json' does not match its checksum"):
            store.get(bad.name)
        with pytest.warns(DamageWarning, match="it is replaced"):
            assert store.append(bad) == "current"
        assert set(store.names()) == {good.name, bad.name}


def junk(path: Path) -> None:
    path.write_bytes(b"this is not a database, but it is long enough to be one " * 20)


def another_layout(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE record (theirs)")


@pytest.mark.parametrize("spoil", [junk, another_layout, Path.unlink])
def test_an_index_that_is_damaged_of_another_layout_or_missing_is_rebuilt_in_silence(store, tmp_path, spoil, recwarn):
    runs = [make_record(seed=seed) for seed in range(3)]
    store.append_all(runs[:2])
    before = store.summaries()
    spoil(tmp_path / FILE_NAME)
    assert store.summaries() == before
    store.append(runs[2])
    assert list(store.records()) == list(Store(tmp_path).records()) == runs
    assert list(recwarn) == []


def test_a_folder_that_cannot_be_made_is_a_sentence(tmp_path):
    (tmp_path / "file").write_text("a file, not a folder")
    for write in (lambda store: store.append(make_record()), lambda store: store.note_event("x")):
        with pytest.raises(StoreError, match=r"cannot write .*file"):
            write(Store(tmp_path / "file" / "home"))


WRITER = """
import sys
from dataclasses import replace
from fairground.records.store import Store
from tests.records.factory import make_record
root, writer, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
record, store = make_record(), Store(root)
for row in range(count):
    store.append(replace(record, name=f"{writer}x{row:06}"))
    store.names(state="done")
    print(row, flush=True)
"""


def start_writer(root: Path, writer: str, count: int) -> subprocess.Popen:
    command = [sys.executable, "-c", WRITER, str(root), writer, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2], text=True)


def test_processes_write_at_once_into_a_run_directory_none_of_them_found(tmp_path):
    writers = [start_writer(tmp_path, f"w{i}", 15) for i in range(3)]
    assert [writer.wait() for writer in writers if writer.communicate()] == [0] * 3
    assert len(Store(tmp_path).names()) == 45


def test_a_killed_writer_loses_at_most_the_record_it_was_writing(tmp_path):
    for number, kill_after in enumerate([1, 9]):
        writer = start_writer(tmp_path, f"k{number}", 100_000)
        for _ in range(kill_after):
            writer.stdout.readline()
        os.kill(writer.pid, signal.SIGKILL)
        reported = kill_after + len(writer.communicate()[0].split())
        names = [name for name in Store(tmp_path).names() if name.startswith(f"k{number}")]
        # One record may have been written and not yet reported.
        assert reported <= len(names) <= reported + 1
    assert all(run.state == "done" for run in Store(tmp_path).records())


def locked_index(path: Path) -> sqlite3.Connection:
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    return other


def full_disk(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/full")


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("spoil", [locked_index, full_disk, folder])
def test_a_finished_run_is_stored_whatever_the_index_is(store, tmp_path, spoil):
    store.append(make_record())
    assert len(store.names()) == 1
    kept = spoil(tmp_path / FILE_NAME)
    assert store.append(make_record(seed=1)) == "current"
    assert RunFolder(tmp_path, make_record(seed=1).name).record.exists()
    with pytest.warns(DamageWarning, match=r"index\.sqlite cannot be used .*; reading every record"):
        assert len(store.names()) == 2
    store.append(make_record(seed=2))
    assert [run.spec["seed"] for run in store.records()] == [0, 1, 2]
    del kept
