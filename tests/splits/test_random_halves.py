import numpy as np
import pytest

from fairground.errors import DataError, InputError
from fairground.splits import RandomHalvesSplit
from tests.splits.tables import classes_of, table_of


def test_half_of_the_classes_tests_and_no_class_is_in_two_parts():
    table = table_of(np.repeat(np.arange(40), 3))
    parts = RandomHalvesSplit().parts(table)
    assert len(classes_of(table, parts.test)) == 20
    assert len(classes_of(table, parts.validation)) == 4
    assert sorted([*parts.train, *parts.validation, *parts.test]) == list(range(120))


def test_the_seed_draws_the_halves_and_not_the_order_of_names():
    table = table_of(np.repeat(np.arange(40), 2))
    drawn = [classes_of(table, RandomHalvesSplit(seed=seed).parts(table).test) for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert drawn[0] != list(range(20))
    assert drawn[0] != list(range(20, 40))


def test_the_official_test_half_is_kept():
    table = table_of([0, 0, 1, 1, 2, 2, 3, 3], official_test=[1, 1, 0, 0, 0, 0, 0, 0])
    parts = RandomHalvesSplit(validation=0.34).parts(table)
    assert parts.test.tolist() == [0, 1]
    assert len(classes_of(table, parts.validation)) == 1


def test_what_cannot_be_divided_is_refused():
    with pytest.raises(InputError, match=r"random_halves\.validation must be 0 or more and below 1; got 1"):
        RandomHalvesSplit(validation=1.0)
    with pytest.raises(DataError, match="needs three classes at least; the data has 2"):
        RandomHalvesSplit().parts(table_of([0, 1]))
    with pytest.raises(DataError, match="leaves 0 to validate"):
        RandomHalvesSplit(validation=0.1).parts(table_of([0, 1, 2, 3]))
