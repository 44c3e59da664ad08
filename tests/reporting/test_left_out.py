"""Garbage among the files of runs: the page is made without them, and says so."""

import warnings

import numpy as np
import pytest

from fairground.errors import DamageWarning
from fairground.records.arrays import write_arrays
from fairground.records.run_folder import RunFolder
from fairground.reporting.page import page_text
from fairground.reporting.run_set import RunSet
from tests.records.factory import make_record


@pytest.fixture
def records(tmp_path):
    runs = [make_record(loss=loss, seed=seed) for loss in ("triplet", "margin") for seed in range(2)]
    rng = np.random.default_rng(0)
    for run in runs:
        folder = RunFolder(tmp_path, run.name).make()
        arrays = {"embeddings": rng.normal(size=(20, 4)).astype(np.float32), "labels": np.arange(20) % 4}
        write_arrays(folder.embeddings, {**arrays, "rows": np.arange(20)})
    return runs


@pytest.mark.parametrize("file", ["embeddings.npz", "gallery.npz", "analyses.npz"])
def test_a_garbage_file_is_left_out_and_said(records, tmp_path, file):
    for run in records:
        (RunFolder(tmp_path, run.name).path / file).write_bytes(b"PK\x03\x04garbage")
    with pytest.warns(DamageWarning, match=f"Left out: .*{file}"):
        page = page_text(RunSet.in_home(records, tmp_path, title="x"))
    assert '<h2 id="left-out-title">Left out</h2>' in page
    assert f"{records[0].name}/{file}" in page


def test_a_sound_page_says_nothing_of_it(records, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error", DamageWarning)
        page = page_text(RunSet.in_home(records, tmp_path, title="x"))
    assert "Left out" not in page
