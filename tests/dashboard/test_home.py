"""A home looked at again and again: what is damaged hides nothing else, and a store made anew is read anew."""

import json
import os
from pathlib import Path

import pytest

from fairground.dashboard import home as looking
from fairground.dashboard.home import Home
from fairground.dashboard.pages import overview
from fairground.records.run_folder import RunFolder
from fairground.records.store import Store
from fairground.spec.study_load import load_study
from fairground.studies.folder import folder_of
from tests.dashboard.watched import begin_run
from tests.records.factory import make_record
from tests.reporting.fixtures import make_study

ROW = {"epoch": 1, "step": 1, "loss": 1.0, "validation": {"map@r": 0.5}}


@pytest.fixture
def home(tmp_path) -> Path:
    """A home with finished runs, a run under way and a study."""
    Store(tmp_path).append_all(make_study(n_seeds=1))
    study = load_study("tiny")
    with folder_of(study, tmp_path).locked(study):
        pass
    begin_run(tmp_path)
    return tmp_path


def look(home: Path) -> Home:
    seen = Home(root=home)
    seen.refresh()
    return seen


def begin_badly(home: Path, *, name: str = "abcdef", lock: str = "", spec: object = None, **checkpoint: object) -> None:
    """A run's folder that says something no run of ours would; its checkpoint is of version 0.1, without a digest."""
    folder = RunFolder(home, name).make()
    folder.spec.write_text(json.dumps({} if spec is None else spec))
    (folder.path / "owner.lock").write_text(lock)
    facts = {"tensors": "00000004.safetensors", "best": None, "rows": [], **checkpoint}
    (folder.checkpoints / "00000004.json").write_text(json.dumps(facts))


@pytest.mark.parametrize(
    "damage",
    [
        {"lock": "process 99999999999999999999999"},
        {"epoch": float("inf")},
        {"seconds": float("inf")},
        {"rows": [ROW | {"validation": None}]},
        {"rows": [ROW | {"validation": {"map@r": "high"}}]},
        {"rows": [ROW | {"validation": {"map@r": float("nan")}}]},
        {"rows": [ROW | {"loss": "low"}]},
        {"rows": [ROW], "spec": {"training": {"epochs": 10**400}}},
        {"spec": {"loss": {"name": 5}, "training": [1], "data": None, "evaluation": {"select_by": 7}}},
    ],
)
def test_a_damaged_run_hides_nothing_else(home, damage):
    begin_badly(home, **damage)
    seen = look(home)
    assert [study.name for study in seen.studies] == ["tiny"]
    assert begin_run(home) in [run.name for run in seen.in_progress]
    assert len(seen.finished) == 4
    # Whatever is left of the damaged run can be shown.
    assert b"tiny" in overview(seen, title="all", links={}).body


def test_what_cannot_be_read_is_named(home, monkeypatch):
    def read(folder):
        raise OverflowError("too large")

    monkeypatch.setattr(looking, "run_in_progress", read)
    (home / "studies" / "aaaa").mkdir()
    (home / "studies" / "aaaa" / "study.json").write_text("{")
    seen = look(home)
    assert f"run {begin_run(home)} cannot be read: OverflowError: too large" in seen.complaints
    assert any(words.startswith("study aaaa cannot be read: ") for words in seen.complaints)
    # Looked at after the damaged one, and shown.
    assert [study.name for study in seen.studies] == ["tiny"]


def test_a_damaged_store_hides_neither_runs_under_way_nor_what_ended(home):
    begin_run(home, seed=5, is_alive=False)
    finished = RunFolder(home, begin_run(home, seed=6, is_alive=False))
    finished.record.write_text("{}")
    for path in home.glob("records.sqlite*"):
        path.unlink()
    (home / "records.sqlite").write_bytes(b"junk" * 5000)
    seen = look(home)
    assert "the file is not a database" in seen.complaints[0]
    assert [run.state for run in seen.in_progress] == ["under way", "stopped"]
    assert f"1 finished run has no readable record in the store ({finished.name})" in " ".join(seen.complaints)


def test_a_store_that_is_made_anew_is_read_anew_and_one_that_is_gone_is_missed(home):
    seen = look(home)
    marks = {seen.mark}
    assert len(seen.finished) == 4
    for path in home.glob("records.sqlite*"):
        path.unlink()
    seen.refresh()
    assert any("records.sqlite is gone: `fairground store repair`" in words for words in seen.complaints)
    assert len(seen.finished) == 4
    # As many records as before: a page must see that they are others.
    Store(home).append_all(make_record(loss="margin", seed=seed) for seed in range(31, 35))
    seen.refresh()
    assert seen.complaints == []
    assert {run.seed for run in seen.finished} == {"31", "32", "33", "34"}
    assert seen.mark not in marks
    # The run that was under way has its record now.
    assert seen.in_progress == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_where_the_trials_should_be_is_a_complaint_and_no_wait(home):
    (folder,) = (home / "studies").iterdir()
    os.mkfifo(folder / "search.sqlite")
    seen = look(home)
    assert any(words.startswith(f"study {folder.name} cannot be read: the search at ") for words in seen.complaints)
    assert len(seen.finished) == 4
