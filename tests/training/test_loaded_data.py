"""Runs of one process share what it has loaded, for as long as loading would give the same."""

import os
from pathlib import Path

import numpy as np
import pytest

from fairground.datasets.features import FeaturesDataset
from fairground.spec.run import ComponentSpec
from fairground.training.build import load_table
from tests.loading.pictures import photo


def features_file(path: Path, shift: float = 0.0) -> ComponentSpec:
    rows = np.arange(24.0).reshape(12, 2) + shift
    np.savez(path, features=rows.astype(np.float16), labels=np.repeat(np.arange(4), 3))
    return ComponentSpec(name="features", settings={"path": str(path), "labels": ""})


def test_a_file_is_loaded_once_until_it_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    part = features_file(tmp_path / "f.npz")
    first = load_table(part)
    again = load_table(part)
    assert again.table is first.table
    features_file(tmp_path / "f.npz", shift=1.0)
    os.utime(tmp_path / "f.npz", ns=(1, 1))
    changed = load_table(part)
    assert changed.table is not first.table
    assert changed.fingerprint != first.fingerprint


def test_other_settings_are_another_table() -> None:
    def part(seed: int) -> ComponentSpec:
        return ComponentSpec(name="synthetic", settings={"n_classes": 4, "per_class": 2, "size": 8, "seed": seed})

    assert load_table(part(0)).table is load_table(part(0)).table
    assert load_table(part(1)).fingerprint != load_table(part(0)).fingerprint


def test_a_folder_is_read_anew_each_time(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        for number in range(2):
            photo(20, 20, seed=number).save(tmp_path / name / f"{number}.png")
    part = ComponentSpec(name="folder", settings={"root": str(tmp_path)})
    assert load_table(part).table is not load_table(part).table


def test_a_file_that_is_not_there_has_no_version(tmp_path: Path) -> None:
    assert FeaturesDataset(path=str(tmp_path / "none.npz")).version() is None


@pytest.mark.parametrize("kind", ["f2", "f4", "f8", "u1", "i4", ">f2"])
def test_features_of_any_type_are_given_as_the_same_floats(kind: str, tmp_path: Path) -> None:
    numbers = np.array([[0, 1, 100], [7, 3, 2]], dtype=kind)
    np.savez(tmp_path / "f.npz", features=numbers, labels=np.array([0, 1]))
    images = FeaturesDataset(path=str(tmp_path / "f.npz")).load().images
    assert images.take(np.array([1, 0])).tolist() == [[7, 3, 2], [0, 1, 100]]
