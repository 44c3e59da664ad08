"""Splits by rule, by draw, as listed and by the folds of MLRC: which classes and images go where."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairground.contracts.dataset import ImageTable
from fairground.errors import DataError, InputError
from fairground.loading.image_dataset import ImagesInMemory
from fairground.splits import (
    ClassFoldsSplit,
    ClosedSetSplit,
    HalfClassesSplit,
    ListedSplit,
    MlrcFoldsSplit,
    RandomHalvesSplit,
    RothValidationSplit,
)


def test_folds_are_blocks_of_classes_in_order():
    table = table_of(np.repeat(np.arange(16), 2))
    validation = [classes_of(table, ClassFoldsSplit(fold=fold).parts(table).validation) for fold in range(4)]
    assert validation == [[0, 1], [2, 3], [4, 5], [6, 7]]
    parts = ClassFoldsSplit(fold=1).parts(table)
    assert classes_of(table, parts.train) == [0, 1, 4, 5, 6, 7]
    assert classes_of(table, parts.test) == list(range(8, 16))


def test_blocks_differ_by_one_class_at_most_and_every_seen_class_validates_once():
    table = table_of(np.repeat(np.arange(20), 2))
    blocks = [classes_of(table, ClassFoldsSplit(fold=fold, n_folds=3).parts(table).validation) for fold in range(3)]
    assert [len(block) for block in blocks] == [4, 3, 3]
    assert [label for block in blocks for label in block] == list(range(10))


@pytest.mark.parametrize(
    "split", [ClassFoldsSplit(n_folds=3), HalfClassesSplit(validation=0.4), RandomHalvesSplit(validation=0.4)]
)
def test_the_official_test_half_tests_and_no_other_class_does(split):
    table = table_of([0, 1, 2, 3, 1, 0, 2, 3], official_test=[0, 1, 0, 0, 1, 0, 0, 0])
    parts = split.parts(table)
    assert parts.test.tolist() == [1, 4]
    assert sorted([*parts.train, *parts.validation]) == [0, 2, 3, 5, 6, 7]
    assert len(classes_of(table, parts.validation)) == 1


def test_each_class_gives_its_share_to_each_part():
    table = table_of(np.repeat(np.arange(3), 10))
    parts = ClosedSetSplit().parts(table)
    for rows, n in ((parts.train, 6), (parts.validation, 2), (parts.test, 2)):
        assert np.bincount(table.labels[rows]).tolist() == [n, n, n]
    assert parts.is_closed_set


def test_another_seed_chooses_other_images_and_the_same_seed_the_same():
    table = table_of(np.repeat(np.arange(4), 25))
    tests = [ClosedSetSplit(seed=seed).parts(table).test.tolist() for seed in (0, 0, 1)]
    assert tests[0] == tests[1] != tests[2]


@given(st.lists(st.integers(0, 6), min_size=30, max_size=80), st.sampled_from([0.1, 0.2, 0.45]))
def test_parts_cover_every_image_once_and_every_class_trains(labels, fraction):
    # Numbered without gaps, and one class large enough to be tested on.
    table = table_of(np.unique([*labels, *[7] * 10], return_inverse=True)[1])
    parts = ClosedSetSplit(validation=fraction, test=fraction).parts(table)
    together = np.sort(np.concatenate([parts.train, parts.validation, parts.test]))
    assert together.tolist() == list(range(len(table.labels)))
    assert classes_of(table, parts.train) == sorted(set(table.labels.tolist()))


def test_the_second_half_of_the_classes_tests_whatever_the_order_of_the_rows():
    table = table_of([3, 0, 2, 1, 0, 3, 2, 1])
    parts = HalfClassesSplit(validation=0.5).parts(table)
    assert parts.test.tolist() == [0, 2, 5, 6]
    assert len(classes_of(table, parts.train)) == len(classes_of(table, parts.validation)) == 1
    assert sorted([*parts.train, *parts.validation, *parts.test]) == list(range(8))


def test_an_odd_class_is_learnt_from():
    table = table_of([0, 1, 2])
    parts = HalfClassesSplit(validation=0.5).parts(table)
    assert classes_of(table, parts.test) == [2]


@pytest.mark.parametrize("split", [HalfClassesSplit(), RandomHalvesSplit()])
def test_half_of_the_classes_tests_and_a_fifth_of_the_others_validates(split):
    table = table_of(np.repeat(np.arange(40), 3))
    parts = split.parts(table)
    assert [len(classes_of(table, rows)) for rows in (parts.train, parts.validation, parts.test)] == [16, 4, 20]
    assert sorted([*parts.train, *parts.validation, *parts.test]) == list(range(120))


def test_the_seed_and_the_class_names_choose_the_validation_classes():
    table = table_of(np.repeat(np.arange(40), 2))
    chosen = [classes_of(table, HalfClassesSplit(seed=seed).parts(table).validation) for seed in (0, 0, 1)]
    # Pinned: the hash of "0:name-<label>" puts these four first, on every machine and for ever.
    assert chosen[0] == chosen[1] == [2, 3, 10, 18]
    assert chosen[2] != chosen[0]


def test_an_official_half_that_shares_classes_is_refused():
    table = table_of([0, 0, 1, 1, 2, 2], official_test=[1, 0, 0, 0, 0, 0])
    with pytest.raises(DataError, match=r"1 classes are in both .* and test"):
        HalfClassesSplit(validation=0.4).parts(table)


def test_the_seed_draws_the_halves_and_not_the_order_of_names():
    table = table_of(np.repeat(np.arange(40), 2))
    drawn = [classes_of(table, RandomHalvesSplit(seed=seed).parts(table).test) for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert drawn[0] != list(range(20))
    assert drawn[0] != list(range(20, 40))


def test_the_first_four_fifths_of_the_seen_classes_train():
    table = table_of(np.repeat(np.arange(20), 2))
    parts = RothValidationSplit().parts(table)
    assert classes_of(table, parts.train) == list(range(8))
    assert classes_of(table, parts.validation) == [8, 9]
    assert classes_of(table, parts.test) == list(range(10, 20))


def test_fifths_are_taken_within_each_super_class_where_known():
    labels = np.arange(20)
    table = table_of(labels, super_labels=labels % 2)
    parts = RothValidationSplit().parts(table)
    # Seen are 0..9: the even ones and the odd ones are five each, of which four train.
    assert classes_of(table, parts.validation) == [8, 9]
    table = table_of(labels, super_labels=labels // 5)
    assert classes_of(table, RothValidationSplit().parts(table).validation) == [4, 9]


@pytest.mark.parametrize(
    ("split", "labels", "complaint"),
    [
        (ClosedSetSplit(), range(3), "the test split is empty"),
        (HalfClassesSplit(validation=0.1), range(5), "validation = 0.1 of 3 .* 0 to validate and 3 to train"),
        (HalfClassesSplit(validation=0.9), range(5), "validation = 0.9 of 3 .* 3 to validate and 0 to train"),
        (RandomHalvesSplit(), range(2), "needs three classes at least; the data has 2"),
        (RandomHalvesSplit(validation=0.1), range(4), "leaves 0 to validate"),
        (RothValidationSplit(train=0.2), range(4), "train = 0.2 of 2 classes leaves 0 to train on and 2 to validate"),
    ],
)
def test_what_cannot_be_divided_is_refused(split, labels, complaint):
    with pytest.raises(DataError, match=complaint):
        split.parts(table_of(list(labels)))


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


def spans(text):
    """Return the classes of '73-97,0-48' in that order."""
    ends = [span.split("-") for span in text.split(",")]
    return [label for low, high in ends for label in range(int(low), int(high) + 1)]


#: data set: number of classes, test classes, then train and validation classes of the four folds, as published
PUBLISHED = {
    "cub200": (200, "100-199", ["0-74 75-99", "25-99 0-24", "50-99,0-24 25-49", "75-99,0-49 50-74"]),
    "cars196": (196, "98-195", ["0-73 74-97", "24-97 0-23", "49-97,0-24 25-48", "73-97,0-48 49-72"]),
    "sop": (
        22634,
        "11317-22633",
        ["0-8487 8488-11316", "2829-11316 0-2828", "5658-11316,0-2828 2829-5657", "8487-11316,0-5657 5658-8486"],
    ),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_published_table_comes_out_exactly(name):
    n_classes, test, folds = PUBLISHED[name]
    table = table_of(np.arange(n_classes))
    for fold, (train, validation) in enumerate(pair.split() for pair in folds):
        parts = MlrcFoldsSplit(fold=fold).parts(table)
        assert classes_of(table, parts.train) == sorted(spans(train))
        assert classes_of(table, parts.validation) == sorted(spans(validation))
        assert classes_of(table, parts.test) == spans(test)


@pytest.mark.parametrize(("name", "never"), [("cub200", []), ("cars196", [24, 73]), ("sop", [8487])])
def test_the_classes_that_never_validate_are_those_of_the_erratum(name, never):
    n_classes = PUBLISHED[name][0]
    table = table_of(np.arange(n_classes))
    validated = {label for fold in range(4) for label in MlrcFoldsSplit(fold=fold).parts(table).validation.tolist()}
    assert sorted(set(range(n_classes // 2)) - validated) == never


def test_halves_go_by_position_even_where_the_data_marks_an_official_half():
    labels = np.repeat(np.arange(16), 2)
    table = table_of(labels, official_test=labels < 4)
    assert classes_of(table, MlrcFoldsSplit().parts(table).test) == list(range(8, 16))


def test_labels_with_gaps_count_by_their_place():
    labels = np.arange(16) * 3 + 1
    table = table_of(labels)
    parts = MlrcFoldsSplit(fold=1).parts(table)
    assert table.labels[parts.validation].tolist() == labels[:2].tolist()


@given(n_classes=st.integers(8, 200), n_folds=st.integers(2, 4), data=st.data())
def test_parts_cover_everything_and_share_no_class(n_classes, n_folds, data):
    fold = data.draw(st.integers(0, n_folds - 1))
    table = table_of(np.random.default_rng(n_classes).permutation(np.repeat(np.arange(n_classes), 2)))
    parts = MlrcFoldsSplit(fold=fold, n_folds=n_folds).parts(table)
    together = np.sort(np.concatenate([parts.train, parts.validation, parts.test]))
    assert together.tolist() == list(range(2 * n_classes))
    assert len(classes_of(table, parts.train)) == n_classes // 2 - n_classes // (2 * n_folds)


def test_refusals_of_mlrcs_folds():
    with pytest.raises(InputError, match=r"mlrc_folds.fold must be in 0..3 for 4 folds; got 4"):
        MlrcFoldsSplit(fold=4)
    with pytest.raises(InputError, match=r"mlrc_folds.n_folds must be at least 2; got 1"):
        MlrcFoldsSplit(n_folds=1)
    with pytest.raises(DataError, match=r"mlrc_folds.n_folds = 4 needs 8 classes or more; there are 7"):
        MlrcFoldsSplit().parts(table_of(np.arange(7)))


def table_of(labels, *, official_test=None, listed_parts=None, super_labels=None, identifiers=None):
    """Return a table with these labels, whose images are all black."""
    labels = np.asarray(labels)
    return ImageTable(
        images=ImagesInMemory(np.zeros((len(labels), 1, 2, 2), np.uint8)),
        labels=labels,
        class_names=tuple(f"name-{label}" for label in range(labels.max() + 1)),
        official_test=None if official_test is None else np.asarray(official_test),
        listed_parts=None if listed_parts is None else np.asarray(listed_parts, dtype="<U10"),
        super_labels=None if super_labels is None else np.asarray(super_labels),
        identifiers=identifiers,
    )


def classes_of(table, rows):
    """Return the classes of some rows, sorted."""
    return sorted(set(table.labels[rows].tolist()))
