"""`fairground store` and `list` where something is damaged: what is printed, and with what the commands end."""

import json
import sqlite3

import pytest
from typer.testing import CliRunner

from fairground.commands.main import app
from fairground.errors import DamageWarning
from fairground.records.artefacts import RunFolder
from fairground.records.store import FILE_NAME, Store
from tests.records.factory import make_record

pytestmark = pytest.mark.filterwarnings("ignore::fairground.errors.DamageWarning")


@pytest.fixture
def home(tmp_path):
    """Three runs, the first with a folder."""
    store = Store(tmp_path / "home")
    folder = RunFolder(store.root, make_record().name).make()
    folder.spec.write_text(json.dumps(dict(make_record().spec)))
    store.append_all([make_record(seed=seed) for seed in range(3)])
    store.close()
    return store.root


def sql(home, command):
    connection = sqlite3.connect(home / FILE_NAME)
    connection.execute(command)
    connection.commit()
    connection.close()


def invoke(*words, code):
    said = CliRunner().invoke(app, [str(word) for word in words])
    assert said.exit_code == code, f"{said.output}\n{said.exception}"
    return said.output


@pytest.mark.parametrize("damage", ["UPDATE record SET loss = 'x' WHERE id = 1", "DELETE FROM record"])
def test_a_finished_run_without_a_sound_record_is_not_called_unfinished(home, damage):
    sql(home, damage)
    name = make_record().name
    assert f"{name}  damaged     mend with: fairground store repair --home" in invoke(
        "list", "runs", "--home", home, code=0
    )
    assert json.loads(invoke("list", "runs", "--json", "--home", home, code=0))[name] == "damaged"
    told = invoke("store", "check", "--home", home, code=1)
    assert "runs whose record is in their folder and not, or not undamaged, in the store: 1" in told
    assert "were begun" not in told


def test_a_repair_ends_with_1_where_a_record_is_lost_or_may_be(home):
    assert "further" not in invoke("store", "repair", "--home", home, code=0)
    for table, key in (("record", "id"), ("body", "record")):
        sql(home, f"DELETE FROM {table} WHERE {key} = 2")
    assert "1 further records are lost" in invoke("store", "repair", "--home", home, code=1)
    (home / FILE_NAME).unlink()
    assert "how many further records are lost is unknown" in invoke("store", "repair", "--home", home, code=1)


def test_an_export_ends_with_1_where_a_record_is_left_out(home, tmp_path):
    invoke("store", "export", tmp_path / "whole.zip", "--home", home, code=0)
    sql(home, "DELETE FROM body WHERE record = 2")
    told = invoke("store", "export", tmp_path / "part.zip", "--home", home, code=1)
    assert "2 records" in told
    assert f"left out: 1\n  the record of run {make_record(seed=1).name} (row 2) is damaged" in told


def test_a_file_is_no_home(tmp_path):
    (tmp_path / "file").write_text("")
    said = CliRunner().invoke(app, ["list", "runs", "--home", str(tmp_path / "file")])
    assert "--home must name a folder" in str(said.exception)


def test_a_study_that_cannot_be_read_is_named_and_the_others_are_listed(home):
    (home / "studies" / "abc").mkdir(parents=True)
    (home / "studies" / "abc" / "study.json").write_text("garbage")
    with pytest.warns(DamageWarning, match=r"abc/study.json.*This study is left out"):
        invoke("study", "list", "--home", home, code=0)
