"""Frozen features of a miniature set: what is written, what goes on after a kill, and the row of frozen scores."""

import json

import features
import frozen
import fruits360
import layout
import numpy as np
import pytest
import torch
from rich.console import Console

from fairground.datasets.features import FeaturesDataset
from fairground.evaluation import evaluate
from fairground.trunks.efficientnet_lite0 import EfficientnetLite0Trunk
from tests.results.miniature import described, repository

QUIET = Console(quiet=True)


@pytest.fixture(scope="module")
def trunk():
    return EfficientnetLite0Trunk(channels=3)


@pytest.fixture
def data(tmp_path):
    copy = repository("fruits360", tmp_path / "copy")
    expected = described(fruits360.SET, fruits360.pictures(copy), copy)
    layout.lay_out(expected, fruits360.pictures, copy, tmp_path / "data", console=QUIET)
    return tmp_path / "data"


def row_numbers(monkeypatch, *, stops_at=None):
    """Stand in for the network: a row's features are its number. Return the rows that were computed."""
    computed: list[int] = []

    def blocks(trunk, images, rows, transform):
        for begin in range(0, len(rows), 2):
            block = rows[begin : begin + 2]
            if stops_at is not None and block[0] >= stops_at:
                raise KeyboardInterrupt
            computed.extend(block.tolist())
            yield torch.from_numpy(np.repeat(block[:, None], trunk.n_features, axis=1)).float()

    monkeypatch.setattr(features, "embed_blocks", blocks)
    monkeypatch.setattr(features, "NOTE_SECONDS", 0.0)
    return computed


def test_features_are_written_as_fairground_reads_them(data, tmp_path, trunk):
    file = features.write_features(data, tmp_path / "features", trunk=trunk, console=QUIET)
    assert sorted(path.name for path in file.parent.iterdir()) == ["fruits360.json", "fruits360.npz"]
    with np.load(file) as arrays:
        assert arrays["features"].dtype == np.float16
        assert arrays["features"].shape == (14, 1280)
    table = FeaturesDataset(path=str(file)).load()
    assert table.class_names == ("Apple Red 1", "Blackberry 3", "Pear 2", "Pear 3")
    assert table.official_test.sum() + np.sum(table.listed_parts == "train") == 14
    assert len(np.unique(table.groups)) == 6
    known = json.loads(file.with_suffix(".json").read_text())
    assert known["recipe"]["data_sha256"] == known["set"]["sha256"]
    assert known["recipe"]["weights_sha256"] == trunk.weights_fingerprint


def test_a_kill_loses_nothing_and_changes_no_byte(data, tmp_path, trunk, monkeypatch):
    row_numbers(monkeypatch)
    in_one_go = features.write_features(data, tmp_path / "a", trunk=trunk, console=QUIET)
    first = row_numbers(monkeypatch, stops_at=6)
    with pytest.raises(KeyboardInterrupt):
        features.write_features(data, tmp_path / "b", trunk=trunk, console=QUIET)
    second = row_numbers(monkeypatch)
    resumed = features.write_features(data, tmp_path / "b", trunk=trunk, console=QUIET)
    assert first == list(range(6))
    assert second == list(range(6, 14))
    assert in_one_go.read_bytes() == resumed.read_bytes()
    assert len(list(resumed.parent.iterdir())) == 2


def test_the_frozen_row_is_that_of_the_test_half(data, tmp_path, trunk):
    file = features.write_features(data, tmp_path / "features", trunk=trunk, console=QUIET)
    table = FeaturesDataset(path=str(file)).load()
    rows = np.flatnonzero(table.official_test)
    scores = evaluate(table.images.take(rows), table.labels[rows], ["recall@1", "map@r"], groups=table.groups[rows])
    made = frozen.row(file.with_suffix(".json"), dims=(2,))
    assert made[0] == "Fruits-360"
    assert made[3] == "15 categories"
    assert made[4:6] == [f"{100 * score:.1f}" for score in scores.values()]
    assert len(made) == 8
