"""`fairground weights`: the list, the check of a file, and the conversion, in sentences and as JSON."""

import hashlib
import json

import pytest
import safetensors.torch
import torch
from typer.testing import CliRunner

from fairground.commands.main import app
from fairground.contracts.trunk_head_transform import PublishedWeights
from fairground.trunks.small_conv import SmallConvTrunk

runner = CliRunner()


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(torch.hub, "get_dir", lambda: str(tmp_path / "hub"))
    (tmp_path / "hub" / "checkpoints").mkdir(parents=True)
    return tmp_path / "hub" / "checkpoints"


def run(*words: str, code: int = 0) -> str:
    found = runner.invoke(app, ["weights", *words], catch_exceptions=False)
    assert found.exit_code == code, found.output
    return found.output


def test_the_list_says_from_where_which_hash_and_whether_it_is_here(folder):
    said = run()
    assert "resnet50: resnet50-0676ba61.pth  not here" in said
    assert "  SHA-256 begins with 19c8e357" in said
    assert "  from https://download.pytorch.org/models/resnet50-0676ba61.pth" in said
    assert said.endswith(f"folder: {folder}\n")
    (folder / "resnet50-0676ba61.pth").write_bytes(b"anything")
    listed = json.loads(run("--json"))["weights"]
    here = {one["file"]: one["path"] for one in listed if one["trunk"] == "resnet50"}
    assert here["resnet50-0676ba61.pth"] == str(folder / "resnet50-0676ba61.pth")
    assert {one["trunk"] for one in listed} >= {"googlenet", "bn_inception", "resnet50_original", "efficientnet_lite0"}


def test_a_file_that_is_not_what_its_name_says_ends_with_2(tmp_path):
    file = tmp_path / "resnet50-0676ba61.pth"
    file.write_bytes(b"anything")
    said = run("check", str(file), code=2)
    assert "is not the resnet50-0676ba61.pth it is named after" in said
    assert hashlib.sha256(b"anything").hexdigest() in said


def test_a_published_file_is_known_by_its_hash_whatever_its_name(tmp_path, monkeypatch):
    file = tmp_path / "mine.pth"
    file.write_bytes(b"weights")
    entry = PublishedWeights(file="small.pth", sha256=hashlib.sha256(b"weights").hexdigest(), address="a place")
    monkeypatch.setattr(SmallConvTrunk, "published", (entry,))
    found = json.loads(run("check", str(file), "--json"))
    assert (found["published"], found["trunks"], found["is_right"]) == ("small.pth", ["small_conv"], True)


def test_a_file_that_fits_nothing_says_so(tmp_path):
    file = tmp_path / "mine.safetensors"
    safetensors.torch.save_file({"a": torch.zeros(2)}, file)
    assert "mine.safetensors is not a published file, and fits no trunk" in run("check", str(file), code=2)


def test_a_pickle_that_no_publisher_vouches_for_is_not_opened(tmp_path, monkeypatch):
    file = tmp_path / "mine.pth"
    torch.save({"a": torch.zeros(2)}, file)
    monkeypatch.setattr(torch, "load", None)
    assert "not opened: a pickle could run code" in run("check", str(file), code=2)
