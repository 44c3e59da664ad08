"""A run trained in pieces: each pause leaves a record, no pause moves a digit, and none opens the test split."""

from pathlib import Path

import numpy as np
import pytest

from fairground.records.run_folder import RunFolder
from fairground.spec.identity import name_of
from fairground.spec.load import load_run
from fairground.training.run import run
from tests.training.tiny import tiny


def test_a_run_in_three_pieces_has_the_digits_of_a_whole_one(tmp_path: Path) -> None:
    spec = tiny("training.epochs=2")
    whole = run(spec, home=tmp_path / "whole")
    pieces = [run(spec, home=tmp_path / "pieces", until=until) for until in (0, 1, 2)]
    assert [len(piece.epochs) for piece in pieces] == [1, 2, 3]
    assert {piece.state for piece in pieces} == {"pruned"}
    assert run(spec, home=tmp_path / "pieces").digits() == whole.digits()


def test_a_pause_after_the_last_epoch_leaves_the_test_split_sealed(tmp_path: Path) -> None:
    opened: list[str] = []
    spec = tiny("training.epochs=1")
    paused = run(spec, home=tmp_path, until=1, witness=opened.append)
    assert opened == []
    assert paused.failure == "paused after epoch 1 of 1, test split sealed"
    assert paused.score("map@r", "test") is None
    assert paused.score("map@r", "validation") == paused.epochs[1].validation["map@r"]
    assert not RunFolder(tmp_path, paused.name).embeddings.exists()
    done = run(spec, home=tmp_path, witness=opened.append)
    assert len(opened) == 1
    assert done.score("map@r", "validation") == paused.score("map@r", "validation")


def test_an_untrained_run_is_a_run_whose_record_says_so(tmp_path: Path) -> None:
    record = run(tiny("training.epochs=0"), home=tmp_path)
    assert record.state == "done"
    assert record.best_epoch == 0
    assert record.score("map@r", "validation") == pytest.approx(record.epochs[0].validation["map@r"])
    assert "untrained: measured with the weights it starts with" in record.notes


def test_features_without_weights_are_measured_in_two_pieces_too(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).normal(size=(64, 5)).astype(np.float32)
    np.savez(tmp_path / "made.npz", features=rows, labels=np.arange(64) // 4)
    words = ["data=features", f"data.path={tmp_path / 'made.npz'}", "trunk=features", "transform=plain"]
    words += ["head=identity", "training.batch_size=8", "sampler.per_class=2", "training.epochs=0"]
    spec = load_run(overrides=words)
    assert run(spec, home=tmp_path, until=0).state == "pruned"
    assert run(spec, home=tmp_path).state == "done"


def test_what_a_killed_writer_left_is_swept_when_the_run_is_taken_up(tmp_path: Path) -> None:
    spec = tiny("training.epochs=1")
    assert run(spec, home=tmp_path, until=0).state == "pruned"
    folder = RunFolder(tmp_path, name_of(spec))
    left = [folder.path / ".record.json.99-ab.tmp", folder.checkpoints / ".step-0.json.98-cd.tmp"]
    for path in left:
        path.write_bytes(b"half a file")
    assert run(spec, home=tmp_path).state == "done"
    assert not any(path.exists() for path in left)
