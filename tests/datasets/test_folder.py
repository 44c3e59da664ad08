from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from fairground.datasets import FolderDataset
from fairground.errors import DataError
from tests.datasets.pictures import class_folders, picture


def load(root):
    return FolderDataset(root=str(root)).load()


def test_class_folders_in_order_of_name_with_folders_inside(tmp_path):
    class_folders(tmp_path, ["b", "a"], per_class=2)
    picture(tmp_path / "a" / "more" / "deep.JPG")
    table = load(tmp_path)
    assert table.class_names == ("a", "b")
    assert table.identifiers == ("a/0.png", "a/1.png", "a/more/deep.JPG", "b/0.png", "b/1.png")
    assert table.labels.tolist() == [0, 0, 0, 1, 1]
    assert table.official_test is None
    assert table.listed_parts is None
    assert table.notes == ()


def test_parts_are_listed_by_their_folders(tmp_path):
    class_folders(tmp_path / "train", ["a", "b"])
    class_folders(tmp_path / "val", ["c"])
    class_folders(tmp_path / "Test", ["d", "a"])
    (tmp_path / "docs").mkdir()
    table = load(tmp_path)
    assert table.class_names == ("a", "b", "c", "d")
    parts = dict(zip(table.identifiers, table.listed_parts.tolist(), strict=True))
    assert parts["train/a/0.png"] == "train"
    assert parts["val/c/0.png"] == "validation"
    assert parts["Test/a/0.png"] == "test"
    assert table.official_test.sum() == 6
    assert any("left out 1 folders beside train and test; the first is 'docs'" in note for note in table.notes)


def test_a_class_called_train_is_a_class_where_nothing_is_held_out(tmp_path):
    class_folders(tmp_path, ["train", "bus"])
    assert load(tmp_path).class_names == ("bus", "train")


def test_what_is_left_out_is_noted(tmp_path):
    class_folders(tmp_path, ["a", "b"])
    (tmp_path / "a" / "readme.txt").write_text("hello")
    (tmp_path / "loose.png").write_bytes(b"")
    (tmp_path / "empty").mkdir()
    for hidden in (tmp_path / ".hidden.png", tmp_path / "a" / "._1.png"):
        hidden.write_bytes(b"")
    picture(tmp_path / ".thumbnails" / "0.png")
    table = load(tmp_path)
    assert len(table.labels) == 6
    files, folders = table.notes
    assert files == "data: left out 'a/readme.txt' and 1 more: not an image by name, or not in a class folder"
    assert folders == "data: left out 'empty': no image in it"


def test_links_are_followed_once(tmp_path):
    class_folders(tmp_path / "data", ["a", "c"], per_class=2)
    class_folders(tmp_path / "elsewhere", ["b"], per_class=2)
    (tmp_path / "data" / "b").symlink_to(tmp_path / "elsewhere" / "b")
    assert load(tmp_path / "data").identifiers == ("a/0.png", "a/1.png", "b/0.png", "b/1.png", "c/0.png", "c/1.png")
    link = tmp_path / "data" / "a" / "link"
    for target, sentence in (
        (tmp_path / "data", r"a/link' leads to a folder that this one is in, .*: remove the link"),
        (Path("/"), "a/link' leads to a folder that this one is in"),
        (tmp_path / "data" / "a", "a/link' leads to 'a', which is read anyway, so that its images would count twice"),
        (tmp_path / "elsewhere" / "b", "data/b' leads to 'a/link', which is read anyway"),
        (tmp_path / "data" / "c", "data/c' leads to 'a/link', which is read anyway"),
    ):
        link.symlink_to(target)
        with pytest.raises(DataError, match=sentence):
            load(tmp_path / "data")
        link.unlink()


def test_links_in_circles_end_in_a_sentence(tmp_path):
    names = [f"class {number:02}" for number in range(12)]
    class_folders(tmp_path, names, per_class=1)
    for name in names:
        for other in names:
            if other != name:
                (tmp_path / name / other).symlink_to(tmp_path / other)
    with pytest.raises(DataError, match="which is read anyway"):
        load(tmp_path)


def test_folders_without_class_folders_are_refused(tmp_path):
    with pytest.raises(DataError, match=r"no images in class folders below .*one folder of images for each class"):
        load(tmp_path)
    picture(tmp_path / "loose.png")
    with pytest.raises(DataError, match="no images in class folders below"):
        load(tmp_path)
    with pytest.raises(DataError, match=r"folder.root: there is no folder"):
        load(tmp_path / "nowhere")
    with pytest.raises(DataError, match=r"folder.root must be the folder of the data"):
        FolderDataset(root="").load()


def test_jpegs_may_be_shrunk_while_they_are_decoded(tmp_path):
    for i in range(2):
        pixels = np.random.default_rng(i).integers(0, 256, (8, 10, 3), np.uint8)
        (tmp_path / "a").mkdir(exist_ok=True)
        Image.fromarray(pixels).resize((400, 320)).save(tmp_path / "a" / f"{i}.jpg")
    rows, boxes = np.arange(2), np.array([[0, 0, 40, 32]] * 2)
    plain, shrunk = (
        FolderDataset(root=str(tmp_path), draft=draft).load().images.crops(rows, boxes, 32, shorter_side=32)
        for draft in (False, True)
    )
    difference = (plain.float() - shrunk.float()).abs()
    assert 0 < difference.mean() < 4
