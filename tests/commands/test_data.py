import json

import numpy as np
import pytest
from typer.testing import CliRunner

from fairground.commands.main import app
from fairground.errors import DataError, InputError
from tests.datasets.pictures import class_folders, cub200


def call(*words):
    return CliRunner().invoke(app, ["data", "check", *map(str, words)])


def test_a_clean_folder_ends_with_zero_and_a_table(tmp_path):
    done = call(class_folders(tmp_path / "parrots", ["a b", "🦜"]))
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert lines[0] == "parrots (folder): 6 images of 2 classes"
    assert "  exact duplicates: 0 images, 0 of them across parts, 0 across classes" in lines
    assert "  images per class: 3 to 3, median 3; largest/smallest 1, Gini 0.00" in lines
    assert any("at most 16 of 256" in line for line in lines)


def test_shared_classes_end_with_one_and_a_loud_sentence(tmp_path):
    class_folders(tmp_path / "train", ["a", "b"])
    class_folders(tmp_path / "test", ["a"])
    done = call(tmp_path)
    assert done.exit_code == 1
    assert "TRAIN AND TEST SHARE 1 CLASSES" in done.stderr
    assert "classes shared by train and test: 1, first 'a'" in done.stdout
    found = json.loads(call(tmp_path, "--json").stdout)
    assert found["shared_classes"] == {"train, test": ["a"]}
    assert (found["n_images"], len(found["failures"])) == (9, 1)


def test_a_named_data_set_with_settings_and_a_split(tmp_path):
    cub200(tmp_path, numbers=(1, 2, 3, 4, 101, 102, 103, 104))
    done = call(tmp_path, "data.subset=true", "split=mlrc_folds", "split.fold=1", "-d", "cub200")
    assert done.exit_code == 0
    assert "cub200: 24 images of 8 classes" in done.stdout
    assert "validation         3 images      1 classes" in done.stdout
    assert "note: data: a subset of CUB-200-2011" in done.stdout


def test_kinds_are_guessed_from_the_path(tmp_path):
    import pyarrow
    from pyarrow import parquet

    class_folders(tmp_path, ["a"])
    (tmp_path / "t.csv").write_text("path,label\na/0.png,a\n")
    np.savez(tmp_path / "f.npz", features=np.eye(3), labels=[0, 1, 2])
    parquet.write_table(pyarrow.table({"path": ["a/0.png"], "label": ["a"]}), tmp_path / "t.parquet")
    parquet.write_table(pyarrow.table({"features": [[1.0]], "label": ["a"]}), tmp_path / "f.parquet")
    for name, kind in (("t.csv", "table"), ("f.npz", "features"), ("t.parquet", "table"), ("f.parquet", "features")):
        assert call(tmp_path / name).stdout.startswith(f"{name[0]} ({kind}): ")
    assert "f (features): 3 items of 3 classes" in call(tmp_path / "f.npz").stdout


def test_a_data_set_without_a_path(tmp_path):
    done = call("data.n_classes=4", "data.per_class=2", "-d", "synthetic")
    assert done.exit_code == 0
    assert done.stdout.startswith("synthetic: 8 images of 4 classes")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "name what to check: a folder, a table, a file, or --dataset icons"),
        (["nowhere"], "there is nothing at 'nowhere'"),
        (["nowhere", "-d", "cub20"], "no dataset 'cub20'. Did you mean 'cub200'"),
        (["nowhere", "-d", "synthetic"], "data set synthetic is not read from a path; leave out 'nowhere'"),
        (["nowhere", "-d", "sop"], r"there is no folder 'nowhere'. Stanford Online Products is on the page"),
        (["pyproject.toml"], "is not a folder or a CSV, Parquet, .npz or .npy file"),
    ],
)
def test_mistakes_are_sentences(words, sentence):
    done = call(*words)
    assert isinstance(done.exception, InputError | DataError)
    assert done.exception.exit_code == 2
    assert sentence in str(done.exception)
