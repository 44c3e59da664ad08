"""A stored run whose data, weights or code changed is neither shown nor resumed; `--again` makes it again."""

import importlib
import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import nullcontext

import numpy as np
import pytest

import fairground as fg
from fairground.files import read_with_digest, write_with_digest
from fairground.records import RunFolder, Store, locked
from fairground.spec import parse_overrides
from tests.commands.test_commands import fairground, output_of
from tests.commands.test_study import STUDY
from tests.datasets import pictures
from tests.patience import PATIENCE
from tests.training.stopping import stop_after
from tests.training.test_own_data import SMALL
from tests.training.tiny import tiny_words

LOSS = """
import os, signal
from torch import nn
class OwnLoss(nn.Module):
    def forward(self, embeddings, labels):
        return {} * embeddings.square().mean()
"""
SHORT = tiny_words("loss=own_loss:OwnLoss", "training.epochs=1", "training.batches_per_epoch=4")


@pytest.fixture
def edit(monkeypatch, tmp_path):
    """Return a function that writes the loss with a factor and forgets the one that was imported."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.syspath_prepend(str(tmp_path))

    def write(factor):
        (tmp_path / "own_loss.py").write_text(LOSS.format(factor))
        sys.modules.pop("own_loss", None)
        importlib.invalidate_caches()

    write("1")
    return write


def test_an_edited_loss_is_refused_until_asked_again(edit, tmp_path, capsys):
    words = ("train", *SHORT, "--home", str(tmp_path), "--quiet")
    first = json.loads(output_of(capsys, *words, "--json"))
    assert json.loads(output_of(capsys, *words, "--json")) == first
    edit("2")
    refusal = output_of(capsys, *words, code=2)
    assert f"run {first['name']} was made with other content: source of own_loss:OwnLoss was " in refusal
    assert "`--again`" in refusal
    second = json.loads(output_of(capsys, *words, "--again", "--json"))
    assert (second["name"], second["epochs"][1]["loss"]) != (first["name"], first["epochs"][1]["loss"])
    assert [record.epochs[1].loss for record in Store(tmp_path).history(first["name"])] == [
        first["epochs"][1]["loss"],
        second["epochs"][1]["loss"],
    ]
    (event,) = Store(tmp_path).events(kind="begun again")
    assert event.run == first["name"]
    assert json.loads(output_of(capsys, *words, "--json")) == second
    changes = parse_overrides(SHORT)
    assert not fg.train(home=tmp_path, quiet=True, **changes).is_new
    assert fg.train(home=tmp_path, quiet=True, again=True, **changes).is_new


def test_a_stopped_run_is_not_resumed_with_other_code(edit, tmp_path, capsys, monkeypatch):
    words = ("train", *SHORT, "--home", str(tmp_path), "--quiet")
    whole = json.loads(output_of(capsys, "train", *SHORT, "--home", str(tmp_path / "whole"), "--quiet", "--json"))
    with monkeypatch.context() as patch:
        patch.setattr("fairground.commands.train.stop_flag", lambda: nullcontext(stop_after(2)))
        assert fairground(*words) == 130
    edit("2")
    for command in (words, ("resume", whole["name"], "--home", str(tmp_path), "--quiet")):
        assert "source of own_loss:OwnLoss was" in output_of(capsys, *command, code=2)
    edit("1")
    resumed = json.loads(output_of(capsys, *words, "--json"))
    assert (resumed["epochs"][1]["loss"], resumed["scores"]) == (whole["epochs"][1]["loss"], whole["scores"])


def test_a_run_made_again_and_killed_is_resumed(tmp_path, capsys):
    home = tmp_path / "home"
    words = ["train", *tiny_words("training.epochs=1"), "--home", str(home), "--quiet"]
    first = json.loads(output_of(capsys, *words, "--json"))
    code = (
        "import os, signal; from fairground.training import loop; from fairground.__main__ import main\n"
        "save = loop.Checkpoints.save\n"
        "def save_and_die(*given):\n    save(*given); os.kill(os.getpid(), signal.SIGKILL)\n"
        "loop.Checkpoints.save = save_and_die\nmain()"
    )
    killed = subprocess.run([sys.executable, "-c", code, *words, "--again"], timeout=PATIENCE, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert json.loads(output_of(capsys, "runs", "--home", str(home), "--json")) == {first["name"]: "unfinished"}
    again = json.loads(output_of(capsys, *words, "--json"))
    assert again["scores"] == first["scores"]
    assert len(Store(home).history(first["name"])) == 2


@pytest.fixture
def folder(tmp_path):
    return pictures.class_folders(tmp_path / "data", [f"class {number}" for number in range(8)], per_class=4)


def relabel(folder):
    shutil.move(folder / "class 0" / "0.png", folder / "class 1" / "moved.png")


def repaint(folder):
    path = folder / "class 2" / "0.png"
    data, times = bytearray(path.read_bytes()), path.stat()
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


@pytest.mark.parametrize("change", [lambda folder: shutil.rmtree(folder / "class 7"), relabel, repaint])
def test_changed_images_are_noticed(folder, tmp_path, capsys, change):
    words = ("train", *SMALL, "data=folder", f"data.root={json.dumps(str(folder))}", "--home", str(tmp_path), "--quiet")
    name = json.loads(output_of(capsys, *words, "--json"))["name"]
    shutil.copytree(folder, tmp_path / "copy")
    assert fairground(*words) == 0
    change(folder)
    assert "data fingerprint was" in output_of(capsys, *words, code=2)
    shutil.rmtree(folder)
    shutil.copytree(tmp_path / "copy", folder)
    assert json.loads(output_of(capsys, *words, "--json"))["name"] == name, "the same bytes with other times and inodes"


def test_a_changed_file_of_features_is_noticed(tmp_path, capsys):
    rng = np.random.default_rng(0)
    arrays = {"features": rng.normal(size=(60, 8)).astype(np.float32), "labels": np.repeat(np.arange(10), 6)}
    np.savez(tmp_path / "own.npz", **arrays)
    path = json.dumps(str(tmp_path / "own.npz"))
    size = ("training.epochs=1", "training.batch_size=8", "head.embedding_dim=4")
    words = ("train", "-p", "features", f"data.path={path}", *size, "--home", str(tmp_path), "--quiet")
    assert fairground(*words) == fairground(*words) == 0
    arrays["features"][30, 4] += 1
    np.savez(tmp_path / "own.npz", **arrays)
    assert "data fingerprint was" in output_of(capsys, *words, code=2)


def test_runs_are_removed_whole_and_not_while_they_are_trained(tmp_path, capsys):
    words = ("train", *tiny_words("training.epochs=0"), "--home", str(tmp_path), "--quiet")
    name = json.loads(output_of(capsys, *words, "--json"))["name"]
    with locked(RunFolder(tmp_path, name)):
        assert "is being worked on" in output_of(capsys, "runs", "remove", name, "--home", str(tmp_path), code=1)
    assert "no run 'zzz'" in output_of(capsys, "runs", "remove", "zzz", "--home", str(tmp_path), code=2)
    assert output_of(capsys, "runs", "remove", name[:6], "--home", str(tmp_path)) == f"removed run {name}\n"
    assert not RunFolder(tmp_path, name).path.exists()
    assert json.loads(output_of(capsys, "runs", "--home", str(tmp_path), "--json")) == {}
    assert json.loads(output_of(capsys, *words, "--json"))["name"] == name


def test_evaluate_says_what_contradicts_the_record(folder, tmp_path, capsys):
    words = ("train", *SMALL, "data=folder", f"data.root={json.dumps(str(folder))}", "--home", str(tmp_path), "--quiet")
    name = json.loads(output_of(capsys, *words, "--json"))["name"]
    measure = ("evaluate", name, "--split", "test", "--home", str(tmp_path), "--quiet")
    assert fairground(*measure) == 0
    assert "contradict" not in capsys.readouterr().err
    path = RunFolder(tmp_path, name).record
    forged = read_with_digest(path)
    for score in forged["scores"]:
        score["value"] = 0.99 if score["metric"] == "recall@1" else score["value"]
    write_with_digest(path, forged)
    assert fairground(*measure) == 0
    told = capsys.readouterr().err
    assert f"the scores of run {name} on test contradict its record: recall@1 " in told
    assert "instead of 0.99" in told
    (event,) = Store(tmp_path).events(kind="disagreement")
    assert "recall@1" in event.detail
    relabel(folder)
    assert fairground(*measure) == 0
    told = capsys.readouterr().err
    assert f"run {name} was made with other content: data fingerprint was" in told
    assert "contradict" not in told
    forged["scores"][-1]["value"] = 2.5
    write_with_digest(path, forged)
    assert "cannot be 2.5; the record is left out" in output_of(capsys, "compare", "--home", str(tmp_path), code=2)


def test_a_study_does_not_mix_contents(edit, tmp_path, capsys):
    (tmp_path / "own.toml").write_text(STUDY.replace('["loss=contrastive"]', '["loss=own_loss:OwnLoss"]'))
    options = ("--home", str(tmp_path), "--executor", "inline", "--quiet")
    words = ("study", str(tmp_path / "own.toml"), *options)
    assert fairground(*words) == 0
    first = {record.name: record for record in Store(tmp_path).records()}
    edit("2")
    assert "study own was begun with other content: source of own_loss:OwnLoss was" in output_of(capsys, *words, code=2)
    assert fairground(*words, "--again") == 0
    second = {record.name: record for record in Store(tmp_path).records()}
    remade = {name for name in first if len(Store(tmp_path).history(name)) == 2}
    assert remade == {name for name, record in first.items() if record.spec["loss"]["name"] == "own_loss:OwnLoss"}
    joined = [record for record in second.values() if "ensemble" in record.spec]
    assert len({record.content.get("source of own_loss:OwnLoss") for record in joined}) == 2, "none and the new one"
    assert len(list(tmp_path.glob("studies/*/history/*/trials.jsonl"))) == 1
    assert fairground(*words) == 0
    # A run of it that was made with other code elsewhere is refused by itself.
    one = next(record for name, record in first.items() if name in remade and not record.is_trial)
    shutil.rmtree(RunFolder(tmp_path, one.name).path)
    Store(tmp_path).append(one)
    assert f"run {one.name} was made with other content" in output_of(capsys, *words, code=2)
    assert "content: source of own_loss:OwnLoss" in output_of(capsys, "compare", "--home", str(tmp_path), code=2)
