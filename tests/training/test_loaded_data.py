"""Runs of one process share what it has loaded, for as long as loading would give the same."""

import os
from pathlib import Path

import numpy as np
import pytest

from fairground.spec.run import ComponentSpec
from fairground.training.build import load_table


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
