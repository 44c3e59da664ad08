"""Exports that somebody made up, with every checksum right: refused in a sentence before anything is written."""

import hashlib
import json
import zipfile

import pytest

from fairground.errors import DataError, StoreError
from fairground.records.sealed_json import sealed
from fairground.records.store import Store
from fairground.records.store_transfer import FORMAT, VERSION, import_home
from tests.records.factory import make_record

EVENT = {"at": "now", "who": "me", "kind": "noted", "run": None, "detail": "why"}


def forged(path, *, record=None, event=None, sums=None, leave_out=""):
    """Write an export of one record, one event and one file, each as it is given, with right checksums."""
    members = {
        "records.jsonl": json.dumps(record or plain()).encode() + b"\n",
        "events.jsonl": json.dumps(EVENT if event is None else event).encode() + b"\n",
        "runs/abc/queries.npz": b"queries",
    }
    members.pop(leave_out, None)
    found = {name: hashlib.sha256(data).hexdigest() for name, data in members.items()} if sums is None else sums
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
        archive.writestr("contents.json", sealed({"format": FORMAT, "version": VERSION, "sha256": found}))
    return path


def plain(**changes):
    return json.loads(make_record().to_json()) | changes


def with_spec(**changes):
    return plain(spec=plain()["spec"] | changes)


def test_what_is_not_changed_is_imported(tmp_path):
    done = import_home(forged(tmp_path / "home.zip"), tmp_path / "home")
    assert (done.records, done.events, done.files) == (1, 1, 1)
    assert Store(tmp_path / "home").names() == [make_record().name]


@pytest.mark.parametrize(
    ("record", "complaint"),
    [
        (plain(name="../../evil"), "a run cannot be called '../../evil'"),
        (plain(name="\x1b[31mred"), "a run cannot be called"),
        (plain(name="\ud800"), "a run cannot be called"),
        (plain(name=7), "a run cannot be called 7"),
        (plain(method="\ud800"), "method is no text that can be stored"),
        (with_spec(seed=10**30), "a seed is a whole number of at most 64 bits"),
        (with_spec(seed="first"), "a seed is a whole number of at most 64 bits; got 'first'"),
        (with_spec(protocol="\udfff"), "protocol is no text that can be stored"),
        (plain(scores=[{"metric": "m", "split": "test", "value": "high"}]), "not a fairground record"),
    ],
)
def test_a_forged_record_is_refused_and_nothing_is_written(tmp_path, record, complaint):
    with pytest.raises(StoreError, match=complaint):
        import_home(forged(tmp_path / "home.zip", record=record), tmp_path / "home")
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize(
    "event", [{"a": 1}, [1], EVENT | {"at": 1}, EVENT | {"kind": ["x"]}, EVENT | {"detail": "\ud800"}, {}]
)
def test_a_forged_event_is_refused_and_nothing_is_written(tmp_path, event):
    with pytest.raises(DataError, match="event"):
        import_home(forged(tmp_path / "home.zip", event=event), tmp_path / "home")
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize("sums", [[1, 2], "x", {}, {"records.jsonl": "0"}])
def test_an_export_that_does_not_say_what_it_holds_is_refused(tmp_path, sums):
    with pytest.raises(DataError, match="does not say which records and files it holds"):
        import_home(forged(tmp_path / "home.zip", sums=sums), tmp_path / "home")
    assert not (tmp_path / "home").exists()


def test_an_export_without_its_records_is_refused(tmp_path):
    with pytest.raises(DataError, match="does not say which records and files it holds"):
        import_home(forged(tmp_path / "home.zip", leave_out="records.jsonl"), tmp_path / "home")


def test_a_disk_that_fails_is_not_blamed_on_the_file(tmp_path):
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "runs").write_text("a file where a folder must be")
    with pytest.raises(StoreError, match="cannot write"):
        import_home(forged(tmp_path / "home.zip"), tmp_path / "home")
