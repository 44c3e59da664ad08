"""torchrun with one simulated device per process: photographs, which are read in threads, and averaged gradients."""

import json
from pathlib import Path

import pytest

from fairground.spec import load_run, parse_overrides
from fairground.training.run import run
from tests.datasets.pictures import class_folders
from tests.training.test_torchrun import torchrun


def test_two_processes_train_on_photographs_as_one_does(tmp_path: Path) -> None:
    root = class_folders(tmp_path / "photographs", [f"class{number}" for number in range(12)], per_class=4)
    words = ["data=folder", f"data.root={root}", "data.prepared=0", "transform=photographs", "transform.side=12"]
    words += ["transform.shorter_side=14", "transform.hue=0.1", "trunk.widths=[8, 16]", "head.embedding_dim=16"]
    words += ["training.batch_size=8", "sampler.per_class=2", "training.epochs=2", "training.batches_per_epoch=3"]
    words += ["loss=proxy_anchor", "optimiser.name=sgd"]
    home = ("--home", str(tmp_path / "two"))
    finished = torchrun("tests.devices.simulated_command", "train", "--json", *home, *words, "--device", "sim")
    assert finished.returncode == 0, finished.stderr
    told = json.loads(finished.stdout)
    assert (told["provenance"]["device"], told["provenance"]["peak_device_bytes"]) == ("sim", 3 * 2**20)
    wanted = run(load_run(overrides=parse_overrides(words)), home=tmp_path / "one")
    assert [row["loss"] for row in told["epochs"][1:]] == pytest.approx([row.loss for row in wanted.epochs[1:]])
    for row, one in zip(told["epochs"], wanted.epochs, strict=True):
        assert row["validation"] == pytest.approx(one.validation, rel=1e-4)
