import numpy as np
import pytest

from fairground.errors import DataError, InputError
from fairground.splits import HalfClassesSplit
from tests.splits.tables import classes_of, table_of


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


def test_the_official_test_half_comes_first():
    table = table_of([0, 0, 1, 1, 2, 2], official_test=[1, 1, 0, 0, 0, 0])
    parts = HalfClassesSplit(validation=0.5).parts(table)
    assert parts.test.tolist() == [0, 1]
    assert sorted([*parts.train, *parts.validation]) == [2, 3, 4, 5]


def test_a_fifth_of_the_seen_classes_validates_by_default():
    table = table_of(np.repeat(np.arange(40), 3))
    parts = HalfClassesSplit().parts(table)
    assert len(classes_of(table, parts.validation)) == 4
    assert len(classes_of(table, parts.train)) == 16
    assert len(parts.validation) == 12


def test_the_seed_and_the_class_names_choose_the_validation_classes():
    table = table_of(np.repeat(np.arange(40), 2))
    chosen = [classes_of(table, HalfClassesSplit(seed=seed).parts(table).validation) for seed in (0, 0, 1)]
    # Pinned: the hash of "0:name-<label>" puts these four first, on every machine and for ever.
    assert chosen[0] == chosen[1] == [2, 3, 10, 18]
    assert chosen[2] != chosen[0]


@pytest.mark.parametrize("validation", [1, -0.1, 1.5, float("nan")])
def test_a_fraction_out_of_range_is_refused(validation):
    with pytest.raises(InputError, match=r"half_classes.validation must be 0 or more and below 1; got"):
        HalfClassesSplit(validation=validation)


@pytest.mark.parametrize(
    ("validation", "sentence"),
    [
        (0.1, "half_classes.validation = 0.1 of 3 classes leaves 0 to validate and 3 to train on; each needs one"),
        (0.9, "half_classes.validation = 0.9 of 3 classes leaves 3 to validate and 0 to train on; each needs one"),
    ],
)
def test_too_few_classes_for_the_fraction_are_refused(validation, sentence):
    with pytest.raises(DataError, match=sentence):
        HalfClassesSplit(validation=validation).parts(table_of([0, 1, 2, 3, 4]))


def test_an_official_half_that_shares_classes_is_refused():
    table = table_of([0, 0, 1, 1, 2, 2], official_test=[1, 0, 0, 0, 0, 0])
    with pytest.raises(DataError, match=r"1 classes are in both .* and test"):
        HalfClassesSplit(validation=0.4).parts(table)
