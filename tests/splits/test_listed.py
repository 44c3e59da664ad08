import numpy as np
import pytest

from fairground.errors import DataError
from fairground.splits import ListedSplit
from tests.splits.tables import classes_of, table_of


def test_parts_are_as_listed_and_the_unlisted_take_no_part():
    table = table_of([0, 1, 2, 3, 4], listed_parts=["train", "validation", "test", "", "validation"])
    parts = ListedSplit().parts(table)
    assert (parts.train.tolist(), parts.validation.tolist(), parts.test.tolist()) == ([0], [1, 4], [2])
    assert not parts.is_closed_set
    assert parts.notes(table.labels) == ()


def test_some_training_classes_validate_where_the_list_names_none():
    table = table_of(np.repeat(np.arange(20), 2), listed_parts=["train"] * 20 + ["test"] * 20)
    parts = ListedSplit().parts(table)
    assert len(classes_of(table, parts.validation)) == 2
    assert sorted([*parts.train, *parts.validation]) == list(range(20))
    assert len(ListedSplit(validation=0).parts(table).validation) == 0
    assert ListedSplit(seed=3).parts(table).validation.tolist() != parts.validation.tolist()


def test_a_list_of_train_and_validation_tests_on_the_latter():
    table = table_of(np.arange(20), listed_parts=["train"] * 10 + ["validation"] * 10)
    parts = ListedSplit().parts(table)
    assert parts.test.tolist() == list(range(10, 20))
    assert len(parts.validation) == 2


def test_shared_classes_are_refused_unless_the_set_is_said_to_be_closed():
    table = table_of([0, 0, 1, 1], listed_parts=["train", "test", "train", "test"])
    sentence = r"2 classes train and test, the first is 'name-0'.*say split.closed_set=true"
    with pytest.raises(DataError, match=sentence):
        ListedSplit(validation=0).parts(table)
    parts = ListedSplit(closed_set=True, validation=0).parts(table)
    assert parts.is_closed_set
    assert parts.notes(table.labels) == ("closed set: 2 of 2 test classes are trained on",)


def test_a_closed_set_validates_on_images_of_every_class():
    table = table_of(np.tile(np.arange(2), 20), listed_parts=["train"] * 20 + ["test"] * 20)
    parts = ListedSplit(closed_set=True).parts(table)
    assert np.bincount(table.labels[parts.validation]).tolist() == [2, 2]
    assert np.bincount(table.labels[parts.train]).tolist() == [8, 8]


def test_a_file_may_name_classes_or_images(tmp_path):
    table = table_of([0, 0, 1, 2], identifiers=("a.png", "b.png", "c.png", "d.png"))
    by_class = tmp_path / "classes.csv"
    by_class.write_text("label,split\nname-0,train\nname-1,val\nname-2,test\n")
    parts = ListedSplit(file=str(by_class)).parts(table)
    assert (parts.train.tolist(), parts.validation.tolist(), parts.test.tolist()) == ([0, 1], [2], [3])
    by_image = tmp_path / "images.csv"
    by_image.write_text("path,split\nb.png,train\nc.png,validation\nd.png,test\n")
    parts = ListedSplit(file=str(by_image)).parts(table)
    assert (parts.train.tolist(), parts.validation.tolist(), parts.test.tolist()) == ([1], [2], [3])


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("label,split\nname-9,train\n", "names 1 labels the data does not have: 'name-9'"),
        ("label,split\nname-0,train\nname-0,test\n", "names a label twice"),
        ("label,split\nname-0,tran\n", r"a split is train, validation or test, or empty; got 'tran'. Did you mean"),
        ("label,part\nname-0,train\n", "has no column 'split'"),
        ("split\ntrain\n", "needs a column path or a column label beside split"),
        ("path,split\na.png,train\n", "names images, but those of this data have no names"),
        ("label,split\nname-0,train\n", "the list names no image as test"),
    ],
)
def test_a_file_that_does_not_fit_is_refused(tmp_path, content, sentence):
    file = tmp_path / "list.csv"
    file.write_text(content)
    with pytest.raises(DataError, match=sentence):
        ListedSplit(file=str(file)).parts(table_of([0, 1, 2]))
