"""Exports that somebody made up, with every checksum right: refused in a sentence before anything is written."""

import hashlib
import json
import zipfile

import pytest

from fairground.errors import DataError, StoreError
from fairground.records.sealed_json import sealed
from fairground.records.store import Store
from fairground.records.store_transfer import FORMAT, VERSION, import_home
from fairground.spec.identity import NAME_LENGTH, canonical_json
from tests.records.factory import make_record

EVENT = {"at": "now", "who": "me", "kind": "noted", "run": None, "detail": "why"}


def forged(path, *, record=None, event=None, sums=None, leave_out="", files=None):
    """Write an export of one record, one event and some files, each as it is given, with right checksums."""
    members = {
        "records.jsonl": json.dumps(record or own()).encode() + b"\n",
        "events.jsonl": json.dumps(EVENT if event is None else event).encode() + b"\n",
        **({"runs/abc/queries.npz": b"queries"} if files is None else files),
    }
    members.pop(leave_out, None)
    found = {name: hashlib.sha256(data).hexdigest() for name, data in members.items()} if sums is None else sums
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
        archive.writestr("contents.json", sealed({"format": FORMAT, "version": VERSION, "sha256": found}))
    return path


def plain(**changes):
    return json.loads(make_record().to_json()) | changes


def with_spec(**changes):
    return plain(spec=plain()["spec"] | changes)


def own(**changes):
    """A record with another spec, named by its hash as it must be."""
    record = with_spec(**changes)
    return record | {"name": hashlib.sha256(canonical_json(record["spec"]).encode()).hexdigest()[:NAME_LENGTH]}


def test_what_is_not_changed_is_imported(tmp_path):
    done = import_home(forged(tmp_path / "home.zip"), tmp_path / "home")
    assert (done.records, done.events, done.files) == (1, 1, 1)
    assert Store(tmp_path / "home").names() == [own()["name"]]


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


CODE = {"name": "home.runs.abc.evil:Loss"}
CODES = {
    "a record": {"record": own(loss=CODE)},
    "a part of a part": {"record": own(trunk={"name": "small_conv", "inside": [CODE]})},
    "a metric": {"record": own(evaluation={"metrics": ["recall@1", "evil:Metric"]})},
    "a spec": {"files": {"runs/abc/spec.json": json.dumps({"loss": CODE}).encode()}},
    "a word of a study": {"files": {"studies/abc/study.json": b'{"methods": [{"words": ["loss=evil:Loss"]}]}'}},
    "an escaped word": {"files": {"studies/abc/study.json": rb'{"words": ["loss=\"evil\\u003aLoss\""]}'}},
    "a pieced word": {"files": {"studies/abc/study.json": b'{"data": [{"label": ":"}], "words": ["loss=a{data}L"]}'}},
}


@pytest.mark.parametrize("what", CODES)
def test_code_from_outside_is_imported_only_by_those_who_trust_it(tmp_path, what):
    path = forged(tmp_path / "home.zip", **CODES[what])
    with pytest.raises(DataError, match=r"names code that is not fairground's.*--trust-code"):
        import_home(path, tmp_path / "home")
    assert not (tmp_path / "home").exists()
    assert import_home(path, tmp_path / "home", trust_code=True).records == 1


def test_texts_that_only_look_like_code_are_imported(tmp_path):
    study = b'{"title": "Losses: a race", "words": ["training.trainable=last:2", "data.path=/a/b"]}'
    record = own(training={"trainable": "last:2"}, data={"name": "folder", "path": "C:\\pictures", "url": "http://a"})
    done = import_home(
        forged(tmp_path / "home.zip", record=record, files={"studies/abc/study.json": study}), tmp_path / "home"
    )
    assert (done.records, done.files, done.left_out) == (1, 1, [])


@pytest.mark.parametrize(
    "name", ["runs/abc/evil.py", "runs/abc/checkpoints", "runs/abc/checkpoints/1.pt", "studies/abc/run.toml"]
)
def test_only_files_that_runs_and_studies_have_are_imported(tmp_path, name):
    files = {name: b"evil", "runs/abc/checkpoints/00000003.json": b"{}", "runs/abc/record.json": b"{}"}
    done = import_home(forged(tmp_path / "home.zip", files=files), tmp_path / "home")
    assert (done.files, done.left_out) == (1, [f"{name}: runs and studies have no such file"])
    written = [path.name for path in (tmp_path / "home").rglob("*") if path.is_file() and "sqlite" not in path.name]
    assert written == ["00000003.json"]


def test_a_record_with_the_spec_of_another_run_is_refused(tmp_path):
    with pytest.raises(StoreError, match="has the spec of another run"):
        import_home(forged(tmp_path / "home.zip", record=plain(name="abc")), tmp_path / "home")
    assert not (tmp_path / "home").exists()


def test_many_files_that_unpack_into_far_more_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("fairground.records.store_transfer._LARGE", 1 << 20)
    files = {f"runs/abc{number}/queries.npz": bytes(1 << 19) for number in range(8)}
    with pytest.raises(DataError, match=r"home.zip claims to unpack .* bytes into 4,\d+,\d+: too much to be believed"):
        import_home(forged(tmp_path / "home.zip", files=files), tmp_path / "home")
    assert not (tmp_path / "home").exists()


def test_a_disk_that_fails_is_not_blamed_on_the_file(tmp_path):
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "runs").write_text("a file where a folder must be")
    with pytest.raises(StoreError, match="cannot write"):
        import_home(forged(tmp_path / "home.zip"), tmp_path / "home")
