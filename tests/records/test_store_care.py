"""Checking, repairing, moving and merging: what is damaged is named, what can be saved is saved."""

import hashlib
import json
import os
import shutil
import sqlite3
import warnings
import zipfile
from dataclasses import replace

import pytest

from fairground.errors import DamageWarning, DataError, InputError, StoreError
from fairground.records.artefacts import RunFolder
from fairground.records.lock import locked
from fairground.records.record import Score
from fairground.records.record_copy import read_copy
from fairground.records.store import FILE_NAME, Store
from fairground.records.store_check import check_home
from fairground.records.store_repair import repair_home
from fairground.records.store_transfer import export_home, import_home
from fairground.records.stored_spec import is_own_spec, stored_spec
from fairground.spec.identity import canonical_json, method_of, name_of, to_plain
from tests.records.factory import make_record
from tests.training.tiny import tiny


def real_record(seed: int = 0):
    """A record whose spec is a true one, so that its name is its hash."""
    spec = tiny(f"seed={seed}")
    return replace(make_record(seed=seed), name=name_of(spec), method=method_of(spec), spec=to_plain(spec))


@pytest.fixture
def home(tmp_path):
    """Three runs with folders, as training leaves them."""
    root = tmp_path / "home"
    store = Store(root)
    for seed in range(3):
        record = real_record(seed)
        folder = RunFolder(root, record.name).make()
        folder.spec.write_text(json.dumps(dict(record.spec)))
        folder.queries.write_bytes(b"queries" * 100)
        (folder.checkpoints / "best-000001.safetensors").write_bytes(b"weights")
        folder.sign()
        store.append(record)
    store.note_event("test opened", real_record().name, "by a test")
    # Closed, so that all is in one file and nothing of it in the log.
    store.close()
    return root


def sql(home, command, *values):
    connection = sqlite3.connect(home / FILE_NAME)
    connection.execute(command, values)
    connection.commit()
    connection.close()


def names(home):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DamageWarning)
        return sorted(record.name for record in Store(home).records())


def test_a_record_lies_next_to_its_run_and_follows_the_store(home):
    record = real_record()
    assert read_copy(RunFolder(home, record.name)) == record
    failed = replace(record, state="failed", failure="no", scores=(), best_epoch=None)
    assert Store(home).append(failed) == "history"
    assert read_copy(RunFolder(home, record.name)) == record
    assert is_own_spec(stored_spec_plain(home, record.name), record.name)


def stored_spec_plain(home, name):
    return json.loads(RunFolder(home, name).spec.read_text())


def test_a_sound_home_is_called_sound_and_left_alone(home):
    before = {path: path.stat().st_mtime_ns for path in home.rglob("*") if path.is_file() and "sqlite" not in path.name}
    found = check_home(home)
    assert (found.is_sound, found.n_records, found.n_events, found.n_folders) == (True, 3, 1, 3)
    assert found.orphans == found.unfinished == found.without_folder == found.temporary == []
    assert found.bytes["checkpoints"] == 3 * len(b"weights")
    after = {path: path.stat().st_mtime_ns for path in home.rglob("*") if path.is_file() and "sqlite" not in path.name}
    assert after == before


DAMAGES = {
    "a digit of a record": ("UPDATE body SET json = replace(json, '0.', '1.') WHERE record = 2", "run"),
    "a score": ("UPDATE scores SET json = replace(json, '0.', '1.') WHERE record = 2", "run"),
    "what it is searched by": ("UPDATE record SET loss = 'margin' WHERE id = 2", "run"),
    "its rank": ("UPDATE record SET is_current = 0 WHERE id = 2", "run"),
    "a text gone": ("DELETE FROM body WHERE record = 2", "run"),
    "a row gone": ("DELETE FROM record WHERE id = 2", "2 records are there and 3 were written"),
    "an event": ("UPDATE event SET detail = 'nobody'", "event 1 is damaged"),
    "an event gone": ("DELETE FROM event", "0 events are there and 1 were written"),
    "the ledger": ("DELETE FROM ledger", "were written"),
}


@pytest.mark.parametrize("what", DAMAGES)
def test_damage_is_named_and_the_rest_stays_readable(home, what):
    command, sentence = DAMAGES[what]
    sql(home, command)
    found = check_home(home)
    assert not found.is_sound
    hurt = real_record(1).name
    assert any((hurt if sentence == "run" else sentence) in line for line in found.damage), found.damage
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        read = [record.name for record in Store(home).records()]
        Store(home).summaries()
        Store(home).scores("map@r")
        Store(home).events()
    assert {real_record(0).name, real_record(2).name} <= set(read)
    assert any(issubclass(one.category, DamageWarning) for one in warned)
    assert repair_home(home).lost == []
    assert check_home(home).is_sound
    assert names(home) == sorted(real_record(seed).name for seed in range(3))
    assert Store(home).get(hurt) == real_record(1)


def test_a_damaged_record_asked_for_by_name_is_refused_with_what_to_do(home):
    sql(home, "UPDATE body SET json = replace(json, '0.', '1.') WHERE record = 2")
    with pytest.raises(StoreError, match=r"the record of run \w+ \(row 2\) is damaged.*fairground store repair"):
        Store(home).get(real_record(1).name)
    # Trained again, the run has a good record.
    assert Store(home).append(real_record(1)) == "current"
    assert Store(home).get(real_record(1).name) == real_record(1)


@pytest.mark.parametrize("cut", [0, 100, 5000, 20_000])
def test_a_database_that_is_cut_short_is_rebuilt_from_the_folders(home, cut):
    path = home / FILE_NAME
    path.write_bytes(path.read_bytes()[:cut])
    repair = repair_home(home)
    assert repair.lost == []
    assert names(home) == sorted(real_record(seed).name for seed in range(3))
    assert (home / repair.old).read_bytes()[:cut] == (home / repair.old).read_bytes()
    assert check_home(home).is_sound


SHAPES = {
    "DROP INDEX one_current_record_a_run": "index one_current_record_a_run is not there as it was laid out.",
    "CREATE TRIGGER t AFTER INSERT ON event BEGIN DELETE FROM event; END": "trigger t does not belong in a store.",
    "DROP TABLE body": "table body is not there as it was laid out.",
}


@pytest.mark.parametrize("command", SHAPES)
def test_tables_that_are_not_as_they_were_laid_out_are_named_and_mended(home, command):
    sql(home, command)
    assert SHAPES[command] in check_home(home).damage
    assert repair_home(home).is_complete
    assert check_home(home).is_sound


@pytest.mark.parametrize("command", ["DROP TABLE body", "PRAGMA user_version = 0"])
def test_a_store_without_its_tables_says_what_to_do(home, command):
    sql(home, command)
    with pytest.raises(StoreError, match="fairground store repair"):
        list(Store(home).records())
    assert repair_home(home).is_complete


def test_the_record_of_another_run_is_not_shown(home):
    sql(home, "DROP INDEX one_current_record_a_run")
    first, second = real_record(0).name, real_record(1).name
    sql(home, "UPDATE record SET name = CASE id WHEN 1 THEN ? WHEN 2 THEN ? ELSE name END", second, first)
    with pytest.raises(StoreError, match=f"the record of run {first}.* is damaged"):
        Store(home).get(first)
    with pytest.warns(DamageWarning, match=first):
        assert Store(home).history(first) == []
    assert repair_home(home).is_complete
    assert Store(home).get(first) == real_record(0)


EMPTIED = {"gone": None, "empty": lambda path: path.touch(), "a dead link": lambda path: path.symlink_to("nowhere")}


@pytest.mark.parametrize("how", EMPTIED)
def test_a_store_that_is_gone_is_missed(home, how):
    path = home / FILE_NAME
    path.unlink()
    if EMPTIED[how]:
        EMPTIED[how](path)
    runs = sorted(real_record(seed).name for seed in range(3))
    with pytest.warns(DamageWarning, match="3 runs have a record in their folder that is not here.*store repair"):
        assert Store(home).names() == []
    with pytest.raises(InputError, match=r"Its folder has a record that the store has not.*store repair"):
        Store(home).get(runs[0][:6])
    found = check_home(home)
    assert (found.is_sound, found.unstored, found.unfinished) == (False, runs, [])
    repair = repair_home(home)
    assert (repair.from_folders, repair.lost, repair.n_unnamed) == (3, [], None)
    assert check_home(home).is_sound


def without_folders(home):
    shutil.rmtree(home / "runs")
    return home


def test_a_text_without_its_row_is_saved(home):
    sql(without_folders(home), "DELETE FROM record WHERE id = 2")
    repair = repair_home(home)
    assert (repair.from_database, repair.is_complete) == (3, True)
    assert Store(home).get(real_record(1).name) == real_record(1)


def test_records_that_nobody_can_name_are_counted_as_lost(home):
    for table, key in (("record", "id"), ("body", "record")):
        sql(home, f"DELETE FROM {table} WHERE {key} = 2")
    repair = repair_home(without_folders(home))
    assert (repair.from_database, repair.lost, repair.n_unnamed, repair.is_complete) == (2, [], 1, False)


def test_a_database_that_is_cut_short_does_not_say_what_it_had(home):
    path = without_folders(home) / FILE_NAME
    path.write_bytes(path.read_bytes()[:8192])
    repair = repair_home(home)
    assert (repair.n_unnamed, repair.is_complete) == (None, False)


STRANGERS = {"PRAGMA user_version = 99": "a newer fairground", "PRAGMA application_id = 5": "not a fairground store"}


@pytest.mark.parametrize("command", STRANGERS)
def test_a_store_that_is_not_ours_is_neither_checked_nor_repaired(home, command):
    sql(home, command)
    before = (home / FILE_NAME).read_bytes()
    for care in (check_home, repair_home):
        with pytest.raises(StoreError, match=f"{STRANGERS[command]}.*Nothing was changed"):
            care(home)
    assert (home / FILE_NAME).read_bytes() == before
    assert sorted(path.name for path in home.iterdir()) == ["records.sqlite", "runs"]


PLACES = {
    "pipe": os.mkfifo,
    "folder": os.mkdir,
    "device": lambda path: path.symlink_to("/dev/zero"),
}


@pytest.mark.parametrize("kind", PLACES)
def test_what_is_no_file_in_the_place_of_the_store_is_named_and_moved_aside(home, kind):
    path = home / FILE_NAME
    path.unlink()
    PLACES[kind](path)
    with pytest.raises(StoreError, match=f"it is a {kind}, not a plain file.*store repair"):
        Store(home).names()
    assert any(f"it is a {kind}" in line for line in check_home(home).damage)
    repair = repair_home(home)
    assert repair.from_folders == 3
    assert os.path.lexists(home / repair.old)
    assert check_home(home).is_sound


def test_a_repair_writes_over_nothing(home, tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("mine")
    for name in ("copy", "rebuilt"):
        (home / f"{FILE_NAME}.{name}").symlink_to(victim)
    os.mkfifo(home / "runs" / real_record().name / "owner.lock")
    assert repair_home(home).is_complete
    assert victim.read_text() == "mine"
    assert not list(home.glob(".repair-*"))


def test_what_has_no_copy_is_named_as_lost(home):
    name = real_record(1).name
    RunFolder(home, name).record.unlink()
    sql(home, "UPDATE body SET json = replace(json, '0.', '1.') WHERE record = 2")
    assert repair_home(home).lost == [name]


def test_files_of_runs_are_checked_and_specs_written_anew(home):
    first, second, third = (RunFolder(home, real_record(seed).name) for seed in range(3))
    first.queries.write_bytes(b"other")
    second.spec.write_text(second.spec.read_text().replace('"epochs": 3', '"epochs": 4'))
    (third.path / ".spec.json.99-ab.tmp").write_bytes(b"half")
    (home / "runs" / "not a run").mkdir()
    RunFolder(home, "begun").make().spec.write_text("{}")
    found = check_home(home)
    assert len(found.damage) == 3
    assert any("queries.npz no longer has its checksum" in line for line in found.damage)
    assert any("is not the spec that run" in line for line in found.damage)
    assert (found.orphans, found.unfinished) == (["not a run"], ["begun"])
    assert found.temporary == [f"runs/{third.name}/.spec.json.99-ab.tmp"]
    with pytest.raises(StoreError, match="damaged"):
        stored_spec(second)
    repair = repair_home(home)
    assert (repair.specs, repair.swept) == (1, 1)
    assert name_of(stored_spec(second)) == second.name


def test_a_home_at_work_is_not_repaired(home):
    with locked(RunFolder(home, real_record().name)), pytest.raises(StoreError, match="is being worked on"):
        repair_home(home)


def test_a_home_goes_into_one_file_and_comes_out_equal(home, tmp_path):
    done = export_home(home, tmp_path / "home.zip")
    assert (done.records, done.events) == (3, 1)
    other = tmp_path / "other"
    took = import_home(tmp_path / "home.zip", other)
    assert (took.records, took.events, took.files) == (3, 1, done.files)
    assert {record.name: record for record in Store(other).records()} == {
        record.name: record for record in Store(home).records()
    }
    assert Store(other).events()[0] == Store(home).events()[0]
    assert check_home(other).damage == []
    assert not list(other.rglob("*.safetensors"))
    again = import_home(tmp_path / "home.zip", other)
    assert (again.records, again.repeated, again.files, again.events) == (0, 3, 0, 0)
    export_home(home, tmp_path / "all.zip", checkpoints=True)
    import_home(tmp_path / "all.zip", other)
    assert len(list(other.rglob("*.safetensors"))) == 3


def test_links_and_strange_files_are_not_exported_and_named(home, tmp_path):
    (tmp_path / "secret").write_text("secret")
    folder = RunFolder(home, real_record().name)
    folder.gallery.symlink_to(tmp_path / "secret")
    (folder.path / "notes.txt").write_text("mine")
    done = export_home(home, tmp_path / "home.zip")
    where = f"runs/{folder.name}"
    assert done.left_out == [
        f"{where}/gallery.npz: it is a link",
        f"{where}/notes.txt: runs and studies have no such file",
    ]
    with zipfile.ZipFile(tmp_path / "home.zip") as archive:
        assert not {f"{where}/gallery.npz", f"{where}/notes.txt"} & set(archive.namelist())


def test_a_run_that_gets_its_folder_later_gets_the_copy_of_its_record(home, tmp_path):
    export_home(home, tmp_path / "records.zip", files=False)
    export_home(home, tmp_path / "home.zip")
    for name in ("records.zip", "home.zip"):
        import_home(tmp_path / name, tmp_path / "other")
    assert read_copy(RunFolder(tmp_path / "other", real_record().name)) == real_record()


@pytest.mark.parametrize("damage", ["DELETE FROM body WHERE record = 2", "UPDATE record SET loss = 'x' WHERE id = 2"])
def test_a_damaged_record_is_left_out_of_an_export_and_named(home, tmp_path, damage):
    sql(home, damage)
    done = export_home(home, tmp_path / "home.zip")
    assert done.records == 2
    assert [real_record(1).name in line for line in done.left_out] == [True]
    with pytest.warns(DamageWarning, match=real_record(1).name):
        Store(home).since(0)[1] if "body" in damage else Store(home).names()


def test_the_same_export_imported_twice_brings_nothing_new(home, tmp_path):
    other, name = tmp_path / "other", real_record(1).name
    changed = replace(real_record(1), scores=(Score(metric="map@r", split="test", value=0.9),))
    failed = replace(real_record(2), state="failed", failure="no", scores=(), best_epoch=None)
    Store(other).append_all([changed, failed])
    export_home(other, tmp_path / "other.zip")
    assert import_home(tmp_path / "other.zip", home).history == 2
    again = import_home(tmp_path / "other.zip", home)
    assert (again.records, again.repeated, again.history) == (0, 2, 0)
    assert len(Store(home).history(name)) == 2
    assert len(Store(home).events(kind="disagreement")) == 1


def test_two_homes_are_merged_and_disagreement_is_noted(home, tmp_path):
    other = tmp_path / "other"
    same = real_record(0)
    changed = replace(real_record(1), scores=(Score(metric="map@r", split="test", value=0.9),))
    Store(other).append_all([same, changed, real_record(7)])
    export_home(other, tmp_path / "other.zip")
    took = import_home(tmp_path / "other.zip", home)
    assert (took.records, took.repeated, took.history) == (1, 1, 1)
    assert Store(home).get(real_record(1).name) == real_record(1)
    assert [event.run for event in Store(home).events(kind="disagreement")] == [real_record(1).name]


def rewritten(path, change):
    """Write an export anew with its members changed and all its checksums right."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    body = json.loads(members["contents.json"])["body"]
    change(members, body)
    for name in body["sha256"]:
        body["sha256"][name] = hashlib.sha256(members[name]).hexdigest()
    text = json.dumps(body, separators=(",", ":")).encode()
    members["contents.json"] = b'{"sha256":"%s","body":%s}' % (hashlib.sha256(text).hexdigest().encode(), text)
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)


@pytest.mark.parametrize("name", ["../evil", "runs/../../evil", "/etc/evil", "runs/a/../b", "records.sqlite"])
def test_an_export_cannot_write_outside_the_runs(home, tmp_path, name):
    path = tmp_path / "home.zip"
    export_home(home, path)

    def add(members, body):
        members[name] = b"evil"
        body["sha256"][name] = ""

    rewritten(path, add)
    with pytest.raises(DataError, match="which is no file of a home"):
        import_home(path, tmp_path / "other")
    assert not (tmp_path / "other").exists()
    assert not (tmp_path / "evil").exists()


def test_a_damaged_export_changes_nothing(home, tmp_path):
    path = tmp_path / "home.zip"
    export_home(home, path)
    data = path.read_bytes()
    for place in range(0, len(data), max(1, len(data) // 60)):
        path.write_bytes(data[:place] + bytes([data[place] ^ 64]) + data[place + 1 :])
        try:
            import_home(path, tmp_path / "other")
        except (DataError, StoreError):
            assert not (tmp_path / "other").exists()
        else:  # a byte that means nothing, such as a date
            assert names(tmp_path / "other") == names(home)
            for file in sorted((tmp_path / "other").rglob("*"), reverse=True):
                file.rmdir() if file.is_dir() else file.unlink()
            (tmp_path / "other").rmdir()
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(DataError, match="is a pipe"):
        import_home(path, tmp_path / "other")


def test_a_store_of_version_1_is_brought_up_to_date(tmp_path):
    connection = sqlite3.connect(tmp_path / FILE_NAME, isolation_level=None)
    for statement in VERSION_1.strip().split(";\n"):
        connection.execute(statement)
    connection.execute("PRAGMA application_id = 1178683730")
    connection.execute("PRAGMA user_version = 1")
    for number, record in enumerate((make_record(state="failed"), make_record(), make_record(seed=1)), 1):
        columns = (number, record.name, record.method, record.state, "laptop", "icons", "triplet", 0, number > 1, "x")
        connection.execute("INSERT INTO record VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", columns)
        connection.execute("INSERT INTO body VALUES (?, ?)", (number, record.to_json()))
    connection.execute("INSERT INTO event VALUES (1, 'then', 'me', 'test opened', 'abc', 'why')")
    connection.close()
    store = Store(tmp_path)
    assert list(store.records()) == [make_record(), make_record(seed=1)]
    assert [record.state for record in store.history(make_record().name)] == ["failed", "done"]
    assert store.events()[0].detail == "why"
    assert store.summaries()[0].miner == "distance_weighted"
    assert store.scores("map@r")[0].value == make_record().score("map@r")
    assert store.append(make_record(seed=2)) == "current"
    assert check_home(tmp_path).is_sound


VERSION_1 = """
CREATE TABLE record (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, method TEXT NOT NULL, state TEXT NOT NULL,
    protocol TEXT, dataset TEXT, loss TEXT, seed INTEGER,
    is_current INTEGER NOT NULL, written TEXT NOT NULL
) STRICT;
CREATE TABLE body (record INTEGER PRIMARY KEY REFERENCES record (id), json TEXT NOT NULL) STRICT;
CREATE TABLE score (
    metric TEXT NOT NULL, split TEXT NOT NULL, record INTEGER NOT NULL REFERENCES record (id), value REAL NOT NULL,
    PRIMARY KEY (metric, split, record)
) STRICT, WITHOUT ROWID;
CREATE TABLE event (
    id INTEGER PRIMARY KEY, at TEXT NOT NULL, who TEXT NOT NULL, kind TEXT NOT NULL, run TEXT, detail TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX one_current_record_a_run ON record (name) WHERE is_current = 1;
CREATE INDEX record_by_name ON record (name);
CREATE INDEX event_by_kind ON event (kind);
CREATE INDEX event_by_run ON event (run);
"""


def test_a_store_that_cannot_be_written_to_can_still_be_read(home, monkeypatch):
    monkeypatch.setattr("fairground.records.store.is_writable", lambda _: False)
    assert len(Store(home).names()) == 3
    with pytest.raises(StoreError, match="read-only"):
        Store(home).append(real_record(9))


def test_no_home_is_said(tmp_path):
    for care in (check_home, repair_home):
        with pytest.raises(InputError, match="there is no home"):
            care(tmp_path / "none")
    assert canonical_json({}) == "{}"
