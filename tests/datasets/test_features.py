import numpy as np
import pytest
import torch

from fairground.datasets import FeaturesDataset
from fairground.errors import DataError, InputError

FEATURES = np.arange(12, dtype=np.float16).reshape(4, 3)
LABELS = np.array([5, 5, 7, 9])


def archive(path, *, packed=False, **changes):
    arrays = {"features": FEATURES, "labels": LABELS} | changes
    save = np.savez_compressed if packed else np.savez
    save(path, **{name: array for name, array in arrays.items() if array is not None})
    return str(path)


@pytest.mark.parametrize("packed", [False, True])
def test_an_archive_gives_float32_rows_and_classes_in_order(tmp_path, packed):
    table = FeaturesDataset(path=archive(tmp_path / "f.npz", packed=packed)).load()
    assert table.class_names == ("5", "7", "9")
    assert table.labels.tolist() == [0, 0, 1, 2]
    assert not table.images.is_picture
    assert table.images.channels == 3
    taken = table.images.take(np.array([3, 0]))
    assert taken.dtype == torch.float32
    assert taken.tolist() == [[9.0, 10.0, 11.0], [0.0, 1.0, 2.0]]


def test_all_that_an_archive_may_say(tmp_path):
    path = archive(
        tmp_path / "f.npz",
        features=None,
        embeddings=FEATURES,
        labels=np.array([0, 0, 1, 2], np.int16),
        classes=np.array(["wren", "owl", "tern", "none of these"]),
        split=np.array(["train", "val", "test", ""]),
        groups=np.array(["b", "a", "a", "c"]),
        files=np.array(["0.jpg", "1.jpg", "2.jpg", "3.jpg"]),
        super_labels=np.array([["bird", "animal"], ["bird", "animal"], ["bird", "animal"], ["car", "thing"]]),
    )
    table = FeaturesDataset(path=path).load()
    assert table.levels().tolist() == [[0, 0, 0], [0, 0, 0], [1, 0, 0], [2, 1, 1]]
    assert table.class_names == ("wren", "owl", "tern", "none of these")
    assert table.listed_parts.tolist() == ["train", "validation", "test", ""]
    assert table.official_test.tolist() == [False, False, True, False]
    assert table.groups.tolist() == [1, 0, 0, 2]
    assert table.identifiers == ("0.jpg", "1.jpg", "2.jpg", "3.jpg")


def test_super_labels_of_another_kind_are_refused(tmp_path):
    with pytest.raises(DataError, match=r"super_labels must be whole numbers or text, \(n,\) or \(n, k\); .* float64"):
        FeaturesDataset(path=archive(tmp_path / "f.npz", super_labels=np.ones(4))).load()
    split = archive(tmp_path / "g.npz", super_labels=np.arange(4))
    with pytest.raises(DataError, match="1 classes of level 1 are in more than one class of level 2"):
        FeaturesDataset(path=split).load().levels()


def test_who_searches_whom_is_told_in_truth_values(tmp_path):
    sides = {"query": np.ones(4, bool), "gallery": np.array([True, True, False, False])}
    table = FeaturesDataset(path=archive(tmp_path / "f.npz", **sides)).load()
    assert table.is_query.all()
    assert table.is_gallery.tolist() == [True, True, False, False]
    with pytest.raises(DataError, match=r"gallery must be a truth value per row, \(n,\)"):
        FeaturesDataset(path=archive(tmp_path / "g.npz", query=np.ones(4, bool), gallery=np.ones(4))).load()
    with pytest.raises(DataError, match="is_query and is_gallery must be given together"):
        FeaturesDataset(path=archive(tmp_path / "h.npz", query=np.ones(4, bool))).load()


def test_a_pair_of_npy_files(tmp_path):
    np.save(tmp_path / "x.npy", FEATURES)
    np.save(tmp_path / "y.npy", np.array(["b", "b", "a", "c"]))
    table = FeaturesDataset(path=str(tmp_path / "x.npy"), labels=str(tmp_path / "y.npy")).load()
    assert table.class_names == ("a", "b", "c")
    assert table.labels.tolist() == [1, 1, 0, 2]
    assert isinstance(table.images._features, np.memmap)
    with pytest.raises(InputError, match=r"features.labels must be the .npy file of labels when features.path is"):
        FeaturesDataset(path=str(tmp_path / "x.npy"))


@pytest.mark.parametrize("is_fixed", [True, False])
def test_a_parquet_file_with_a_column_of_lists(tmp_path, is_fixed):
    import pyarrow
    from pyarrow import parquet

    kind = pyarrow.list_(pyarrow.float32(), 3) if is_fixed else pyarrow.list_(pyarrow.float32())
    columns = {
        "embeddings": pyarrow.array(FEATURES.astype(np.float32).tolist(), type=kind),
        "label": ["b", "b", "a", "c"],
        "split": ["train", "train", "train", "test"],
    }
    parquet.write_table(pyarrow.table(columns), tmp_path / "f.parquet")
    table = FeaturesDataset(path=str(tmp_path / "f.parquet")).load()
    assert table.images.take(np.arange(4)).tolist() == FEATURES.tolist()
    assert table.class_names == ("a", "b", "c")
    assert table.listed_parts.tolist() == ["train", "train", "train", "test"]


def test_lists_of_several_lengths_and_columns_of_numbers_are_refused(tmp_path):
    import pyarrow
    from pyarrow import parquet

    parquet.write_table(pyarrow.table({"features": [[1.0], [1.0, 2.0]], "label": [0, 1]}), tmp_path / "f.parquet")
    with pytest.raises(DataError, match=r"the lists of 'features' must be of one length; they have \[1\] to \[2\]"):
        FeaturesDataset(path=str(tmp_path / "f.parquet")).load()
    parquet.write_table(pyarrow.table({"features": [1.0, 2.0], "label": [0, 1]}), tmp_path / "g.parquet")
    with pytest.raises(DataError, match="'features' must be a column of lists"):
        FeaturesDataset(path=str(tmp_path / "g.parquet")).load()


def test_rows_that_are_not_finite_are_named(tmp_path):
    broken = FEATURES.astype(np.float64)
    broken[1, 0], broken[3, 2] = np.nan, np.inf
    sentence = r"2 of 4 rows are not finite numbers as float32: rows 1, 3 \(counted from 0\)"
    with pytest.raises(DataError, match=sentence):
        FeaturesDataset(path=archive(tmp_path / "f.npz", features=broken)).load()


def test_nothing_can_be_cut_from_features(tmp_path):
    images = FeaturesDataset(path=archive(tmp_path / "f.npz")).load().images
    for ask in (lambda: images.sizes(np.arange(2)), lambda: images.crops(np.arange(1), np.zeros((1, 4), int), 8)):
        with pytest.raises(DataError, match=r"features have no height and width.*transform=plain trunk=features"):
            ask()


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"features": None}, "must have one of features and embeddings; it has labels"),
        ({"embeddings": FEATURES}, "must have one of features and embeddings; it has features, labels, embeddings"),
        ({"labels": None}, "must have one of labels and label; it has features"),
        ({"labels": LABELS[:2]}, "has 4 rows of features but 2 labels"),
        ({"labels": LABELS.astype(float)}, "labels must be whole numbers or text"),
        ({"labels": LABELS[:, None]}, r"labels must be one per item, \(n,\)"),
        ({"labels": LABELS.astype(object)}, "holds Python objects"),
        ({"features": FEATURES[0]}, r"features must be one row per item, \(n, d\)"),
        ({"features": FEATURES.astype(str)}, "features must be numbers"),
        ({"features": FEATURES.astype(object)}, "holds Python objects"),
        ({"class_names": np.array(["a", "b"])}, "labels must be in 0..1, the 2 class names"),
        ({"split": np.array(["train", "tset", "", ""])}, "a split is train, validation or test, or empty; got 'tset'"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused(tmp_path, changes, sentence):
    with pytest.raises(DataError, match=sentence):
        FeaturesDataset(path=archive(tmp_path / "f.npz", **changes)).load()


def test_several_labels_per_row(tmp_path):
    words = np.array(["red|round", "round", " small | red", "small"])
    table = FeaturesDataset(path=archive(tmp_path / "f.npz", labels=words)).load()
    assert table.class_names == ("red", "round", "small")
    assert table.labels.tolist() == [0, 1, 2, 2]
    assert table.label_sets.tolist() == [[1, 1, 0], [0, 1, 0], [1, 0, 1], [0, 0, 1]]
    rows, labels = table.label_rows(np.array([2, 0]))
    assert (rows.tolist(), labels.tolist()) == ([2, 2, 0, 0], [0, 2, 0, 1])
    with pytest.raises(DataError, match=r"labels must be names separated by \|; row 2 has none"):
        FeaturesDataset(path=archive(tmp_path / "g.npz", labels=np.array(["a|b", "|", "a", "b"]))).load()
