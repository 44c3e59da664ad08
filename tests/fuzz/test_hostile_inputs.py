"""Inputs that were seen to hang, to fill the memory or to end in a traceback: each is a sentence now."""

import json
import os
from hashlib import sha256

import numpy as np
import pytest
import safetensors.numpy
from PIL import Image

from fairground.datasets.features import FeaturesDataset
from fairground.datasets.table import TableDataset
from fairground.deploy.inputs import read_inputs
from fairground.deploy.model_folder import read_model, write_model
from fairground.errors import FairgroundError
from fairground.evaluation.score import score_file
from fairground.reporting.values_file import read_values
from fairground.samplers.fixed_tuples import _read as read_tuples
from fairground.spec.load import load_run
from fairground.spec.study_load import load_study
from tests.commands.test_commands import fairground
from tests.deploy.conftest import model, trained  # noqa: F401 - fixtures
from tests.patience import PATIENCE

READERS = {
    "run.toml": lambda path: load_run(file=path),
    "study.toml": lambda path: load_study(str(path)),
    "a.npz": lambda path: FeaturesDataset(path=str(path)).load(),
    "b.npz": score_file,
    "c.npz": read_inputs,
    "d.npz": read_tuples,
    "d.csv": read_tuples,
    "a.npy": lambda path: FeaturesDataset(path=str(path), labels=str(path)).load(),
    "b.npy": read_inputs,
    "a.csv": lambda path: TableDataset(path=str(path)).load(),
    "b.csv": read_values,
    "a.parquet": lambda path: FeaturesDataset(path=str(path)).load(),
    "b.parquet": lambda path: TableDataset(path=str(path)).load(),
    "a.png": read_inputs,
}


@pytest.mark.timeout(PATIENCE)
@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "nothing"])
def test_what_is_no_regular_file_is_refused_at_once(name, kind, tmp_path):
    path = tmp_path / name
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "folder":
        path.mkdir()
    with pytest.raises(FairgroundError):
        # An image is read when it is asked for.
        READERS[name](path).images.fingerprint()


@pytest.mark.timeout(PATIENCE)
def test_a_pipe_among_images_and_in_a_model_folder_is_refused_at_once(model, tmp_path):  # noqa: F811
    (tmp_path / "set").mkdir()
    Image.new("L", (32, 32)).save(tmp_path / "set" / "a.png")
    os.mkfifo(tmp_path / "set" / "b.png")
    with pytest.raises(FairgroundError, match=r"b\.png' cannot be read: it is a pipe"):
        read_inputs(tmp_path / "set").images.fingerprint()
    for file in ("weights.safetensors", "model.json"):
        write_model(model, tmp_path / file)
        (tmp_path / file / file).unlink()
        os.mkfifo(tmp_path / file / file)
        with pytest.raises(FairgroundError, match="is a pipe"):
            read_model(tmp_path / file)


def test_a_transform_of_no_numbers_is_refused_before_an_image_is_read(model, tmp_path):  # noqa: F811
    write_model(model, tmp_path / "model")
    facts = json.loads((tmp_path / "model" / "model.json").read_text())
    for setting in ("mean", "deviation"):
        for value in ({"": {}}, "x", None, [1]):
            changed = {**facts, "transform": {**facts["transform"], setting: value}}
            (tmp_path / "model" / "model.json").write_text(json.dumps(changed))
            with pytest.raises(FairgroundError):
                read_model(tmp_path / "model")


def test_malformed_weights_with_a_right_checksum_are_a_sentence(model, tmp_path):  # noqa: F811
    write_model(model, tmp_path / "model")
    facts = json.loads((tmp_path / "model" / "model.json").read_text())
    other = safetensors.numpy.save({"x": np.zeros(3, np.float32)})
    for data in (b"", b"\xff" * 8, b"\x08" + b"\0" * 7 + b"[[[[[[[[", other[:-1], other, (2**60).to_bytes(8, "little")):
        (tmp_path / "model" / "weights.safetensors").write_bytes(data)
        (tmp_path / "model" / "model.json").write_text(
            json.dumps({**facts, "weights_sha256": sha256(data).hexdigest()})
        )
        with pytest.raises(FairgroundError):
            read_model(tmp_path / "model")


def test_a_path_that_cannot_be_one_is_a_sentence(tmp_path):
    (tmp_path / "t.csv").write_text("path,label\na\0b.png,x\n" + "y" * 5000 + ".png,x\n")
    table = TableDataset(path=str(tmp_path / "t.csv"))
    with pytest.raises(FairgroundError):
        table.load().images.fingerprint()


def test_an_array_that_claims_more_than_is_there_takes_no_memory(tmp_path):
    np.savez_compressed(
        tmp_path / "bomb.npz", embeddings=np.zeros((40_000, 2500), np.float32), labels=np.arange(40_000)
    )
    assert (tmp_path / "bomb.npz").stat().st_size < 1_000_000
    with pytest.raises(FairgroundError, match="too much to be believed"):
        FeaturesDataset(path=str(tmp_path / "bomb.npz")).load()
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (4000000000, 1000), }".ljust(117) + "\n"
    claim = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + b"\0" * 64
    (tmp_path / "claim.npy").write_bytes(claim)
    with pytest.raises(FairgroundError, match="is truncated"):
        read_inputs(tmp_path / "claim.npy")


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("studies/abcdef123456/study.json", ("study", "status", "abcdef")),
        ("studies/abcdef123456/study.json", ("study", "list")),
        ("runs/abcdef123456/spec.json", ("resume", "abcdef")),
        ("runs/abcdef123456/spec.json", ("evaluate", "abcdef")),
        ("runs/abcdef123456/spec.json", ("train", "--like", "abcdef")),
    ],
)
@pytest.mark.parametrize("text", ["garbage", "[" * 100_000, "{}", '{"loss": 3}'])
def test_garbage_in_a_home_is_a_sentence(file, words, text, tmp_path, capsys):
    path = tmp_path / "home" / file
    path.parent.mkdir(parents=True)
    path.write_text(text)
    # A traceback would pass through `fairground` as the exception that it is.
    # A list goes on without what it cannot read.
    assert fairground(*words, "--home", str(tmp_path / "home")) in ((0,) if words[-1] == "list" else (1, 2))
    assert capsys.readouterr().err.startswith("fairground: ")
