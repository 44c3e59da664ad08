"""CUB-200-2011, Cars196, Stanford Online Products and In-Shop Clothes, a few tiny files in each official layout."""

import numpy as np
import pytest

from fairground.datasets import Cars196Dataset, Cub200Dataset, InShopDataset, SopDataset
from fairground.errors import DataError, InputError
from fairground.loading.image_dataset import Counts, OfficialDataset, photo_table
from tests.datasets import pictures

ALL = [
    ("cub200", Cub200Dataset, pictures.cub200),
    ("cars196", Cars196Dataset, pictures.cars196),
    ("sop", SopDataset, pictures.sop),
    ("in_shop", InShopDataset, pictures.in_shop),
]


@pytest.mark.parametrize("with_lists", [True, False])
@pytest.mark.parametrize("outer", [True, False])
def test_cub_by_lists_and_by_folders_says_the_same(tmp_path, with_lists, outer):
    home = tmp_path / "CUB_200_2011"
    pictures.cub200(home, with_lists=with_lists)
    table = Cub200Dataset(root=str(tmp_path if outer else home), subset=True).load()
    assert table.class_names[0] == "001.Bird_1"
    assert len(table.class_names) == 6
    assert table.labels.tolist() == np.repeat(np.arange(6), 3).tolist()
    assert table.official_test.tolist() == [False] * 9 + [True] * 9
    assert table.identifiers[0] == "001.Bird_1/0.png"
    assert table.images.take(np.array([0, 17])).shape == (2, 3, 16, 20)
    (note,) = table.notes
    assert note.startswith("data: a subset of CUB-200-2011: 3 + 3 classes with 9 + 9 images (train + test), instead")


def test_cub_folders_without_numbers_are_another_data_set(tmp_path):
    pictures.class_folders(tmp_path / "images", ["wren", "owl"])
    with pytest.raises(DataError, match=r"begin with their number, like '001.Black_footed_Albatross'.*'owl'.*folder"):
        Cub200Dataset(root=str(tmp_path), subset=True).load()


def test_cars_by_annotations(tmp_path):
    table = Cars196Dataset(root=str(pictures.cars196(tmp_path)), subset=True).load()
    assert table.class_names == ("Car 1", "Car 50", "Car 98", "Car 99", "Car 150", "Car 196")
    assert table.official_test.tolist() == [False] * 9 + [True] * 9
    assert table.identifiers[0] == "car_ims/000001.jpg"


def test_cars_by_folders(tmp_path):
    names = ["AM General Hummer SUV 2000", "Acura RL Sedan 2012", "BMW X5 SUV 2007", "smart fortwo Convertible 2012"]
    pictures.class_folders(tmp_path / "images", names)
    table = Cars196Dataset(root=str(tmp_path), subset=True).load()
    # Capital letters first, as the official numbers have it.
    assert table.class_names == tuple(names)
    assert table.official_test.tolist() == [False] * 6 + [True] * 6


@pytest.mark.parametrize(("lists", "images"), [(".", "."), ("Info_Files", "images"), ("Info_Files", ".")])
def test_sop_in_both_layouts(tmp_path, lists, images):
    table = SopDataset(root=str(pictures.sop(tmp_path, lists=lists, images=images)), subset=True).load()
    assert table.class_names[:2] == ("chair 1", "bicycle 2")
    assert table.official_test.tolist() == [False] * 9 + [True] * 9
    assert table.super_labels.tolist() == np.repeat([1, 0, 1, 1, 0, 1], 3).tolist()
    assert table.images.take(np.array([0])).shape == (1, 3, 16, 20)


@pytest.mark.parametrize(("eval_folder", "images"), [("Eval", "Img"), (".", "."), ("Anno", ".")])
def test_in_shop_marks_queries_and_gallery(tmp_path, eval_folder, images):
    root = pictures.in_shop(tmp_path, eval_folder=eval_folder, images=images)
    table = InShopDataset(root=str(root), subset=True).load()
    assert len(table.class_names) == 9
    assert table.official_test.sum() == 9
    assert table.is_query.sum() == 3
    assert table.is_gallery.sum() == 6
    assert not (table.is_query & table.is_gallery).any()
    assert table.images.take(np.array([26])).shape == (1, 3, 16, 20)


@pytest.mark.parametrize(("name", "kind", "write"), ALL)
def test_a_copy_with_other_counts_is_refused_with_both_numbers(tmp_path, name, kind, write):
    sentence = "In-Shop Clothes has 14218 queries; this copy lists 3" if name == "in_shop" else "this copy has 3 [+] 3"
    with pytest.raises(DataError, match=sentence):
        kind(root=str(write(tmp_path))).load()


@pytest.mark.parametrize(("name", "kind", "write"), ALL)
def test_missing_images_are_named_or_left_out_of_a_subset(tmp_path, name, kind, write):
    write(tmp_path)
    dataset = kind(root=str(tmp_path), subset=True)
    photos = dataset.photos()
    for path in photos.images.paths[-4:]:
        path.unlink()
    table = dataset.load()
    assert len(table.labels) == len(photos.labels) - 4
    assert f"data: 4 of {len(photos.labels)} listed images are not there and were left out" in table.notes
    dataset.subset = False
    dataset.photos = lambda: photos
    with pytest.raises(DataError, match=rf"4 of {len(photos.labels)} images are not in .*: '.*' and 1 more"):
        dataset.load()


@pytest.mark.parametrize(("name", "kind", "write"), ALL)
def test_absent_data_is_said_where_to_get(tmp_path, name, kind, write):
    with pytest.raises(DataError, match=rf"{name}.root: there is no folder '.*nowhere'. .* (is|are) .*: "):
        kind(root=str(tmp_path / "nowhere")).load()
    with pytest.raises(DataError, match=rf"{name}.root: no .* in .*"):
        kind(root=str(tmp_path)).load()
    with pytest.raises(InputError, match=rf"{name}.prepared must be 0 .*; got 3"):
        kind(root=str(tmp_path), prepared=3)


def test_official_counts_add_up_to_the_published_totals():
    counts = [kind.official for _, kind, _ in ALL]
    assert [one.train_classes + one.test_classes for one in counts] == [200, 196, 22634, 7982]
    assert [one.train_images + one.test_images for one in counts] == [11788, 16185, 120053, 52712]


def test_the_right_counts_pass_without_a_note(tmp_path):
    is_test = np.array([False, True, True])
    table = photo_table(tmp_path, "abc", np.array([0, 1, 1]), class_names=("x", "y"), official_test=is_test)

    class TwoDataset(OfficialDataset):
        title, source, official = "Two", "", Counts(1, 1, 1, 2)

        def find(self, root):
            return table

    assert TwoDataset(root=str(tmp_path)).photos() is table
