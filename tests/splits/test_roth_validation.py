import numpy as np
import pytest

from fairground.errors import DataError, InputError
from fairground.splits import RothValidationSplit
from tests.splits.tables import classes_of, table_of


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


def test_refusals():
    with pytest.raises(InputError, match=r"roth_validation.train must be above 0 and below 1; got 1"):
        RothValidationSplit(train=1)
    with pytest.raises(DataError, match=r"train = 0.2 of 2 classes leaves 0 to train on and 2 to validate"):
        RothValidationSplit(train=0.2).parts(table_of([0, 1, 2, 3]))
